# The two commands to know are `make run` and `make test`. Everything builds with one release profile, so that a cold
# machine compiles each crate once.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Steps share the build folder and two tests must not fight for cores.
.NOTPARALLEL:

TARGET := $(or $(CARGO_TARGET_DIR),target)
BIN := $(abspath $(TARGET))/release/tabellion
VENV := $(TARGET)/venv
PEERS_VENV := $(TARGET)/venv-peers
PYTHON ?= python3
# The script that measures other memories; bench-peers says so and does nothing where it is absent.
PEERS ?= ../shared/bench/peers.py

DATA ?= data
# The embedding model, once for all data directories.
MODEL ?= $(TARGET)/model
LISTEN ?= 127.0.0.1:7600
# Passed on to the command behind the target, e.g. `make bench ARGS=--json` or `make test-api ARGS="-k proofs"`.
ARGS ?=

.PHONY: help build run model browser test test-rust test-api test-passed check deny bench bench-peers soak clean-venv

help: ## print this list
	@echo "Tabellion"
	@echo
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22
	@echo
	@echo "  settings: DATA=$(DATA) LISTEN=$(LISTEN) ARGS=$(ARGS)"

# With the tests, because their dependencies take part in choosing features: without them the tests would compile some
# crates a second time.
build: ## build the server, its tools and the tests
	cargo build --release --workspace --all-targets

run: model ## start a server: DATA is its folder, LISTEN its address
	cargo build --release -p tabellion-cli
	@echo "tabellion listens on $(LISTEN) and keeps its data in $(DATA)"
	exec $(BIN) serve --data "$(DATA)" --listen "$(LISTEN)" --model "$(MODEL)" $(ARGS)

# Where it cannot be had, a notice says so and the server goes on with hashed words.
model: ## fetch the embedding model and check it
	@$(PYTHON) tools/fetch_model.py --soft "$(MODEL)"

# Where none can be had, a notice says so and the tests of the page are skipped.
browser: $(VENV)/.stamp ## look for the browser that the tests of the page use, and fetch one if there is none
	@$(VENV)/bin/python tests/browser.py

test: test-rust test-api test-passed ## every test: Rust first, then the built server from outside

test-passed:
	@echo "make test: passed (Rust tests, and the server from outside)"

# The rules of the repository (`cargo xtask tidy`) are one of the Rust tests.
test-rust: build model ## the Rust tests alone
	@if cargo nextest --version >/dev/null 2>&1; then \
		echo "cargo nextest run --release --workspace"; \
		cargo nextest run --release --workspace || { echo "make test: FAILED in the Rust tests"; exit 1; }; \
	else \
		echo "cargo-nextest is not installed; cargo test runs the same tests, one crate at a time"; \
		cargo test --release --workspace --lib --bins --tests || { echo "make test: FAILED in the Rust tests"; exit 1; }; \
	fi

test-api: build browser ## the built server, tested from outside
	@echo "pytest tests"
	@TABELLION_BIN="$(BIN)" $(VENV)/bin/python -m pytest -q tests $(ARGS) \
		|| { echo "make test: FAILED in the tests of the built server"; exit 1; }

check: ## formatting, lints, the repository's rules, licences
	cargo fmt --all --check
	cargo clippy --release --workspace --all-targets -- -D warnings
	cargo xtask tidy
	@$(MAKE) --no-print-directory deny
	@echo "make check: passed"

deny:
	@if cargo deny --version >/dev/null 2>&1; then \
		cargo deny --workspace check; \
	else \
		echo "****************************************************************************"; \
		echo "* cargo-deny is NOT installed: licences and advisories were NOT checked.   *"; \
		echo "* Banned crates were, by cargo xtask tidy.                                 *"; \
		echo "* To install it (some minutes): cargo install cargo-deny --locked          *"; \
		echo "****************************************************************************"; \
	fi

bench: model ## measure writes, starts, search, access and the embedding model on this machine
	cargo build --release -p tabellion-cli
	$(BIN) bench write $(ARGS)
	$(BIN) bench start
	$(BIN) bench search
	$(BIN) bench access
	@if [ -e "$(MODEL)/model.safetensors" ]; then $(BIN) bench embed --model "$(MODEL)"; \
	else echo "there is no embedding model: bench embed is left out"; fi

bench-peers: $(PEERS_VENV)/.stamp ## the same workload on other memory stores
	cargo build --release -p tabellion-cli
	$(PEERS_VENV)/bin/python tools/bench_peers.py --peers $(PEERS) --bin $(BIN) $(ARGS)

test-rust test-api: export TABELLION_MODEL_DIR = $(abspath $(MODEL))

soak: export TABELLION_SOAK = 1
soak: test ## every test with its long settings

clean-venv: ## forget the Python environments
	rm -rf $(VENV) $(PEERS_VENV)

$(VENV)/.stamp: tests/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install -q --disable-pip-version-check -r $<
	@touch $@

# Made again when the list of packages below changes.
$(PEERS_VENV)/.stamp: Makefile
	$(PYTHON) -m venv $(PEERS_VENV)
	$(PEERS_VENV)/bin/python -m pip install -q --disable-pip-version-check mem0ai chromadb qdrant-client langgraph numpy
	@touch $@
