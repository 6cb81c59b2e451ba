# `make help` lists the targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo web test test-ui check docs nextest bench proxies torture torture-slice flips

help: ## Lists the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1|\2/' | column -t -s '|'

demo: ## Builds the program for a first look, indexes the samples and asks three questions; needs no key
	@scripts/demo.sh

web: ## Builds the web UI, which the next cargo build embeds; needs Node.js 20.19 or later
	scripts/build-web.sh

test: export RUSTC_WORKSPACE_WRAPPER = $(CURDIR)/scripts/rustc-with-lints.sh
test: check nextest ## Everything that continuous integration runs
	scripts/beside.sh '$(MAKE) torture-slice' $(MAKE) docs web-test

check: web ## Formatting, lints and the shape of the workspace
	scripts/check-arrows.sh
	cargo fmt --all --check
	scripts/beside.sh 'npm --prefix web run check; scripts/check-deploy.sh' scripts/lint.sh --workspace --all-targets
	scripts/check-features.sh
	cargo package --quiet --package graphloom-server --list --allow-dirty | grep '^ui/dist/index.html$$' >/dev/null
	cargo package --quiet --workspace --exclude graphloom-bench --exclude graphloom-torture --locked --offline --no-verify --allow-dirty

docs: ## Runs the command blocks of the documents and follows their links
	cargo build --locked --workspace --all-targets
	scripts/check-docs.sh

nextest: ## All tests, offline
	@scripts/install-postgres.sh
	@cargo nextest --version >/dev/null 2>&1 || env -u RUSTC_WORKSPACE_WRAPPER cargo install cargo-nextest --locked
	@# Many tests wait for a moment: two more than there are processors.
	cargo nextest run --workspace --locked --test-threads $$(($$(nproc) + 2))
	cargo test --doc --workspace --locked --quiet

.PHONY: web-test
web-test: web ## Logic of the web UI, and in a browser the way from an empty workspace to an open citation
	npm --prefix web test
	cargo build --locked --workspace --all-targets
	scripts/test-web.sh first-run

test-ui: web ## The whole web UI in a browser; installs Chromium where it is missing (root, Debian)
	npm --prefix web test
	cargo build --locked --workspace --all-targets
	scripts/test-web.sh

BINARIES = $${CARGO_TARGET_DIR:-target}/debug
TORTURE = $(BINARIES)/graphloom-torture --graphloom $(BINARIES)/graphloom --folder $${CARGO_TARGET_DIR:-target}/torture
TORTURE_MINUTES ?= 20
TORTURE_SCHEDULES ?= 1000

torture: ## Random histories under kills, stops and faults, for TORTURE_MINUTES (20); see docs/explanation/reliability.md
	cargo build --locked --workspace --all-targets
	GRAPHLOOM_SCHEDULES=$(TORTURE_SCHEDULES) cargo nextest run --workspace --locked -E 'test(/^interleavings::/)'
	$(TORTURE) --minutes $(TORTURE_MINUTES) $(TORTURE_ARGUMENTS)

torture-slice:
	cargo build --locked --workspace --all-targets
	$(TORTURE) --minutes 1 --seed 1 --reduce 1

proxies: ## Runs nginx and Caddy as documented in front of the server; installs them where they are missing (root, Debian)
	cargo build --locked --workspace --all-targets
	scripts/check-proxies.sh

flips: ## Changes 1,000 bits of a workspace's files, one at a time; each must be harmless, or found and repaired
	cargo build --locked --workspace --all-targets
	$(BINARIES)/graphloom-flips --graphloom $(BINARIES)/graphloom --folder $${CARGO_TARGET_DIR:-target}/flips

bench: ## Measures this machine; see docs/benchmarks.md
	bench/run.sh
