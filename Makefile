# What a person types. The CI calls the same targets.
#   make install        the package into .venv, the engine built; `. .venv/bin/activate` makes aqmlab a command
#   make demo | test | lint | bench: need Python >= 3.11, a Rust toolchain and make; nothing else
#   make pythons        does the package work on later Pythons, those of them that are installed?
#   make bench-check    is the engine as fast as on record? needs valgrind
#   make bench-peers    speed and agreement beside ns-2 and ns-3, those of them that are installed; long
#   make studies        the pages of docs/studies: twelve hours of processor time; goes on where it was stopped
#   make accounting     docs/studies/accounting.md: the papers' tables held to their own numbers, beside ours
#   make reference      docs/reference, after a change of a discipline, the spec, a source, a table or the Python API
#   make cost           what each discipline costs, for docs/reference
#   make calibration    users for each load, measured anew for the package
#   make golden         what the golden cells give, after a change that is meant to move results and has raised RESULTS
#   make lock           needs uv; after a change of dependencies in pyproject.toml

PYTHON ?= python3
PYTHONS := 3.12 3.13
BIN := .venv/bin
SOURCES := $(shell find crates -name '*.rs' -o -name '*.json' -o -name '*.md' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
RUST_EXAMPLE := examples/rust_aqm/Cargo.toml
# The border is compiled for the interpreter that it finds first.
WITH_PYTHON := PATH="$(CURDIR)/$(BIN):$$PATH"

.PHONY: install demo test test-rust test-python pythons lint lint-rust lint-python bench bench-check bench-peers reference cost studies accounting calibration golden lock clean

install: .venv/extension.stamp

demo: .venv/extension.stamp
	$(BIN)/aqmlab compare --load 98 --warmup "2 min" --duration "10 min" --seeds 1 \
	    droptail:limit=240 ared:min_th=12,max_th=36 pi:q_ref=24 pi:q_ref=24,ecn=true rem:q_ref=24,ecn=true

test: test-rust test-python

# Needs no extension, so that `make --jobs 2 test` builds it meanwhile.
test-rust:
	cargo test --workspace --exclude aqmlab-py --locked
	cargo test --manifest-path $(RUST_EXAMPLE) --target-dir target/rust_aqm --locked

test-python: .venv/extension.stamp .venv/dev.stamp
	$(BIN)/pytest --numprocesses auto --dist loadfile

# Every later Python that is installed takes the same extension (abi3); the package's dependencies differ.
pythons: .venv/extension.stamp
	for version in $(PYTHONS); do \
	    command=$$(command -v python$$version) && $$command --version >/dev/null 2>&1 || { echo "no Python $$version here"; continue; }; \
	    $$command -m venv .venv/$$version && \
	    .venv/$$version/bin/python -m pip install --quiet --require-hashes -r requirements.txt && \
	    PYTHONPATH=python .venv/$$version/bin/python -W error tests/smoke.py >/dev/null || exit; \
	done

lint: lint-rust lint-python

# The first needs no extension, so that `make --jobs 2 lint` builds it meanwhile.
lint-rust: .venv/dev.stamp target/tools/bin/cargo-deny target/tools/bin/cargo-machete
	cargo fmt --all --check
	rustfmt --check crates/aqm/src/disciplines/*.rs  # a macro declares these modules, where cargo does not find them
	target/tools/bin/cargo-deny --locked check licenses bans sources
	target/tools/bin/cargo-machete crates $(dir $(RUST_EXAMPLE))
	$(WITH_PYTHON) cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo fmt --manifest-path $(RUST_EXAMPLE) --check
	cargo clippy --manifest-path $(RUST_EXAMPLE) --target-dir target/rust_aqm --all-targets --locked -- -D warnings
	$(WITH_PYTHON) RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

lint-python: .venv/extension.stamp .venv/dev.stamp
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest aqmlab._core

bench: .venv/extension.stamp
	$(BIN)/python benches/bench.py

bench-check: .venv/extension.stamp
	$(BIN)/python benches/check.py

bench-peers: .venv/extension.stamp
	$(BIN)/python benches/peers/peers.py

reference: .venv/extension.stamp
	$(BIN)/python tools/reference.py docs/reference

cost: .venv/extension.stamp
	$(BIN)/python benches/cost.py docs/reference/aqm/cost.md

studies: .venv/extension.stamp
	for study in $$($(BIN)/python -c 'from aqmlab.studies import STUDIES; print(*STUDIES)'); do \
	    $(BIN)/aqmlab study $$study --full --pages docs/studies || exit; done
	$(BIN)/python tools/accounting.py docs/studies --results results

accounting: .venv/extension.stamp
	$(BIN)/python tools/accounting.py docs/studies

# The calibration the package ships: after a change of the workload or of the engine that moves its results.
calibration: .venv/extension.stamp
	$(BIN)/aqmlab calibrate --rtt uniform --out results
	$(BIN)/aqmlab calibrate --rtt general --out results
	cp results/calibration.json python/aqmlab/running/calibration/calibration.json

golden: .venv/extension.stamp
	$(BIN)/python tests/golden.py

lock:
	uv pip compile pyproject.toml --group build --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade --quiet --output-file requirements.txt
	uv pip compile pyproject.toml --group dev --constraint requirements.txt --universal --python-version 3.11 \
	    --generate-hashes --no-header --upgrade --quiet --output-file requirements-dev.txt

clean:
	rm -rf .venv target

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("aqmlab needs Python 3.11 or later" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

.venv/run.stamp: requirements.txt | .venv/bin/python
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.txt
	touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements-dev.txt
	touch $@

# Unoptimised, for they are built more often than they run.
target/tools/bin/cargo-deny: TOOL := cargo-deny@0.20.2
target/tools/bin/cargo-machete: TOOL := cargo-machete@0.9.2
target/tools/bin/cargo-%:
	CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --root target/tools $(TOOL)

# Only what the build reads is listed: the Python half of the package is used where it lies.
.venv/extension.stamp: $(SOURCES) .venv/run.stamp
	$(WITH_PYTHON) python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@
