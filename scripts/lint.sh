#!/usr/bin/env bash
# Lints the crates and targets that the arguments select for cargo, such as `--workspace --all-targets`; warnings are errors.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if [[ ${RUSTC_WORKSPACE_WRAPPER:-} == "$PWD/scripts/rustc-with-lints.sh" ]]; then
    exec cargo build --locked "$@"
fi
exec cargo clippy --locked "$@" -- -D warnings
