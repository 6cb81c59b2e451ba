#!/usr/bin/env bash
# Checks that the library and the program compile without features and with all features. All other checks use the default features.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The measuring crates need every feature and would turn them on in all crates.
crates=(--workspace --exclude graphloom-bench --exclude graphloom-torture)

# An example uses the dev-dependencies, so that most dependencies have the features of the other builds and are not built again.
targets=(--lib --bins --example first_answer)
scripts/lint.sh --quiet "${crates[@]}" "${targets[@]}" --no-default-features
scripts/lint.sh --quiet "${crates[@]}" "${targets[@]}" --all-features

# The dependencies of a feature must be in the program if and only if the feature is on.
holds() { # crate dependency arguments
    cargo tree --locked --package "$1" --edges normal --prefix none "${@:3}" | awk -v part="$2" '$1 == part { found = 1 } END { exit !found }'
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
