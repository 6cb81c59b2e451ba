#!/usr/bin/env bash
# Builds the web UI into crates/server/ui/dist, from where the server's build embeds it. Does nothing if it is up to date.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

page=crates/server/ui/dist/index.html

if ! node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
              process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' 2>/dev/null; then
    echo "error: the web UI needs Node.js 20.19 or later with npm to build" >&2
    exit 1
fi
if [[ ! web/node_modules/.package-lock.json -nt web/package-lock.json ]]; then
    npm --prefix web ci --no-audit --no-fund
fi
if [[ ! -f $page || -n $(find web samples/lab crates/server/openapi.json -name node_modules -prune -o -type f ! -name schema.d.ts -newer "$page" -print -quit) ]]; then
    npm --prefix web run build
fi
