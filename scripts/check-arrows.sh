#!/usr/bin/env bash
# Checks that dependencies between crates point only downwards, and that the lower crates do I/O only through ports.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failures=0

io='tokio|rusqlite|reqwest|tantivy'

# Checks that a crate depends only on the listed ones of our crates, directly or indirectly, and on no other crate that matches.
only() { # crate ours others why
    local used found
    used=$(cargo tree --locked -p "$1" -e normal --prefix none | awk -v own="$1" '$1 != own { print $1 }' | sort -u)
    found=$({ grep -E '^graphloom(-|$)' <<<"$used" | grep -vxE "graphloom-($2)"; grep -xE "$3" <<<"$used"; } || true)
    if [[ -n $found ]]; then
        failures=$((failures + 1))
        echo "$1 depends on $(tr '\n' ' ' <<<"$found"): $4" >&2
    fi
}

pipelines='core|tokens|text|readers|offline|cluster|engine'
only graphloom-tokens 'none' "$io" 'the tokenizer stands alone'
only graphloom-cluster 'none' "$io" 'clustering is pure functions of its arguments'
only graphloom-minilm 'none' "$io" 'a model is texts to vectors, without a runtime'
only graphloom-core 'none' "$io" 'core has no I/O and no runtime'
only graphloom-rules 'core' "$io" 'the rules of stores are pure functions of their arguments'
only graphloom-text 'core|tokens' "$io" 'functions over texts depend only on their arguments'
only graphloom-readers 'core|tokens|text' "$io" 'readers only turn bytes into text'
only graphloom-offline 'core|tokens|text' "$io" 'rules over words know neither pipelines nor stores'
only graphloom-engine "$pipelines" 'rusqlite|reqwest|tantivy' 'the engine knows ports, not adapters'
only graphloom-eval "$pipelines" 'rusqlite|reqwest|tantivy' 'evaluation consumes the engine, not adapters'
only graphloom-migrate "$pipelines" "$io" 'imports are read from files into documents, whatever the store'
only graphloom-storage 'core|rules' 'reqwest' 'storage knows only core and the rules'
only graphloom-postgres 'core|rules' 'rusqlite|reqwest|tantivy' 'the database store knows only core and the rules'
only graphloom-providers 'core|tokens|minilm' 'rusqlite|tantivy' 'providers know only core'
only graphloom-server "$pipelines" 'rusqlite|reqwest' 'the server knows the engine and its own port, not adapters'
only graphloom "$pipelines|rules|minilm|storage|postgres|providers" 'none' 'the library knows no user interface'

# Only one file chooses the store of a workspace; all other code uses the port.
chosen=$(grep -rnE 'graphloom_postgres|sqlite::|SqliteStore|FileWorkspaces|\.graphloom-wal' crates/graphloom/src crates/cli/src crates/server/src --include='*.rs' | grep -v '^crates/graphloom/src/stores.rs:' || true)
if [[ -n $chosen ]]; then
    failures=$((failures + 1))
    printf '%s\n  knows how workspaces are kept\n' "$chosen" >&2
fi

# Below the adapters, files, network, environment, clock and tasks are passed as arguments; tests may use them directly.
world='std::(fs|env|net|process)\b|SystemTime|Instant::now|tokio::(spawn|fs|net)\b|thread_rng|rand::'
while IFS= read -r file; do
    found=$(awk '/^#\[cfg\(test\)\]/ { exit } { print FILENAME ":" FNR ": " $0 }' "$file" | grep -E "$world" | grep -vE '^[^ ]+ +//' || true)
    if [[ -n $found ]]; then
        failures=$((failures + 1))
        printf '%s\n  reaches the world without a port\n' "$found" >&2
    fi
done < <(find crates/{cluster,core,engine,offline,readers,text,tokens}/src -name '*.rs' ! -name tests.rs ! -path '*/tests/*' | sort)

# A crate with one test program names each file of its tests; a file that it does not name would never run.
for program in crates/*/tests/main.rs; do
    for file in "${program%/main.rs}"/*.rs; do
        name=$(basename "$file" .rs)
        if [[ $name != main ]] && ! grep -qx "mod $name;" "$program"; then
            failures=$((failures + 1))
            echo "$file is not a module of $program" >&2
        fi
    done
done

if ((failures > 0)); then
    echo "check-arrows: $failures checks failed" >&2
    exit 1
fi
echo "check-arrows: dependencies point down, and core and engine reach the world only through ports"
