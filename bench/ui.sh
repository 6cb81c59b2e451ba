#!/usr/bin/env bash
# Measures the web UI in Chromium with a server that has indexed samples/lab: bench/ui.sh GRAPHLOOM. Installs Lighthouse from npm for
# this run only.
set -euo pipefail
graphloom=$(readlink -f "$1")
root=$(dirname "$(dirname "$(readlink -f "$0")")")

folder=$(mktemp -d)
export GRAPHLOOM_DATA_DIR=$folder/data GRAPHLOOM_CONFIG=$folder/graphloom.toml GRAPHLOOM_LLM=none GRAPHLOOM_EMBEDDER=builtin
touch "$GRAPHLOOM_CONFIG"
"$graphloom" add "$root/samples/lab" >/dev/null
"$graphloom" serve --port 0 >"$folder/log" 2>&1 &
server=$!
trap 'kill "$server"; wait "$server" || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
    url=$(grep -o 'http://127.0.0.1:[0-9]*' "$folder/log" | head -1 || true)
    [[ -n $url ]] && break
    sleep 0.1
done

[[ -d $root/web/node_modules ]] || npm --prefix "$root/web" ci --silent
node "$root/web/scripts/figures.mjs" "$url"
node "$root/web/scripts/lighthouse.mjs" "$url"
