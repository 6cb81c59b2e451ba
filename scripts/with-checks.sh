#!/usr/bin/env bash
# Runs a build with the checks that need no Rust compiler beside it, since a build uses one processor at its end. Prints what the
# checks say after the build.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ npm --prefix web run check && scripts/check-deploy.sh; } >"$log" 2>&1 &
checks=$!
status=0
"$@" || status=$?
wait "$checks" || status=$?
cat "$log"
exit "$status"
