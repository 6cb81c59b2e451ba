#!/usr/bin/env bash
# Runs the tests of the web UI in Chromium against the built server: all tests, or those in files whose name contains the argument.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

export CHROMIUM=${CHROMIUM:-$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)}
if [[ -z $CHROMIUM ]]; then
    apt-get update -qq && apt-get install -y -qq chromium >/dev/null
    CHROMIUM=$(command -v chromium)
fi
export GRAPHLOOM=${GRAPHLOOM:-${CARGO_TARGET_DIR:-$PWD/target}/debug/graphloom}
npm --prefix web run test:ui -- "$@"
