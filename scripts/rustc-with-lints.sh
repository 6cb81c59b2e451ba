#!/usr/bin/env bash
# The compiler of `make test`, which cargo runs for the crates of the workspace: it also runs Clippy's lints, and warnings are
# errors. Lints, tests and programs then share one build. `cargo clippy` would check all dependencies a second time.
exec clippy-driver "$@" -D warnings
