#!/usr/bin/env bash
# Runs the blocks of the documents that are marked `sh run`, compares their output with the blocks that are marked
# `text printed`, compares blocks `rust FILE` with that file, and checks that relative links lead to files and headings.
#
#     scripts/check-docs.sh [DOCUMENT...]      without arguments, all documents
#
# A block `text printed` is the end of the output of the block before it, standard output and error together.
# The blocks of a document run in order in a temporary folder with a copy of samples/, with the dev binary first in PATH and
# without the user's keys and configuration. A failure names the document and the line of the block.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
binaries=${CARGO_TARGET_DIR:-$root/target}/debug
[[ -x $binaries/graphloom ]] || { echo "check-docs: build first: cargo build -p graphloom-cli" >&2; exit 2; }

shopt -s globstar nullglob
documents=(README.md CONTRIBUTING.md ARCHITECTURE.md docs/**/*.md samples/*.md)
(($# == 0)) || documents=("$@")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
blocks=0
printed=0

# Writes a document's blocks into a folder: commands as `<line of the fence>.sh`, their output as `<line>.txt`.
extract() { # document folder
    awk -v folder="$2" '
        /^```text printed[[:space:]]*$/ { file = sprintf("%s/%05d.txt", folder, NR); printf "" > file; next }
        /^```sh run[[:space:]]*$/ { file = sprintf("%s/%05d.sh", folder, NR); printf "" > file; next }
        /^```/ { if (file != "") close(file); file = "" }
        file != "" { print > file }
    ' "$1"
}

# Blocks must not see the user's configuration, and must not change the user's data.
for name in $(compgen -e); do
    case $name in GRAPHLOOM_* | OPENAI_* | ANTHROPIC_* | GEMINI_* | GOOGLE_* | COHERE_* | CO_API_KEY | JINA_* | OLLAMA_* | XDG_*) unset "$name" ;; esac
done
export PATH=$binaries:$PATH NO_COLOR=1

run_block() { # script folder
    (cd "$2" && HOME=$2/home exec bash -euo pipefail "$1" </dev/null)
}

# Prints the anchors of a document's headings.
anchors() { # document
    awk '/^```/ { fenced = !fenced } !fenced && /^#+ / { sub(/^#+ /, ""); gsub(/`/, ""); print tolower($0) }' "$1" |
        sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g; s/[^[:alnum:] _-]//g; s/ /-/g'
}

complain() {
    failures=$((failures + 1))
    echo "$*" >&2
}

# Returns the folder in which a document is checked.
place_of() { # document
    echo "$work/$(tr '/' '_' <<<"$1")"
}

check_document() { # document
    local document=$1 place block line file target failures=0 blocks=0 printed=0
    place=$(place_of "$document")
    mkdir -p "$place/blocks" "$place/folder/home"
    cp -r samples "$place/folder/"
    extract "$document" "$place/blocks"
    : >"$place/output"
    for block in "$place"/blocks/*; do
        line=$((10#$(basename "${block%.*}")))
        if [[ $block == *.txt ]]; then
            printed=$((printed + 1))
            if ! diff -u --label "$document:$line" --label "what is printed" \
                "$block" <(tail -n "$(wc -l <"$block")" "$place/output") >"$place/difference"; then
                complain "$document:$line: the program prints something else:"
                sed 's/^/    /' "$place/difference" >&2
            fi
            continue
        fi
        blocks=$((blocks + 1))
        if ! run_block "$block" "$place/folder" >"$place/output" 2>&1; then
            complain "$document:$line: this block failed:"
            sed 's/^/    /' "$block" >&2
            echo "  and printed:" >&2
            tail -n 20 "$place/output" | sed 's/^/    /' >&2
        fi
    done
    while read -r line file; do
        if ! diff -u "$file" <(awk -v from="$line" 'NR > from { if (/^```/) exit; print }' "$document") >"$place/difference"; then
            complain "$document:$line: this block is not $file:"
            sed 's/^/    /' "$place/difference" >&2
        fi
    done < <(awk '/^```rust ./ { print NR, $2 }' "$document")
    while IFS=: read -r line target; do
        case $target in http://* | https://* | mailto:*) continue ;; esac
        file=$document
        [[ -z ${target%%#*} ]] || file=$(dirname "$document")/${target%%#*}
        if [[ ! -e $file ]]; then
            complain "$document:$line: the link to $target leads nowhere"
        elif [[ $target == *#* && $file == *.md ]] && ! anchors "$file" | grep -xF -- "${target#*#}" >/dev/null; then
            complain "$document:$line: $file has no heading #${target#*#}"
        fi
    done < <(awk '
        /^```/ { fenced = !fenced; next }
        !fenced {
            rest = $0
            while (match(rest, /\]\([^) ]+\)/)) {
                print NR ":" substr(rest, RSTART + 2, RLENGTH - 3)
                rest = substr(rest, RSTART + RLENGTH)
            }
        }' "$document")
    echo "$failures $blocks $printed" >"$place/counts"
}

# Documents are checked side by side, and their complaints are printed in order.
for document in "${documents[@]}"; do
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n || true; done
    check_document "$document" 2>"$(place_of "$document").complaints" &
done
wait
for document in "${documents[@]}"; do
    place=$(place_of "$document")
    cat "$place.complaints" >&2
    [[ -e $place/counts ]] || { complain "$document: the check did not end"; continue; }
    read -r own_failures own_blocks own_printed <"$place/counts"
    failures=$((failures + own_failures)) blocks=$((blocks + own_blocks)) printed=$((printed + own_printed))
done

# Every key and every command must be described. The lists come from the program, in a folder without any configuration.
mkdir -p "$work/empty"
keys=$(cd "$work/empty" && HOME=$work/empty graphloom config show | awk '{ print $1 }')
for key in $keys; do
    grep -q "^| \`$key\` |" docs/reference/configuration.md || complain "docs/reference/configuration.md: the key $key is missing"
done
commands=$(graphloom --help | awk '/^[A-Z][a-z]+:$/ { on = $1 != "Options:"; next } /^[^ ]/ { on = 0 } on && /^  [a-z]/ && $1 != "help" { print $1 }')
for command in $commands; do
    grep -q "^### \`graphloom $command\b" docs/reference/commands.md || complain "docs/reference/commands.md: the command $command is missing"
done

[[ -n $keys && -n $commands ]] || complain "check-docs: the program lists no keys or no commands"
(($# > 0 || printed > 0)) || complain "check-docs: no block is marked \`text printed\`; nothing printed was compared"
(($# > 0 || blocks > 0)) || complain "check-docs: no block is marked \`sh run\`; the check would prove nothing"
if ((failures > 0)); then
    echo "check-docs: $failures checks failed" >&2
    exit 1
fi
echo "check-docs: ${#documents[@]} documents, $blocks blocks run, $printed outputs compared, all links, keys and commands found"
