#!/usr/bin/env bash
# Builds graphloom for a first look, indexes the sample documents and asks three questions.
#
# Costs nothing: every model role is set to `none`, and keys in the environment, in `.env` or in configuration files are not
# used. It downloads crates and npm packages only.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

demo=target/demo
binary=${CARGO_TARGET_DIR:-target}/quick/graphloom

for name in $(compgen -e); do
    case $name in GRAPHLOOM_* | OPENAI_* | ANTHROPIC_* | GEMINI_* | GOOGLE_* | COHERE_* | CO_API_KEY | JINA_* | OLLAMA_*) unset "$name" ;; esac
done
# The environment takes precedence over .env and files, so a project's settings cannot override these.
export GRAPHLOOM_CONFIG=$demo/graphloom.toml GRAPHLOOM_DATA_DIR=$demo/data GRAPHLOOM_EMBEDDER=builtin
export GRAPHLOOM_WORKSPACE=default GRAPHLOOM_LLM=none GRAPHLOOM_EXTRACT_LLM=none GRAPHLOOM_KEYWORDS_LLM=none
export GRAPHLOOM_SUMMARIZE_LLM=none GRAPHLOOM_ANSWER_LLM=none

say() { printf '\n== %s\n' "$*"; }

build() {
    local compiled=0 line
    cargo build --profile quick --no-default-features --locked -p graphloom-cli 2>&1 | tee "$demo/build.log" | while read -r line; do
        case $line in
            *Compiling*) compiled=$((compiled + 1))
                ((compiled % 25 == 0)) && echo "   $compiled crates compiled" || true ;;
            *Finished*) echo "   $line" ;;
        esac
    done || { tail -n 20 "$demo/build.log" >&2; exit 1; }
}

# Asks a question. Exit code 4 means that the documents contain no answer, which is a valid outcome too.
ask() {
    say "$1"
    "$binary" ask "$1" || (($? == 4))
}

mkdir -p "$demo"
rm -rf "$demo/data"

say "Building the web UI"
scripts/build-web.sh >"$demo/web.log" 2>&1 || echo "   not built ($(grep -m 1 '^error' "$demo/web.log" || echo "see $demo/web.log")); everything else works without it"

say "Building the program, with few optimizations and without local models and PostgreSQL (the first time takes about five minutes)"
build

printf 'data_dir = "%s"\nembedder = "builtin"\nllm = "none"\n' "$demo/data" >"$GRAPHLOOM_CONFIG"

say "Indexing samples/lab: twelve documents about a laboratory that never existed"
"$binary" add samples/lab

ask "How much did the recall of the Hearthmoth cost?"
ask "Who built the instrument that the Hearthmoth grew out of?"
ask "Who was the first customer of Braidline?"

say "Done, without a key and without a model"
echo "Open the web UI: $binary --config $GRAPHLOOM_CONFIG serve"
echo "For your own documents, install the whole program, optimized: cargo install --locked --path crates/cli"
echo "Try next: $binary --config $GRAPHLOOM_CONFIG graph \"Braidline\", or the questions of samples/questions.md"
