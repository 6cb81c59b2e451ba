#!/usr/bin/env bash
# Runs a command with another one beside it, because few commands use all processors to their end. What the other one prints comes
# after the command's own output. Fails if one of them fails.
#
#     scripts/beside.sh 'OTHER COMMAND' COMMAND...
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
bash -euo pipefail -c "$1" >"$log" 2>&1 &
other=$!
status=0
"${@:2}" || status=$?
wait "$other" || status=$?
cat "$log"
exit "$status"
