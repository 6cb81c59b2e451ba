#!/usr/bin/env bash
# Checks that the library and the program compile without and with all features; the default ones are those of all other checks.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Measuring needs every feature, and so would have all crates compiled with them.
crates=(--workspace --exclude graphloom-bench --exclude graphloom-torture)

cargo clippy --locked --quiet "${crates[@]}" --no-default-features -- -D warnings
cargo clippy --locked --quiet "${crates[@]}" --all-features -- -D warnings

# What a feature is for is in the program if and only if the feature is.
holds() { # crate dependency arguments
    cargo tree --locked --offline --package "$1" --edges normal --prefix none "${@:3}" | awk -v part="$2" '$1 == part { found = 1 } END { exit !found }'
}
for crate in graphloom graphloom-cli; do
    for part in graphloom-minilm graphloom-postgres; do
        holds "$crate" "$part" || { echo "$crate is without $part by default" >&2; exit 1; }
        if holds "$crate" "$part" --no-default-features; then
            echo "$crate has $part without the feature for it" >&2
            exit 1
        fi
    done
    holds "$crate" graphloom-minilm --no-default-features --features local
    holds "$crate" graphloom-postgres --no-default-features --features postgres
done
