#!/usr/bin/env bash
# Checks that dependencies between crates point down only, and that the lower crates do I/O only through ports.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
failures=0

# A crate must not depend on a matching crate, directly or indirectly.
forbid() { # crate pattern why
    local found
    found=$(cargo tree --locked --offline -p "$1" -e normal --prefix none | awk '{ print $1 }' | sort -u | grep -Ex "$2" || true)
    if [[ -n $found ]]; then
        failures=$((failures + 1))
        echo "$1 depends on $(tr '\n' ' ' <<<"$found"): $3" >&2
    fi
}

forbid graphloom-tokens 'graphloom(-(core|engine|eval|storage|providers|server|cli))?|tokio|rusqlite|reqwest|tantivy' 'the tokenizer stands alone'
forbid graphloom-cluster 'graphloom(-(core|engine|eval|storage|providers|server|cli|tokens))?|tokio|rusqlite|reqwest|tantivy' 'clustering is pure functions of its arguments'
forbid graphloom-minilm 'graphloom(-(core|cluster|engine|eval|storage|providers|server|cli|tokens))?|tokio|rusqlite|reqwest|tantivy' 'a model is texts to vectors, without a runtime'
forbid graphloom-rules 'graphloom(-(cluster|engine|eval|storage|postgres|providers|server|cli|tokens))?|tokio|rusqlite|reqwest|tantivy' 'the rules of stores are pure functions of their arguments'
forbid graphloom-core 'graphloom(-(cluster|engine|eval|storage|postgres|rules|providers|server|cli))?|tokio|rusqlite|reqwest|tantivy' 'core has no I/O and no runtime'
forbid graphloom-engine 'graphloom(-(eval|migrate|storage|postgres|providers|server|cli))?|rusqlite|reqwest|tantivy' 'the engine knows ports, not adapters'
forbid graphloom-eval 'graphloom(-(storage|postgres|providers|server|cli))?|rusqlite|reqwest|tantivy' 'evaluation consumes the engine, not adapters'
forbid graphloom-migrate 'graphloom(-(eval|storage|postgres|providers|server|cli))?|tokio|rusqlite|reqwest|tantivy' 'imports are read from files into documents, whatever the store'
forbid graphloom-storage 'graphloom(-(engine|eval|postgres|providers|server|cli))?|reqwest' 'storage knows core alone'
forbid graphloom-postgres 'graphloom(-(engine|eval|storage|providers|server|cli))?|rusqlite|reqwest|tantivy' 'the database store knows core and the rules alone'
forbid graphloom-providers 'graphloom(-(engine|eval|storage|postgres|server|cli))?|rusqlite|tantivy' 'providers know core alone'
forbid graphloom-server 'graphloom(-(eval|storage|postgres|providers|cli))?|rusqlite|reqwest' 'the server knows the engine and its own port, not adapters'

forbid graphloom 'graphloom-(eval|server|cli)' 'the library knows no surface'

# Which store keeps a workspace is chosen in one file; all else knows the port.
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
done < <(find crates/cluster/src crates/core/src crates/engine/src crates/tokens/src -name '*.rs' ! -name tests.rs ! -path '*/tests/*' | sort)

if ((failures > 0)); then
    echo "check-arrows: $failures checks failed" >&2
    exit 1
fi
echo "check-arrows: dependencies point down, and core and engine reach the world through ports alone"
