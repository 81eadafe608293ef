# Targets for people; CI calls the same ones.
#   make install        install the package into .venv and build the engine; then `. .venv/bin/activate`
#   make dev            install what the tests and lint need
#   make live           build aqmlab-live, which aqmlab live runs; Linux only
#   make kernel         build the Linux kernel in virtual time; Linux on x86-64 only, with Debian's source package
#   make demo | test | lint | bench: need only Python >= 3.11, a Rust toolchain and make
#   make pythons        try the package on the later Pythons that are installed
#   make bench-check    compare the engine's instruction counts with the record; needs valgrind. make bench-record writes a new record
#   make bench-peers    compare speed and results with ns-2 and ns-3, if they are installed; long
#   make studies        write the pages of docs/studies: a day of processor time; resumes where it stopped
#   make accounting     write docs/studies/accounting.md: consistency of loss and delay in the papers' tables and ours
#   make judges         write docs/guide/judges.md: pages and videos by real programs and by the models; needs make kernel and nghttp2
#   make laws           write docs/guide/kernel-laws.md: our queue disciplines against those of the Linux kernel; needs make kernel
#   make parity         write docs/studies/parity.md: disciplines over the TCP of Linux in virtual time and in the simulator; 45 minutes of
#                       processor time a seed; needs make kernel.
#                       SEEDS=3 runs three seeds and gives intervals
#   make sensitivity    write docs/studies/sensitivity.md: the settings of RED, PIE and CoDel that matter, and the gain from tuning
#   make reference      write docs/reference, after a change of a discipline, a command, the spec, a source, a table or the Python API
#   make gallery        draw the figures of docs/gallery and list them, and the moving picture, after a change of their code or of figures
#   make pictures       take the pictures of the report, the console and the built site in docs/img; needs Chromium
#   make docs           build the documentation site, docs/_build/html
#   make site           put it beside those of other versions, docs/_build/site
#   make advisories     look for known vulnerabilities of the Rust dependencies; needs the network
#   make unused         look for unused dependencies of the crates; compiles cargo-machete first
#   make miri           look for undefined behaviour in the engine's unsafe code; needs a nightly toolchain with miri and rust-src
#   make links          check the external links of the pages; needs the network
#   make cost           measure the processor time of each discipline, for docs/reference
#   make evaluations    write docs/studies/rfc9743.md: congestion controls evaluated as RFC 9743 demands; ten minutes of processor time
#   make calibration    measure the number of users for each load again, for the package
#   make advice-map     compute the map behind aqmlab advise again, for the package; half an hour of processor time
#   make golden         store the golden cells' results, after an intended change of results that has raised RESULTS
#   make lock           lock the dependencies, after a change of them in pyproject.toml; needs uv

# These name make's jobserver, which cargo would try to use and cannot open.
unexport MAKEFLAGS MFLAGS

PYTHON ?= python3
PYTHONS := 3.12 3.13
BIN := .venv/bin
VERSION = $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
INSTALL := $(BIN)/python -m pip install --quiet --no-compile --require-hashes
SOURCES := $(shell find crates -name '*.rs' -o -name '*.json' -o -name '*.md' -o -name Cargo.toml) Cargo.toml Cargo.lock pyproject.toml
# aqmlab-live uses features that only Linux has.
IS_LINUX := $(filter Linux,$(shell uname))
WORKSPACE := --workspace $(if $(IS_LINUX),,--exclude aqmlab-live --exclude aqmlab-kernel)
# LIVE_PROFILE=dev installs aqmlab-live and the kernel's engine unoptimized, as the Rust tests compile them: CI saves two fat links.
ifeq ($(LIVE_PROFILE),dev)
BUILT := target/debug
BUILD_LIVE := cargo build $(WORKSPACE) --exclude aqmlab-py --all-targets --locked
BUILD_KERNEL := $(BUILD_LIVE)
else
BUILT := target/release
# Naming aqmlab-py unifies the features of shared dependencies: otherwise cargo compiles all of them twice.
BUILD_KERNEL := cargo build --release --package aqmlab-live --package aqmlab-py --package aqmlab-kernel --locked
BUILD_LIVE := cargo build --release --package aqmlab-live --package aqmlab-py --bin aqmlab-live --locked
endif
# The extension is compiled for the first interpreter on the path.
WITH_PYTHON := PATH="$(CURDIR)/$(BIN):$$PATH"

# Requirements to run the package: --jobs=2 compiles the engine while the dependencies are installed.
READY := .venv/extension.stamp .venv/run.stamp
ifneq ($(filter install demo,$(MAKECMDGOALS)),)
MAKEFLAGS += --jobs=2
endif

.PHONY: gallery install dev live kernel demo test test-rust test-python pythons lint lint-rust lint-python bench bench-check bench-record bench-peers reference conversations judges laws notebooks pictures docs site docs-rust links advisories unused miri cost studies accounting parity sensitivity evaluations calibration advice-map golden lock wheel kernel-wheel sdist-check crates clean

install: $(READY)

dev: .venv/dev.stamp
live: .venv/live.stamp
kernel: .venv/kernel.stamp

demo: $(READY)
	$(BIN)/aqmlab compare --load 98 --warmup "2 min" --duration "10 min" --seeds 1 \
	    droptail:limit=240 ared:min_th=12,max_th=36 pi:q_ref=24 pi:q_ref=24,ecn=true rem:q_ref=24,ecn=true
	$(BIN)/aqmlab report

test: test-rust test-python

# Needs no extension, so `make --jobs 2 test` builds it at the same time.
test-rust:
	cargo test $(WORKSPACE) --exclude aqmlab-py --locked

test-python: .venv/dev.stamp $(READY) $(if $(IS_LINUX),.venv/live.stamp)
	$(BIN)/pytest --numprocesses auto --dist loadfile --no-loadscope-reorder

# Every later Python uses the same extension (abi3) but other versions of the dependencies.
# This Python's pip installs them, so the later one needs none; --no-compile skips modules that are never imported.
pythons: $(READY)
	for version in $(PYTHONS); do \
	    command=$$(command -v python$$version) && $$command --version >/dev/null 2>&1 || { echo "no Python $$version here"; continue; }; \
	    $$command -m venv --without-pip .venv/$$version && \
	    $(BIN)/python -m pip --python .venv/$$version/bin/python install --quiet --no-compile \
	        --require-hashes -r requirements.txt && \
	    PYTHONPATH=python .venv/$$version/bin/python -W error tests/project/smoke.py >/dev/null || exit; \
	done

lint: lint-rust lint-python

# Needs no extension, so `make --jobs 2 lint` builds it at the same time.
lint-rust: .venv/dev.stamp
	cargo fmt --all --check
	rustfmt --check crates/aqm/src/disciplines/*.rs  # a macro declares these modules, where cargo does not find them
	$(BIN)/cargo-deny --locked check licenses bans sources
	$(BIN)/cargo-deny --config crates/kernel/deny.toml --manifest-path crates/kernel/Cargo.toml --locked check licenses
	$(WITH_PYTHON) cargo clippy $(WORKSPACE) --all-targets --locked -- -D warnings

lint-python: .venv/dev.stamp $(READY)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/stubtest aqmlab._core
	$(BIN)/python tools/language.py

bench: $(READY)
	$(BIN)/python benches/bench.py

bench-check bench-record: $(READY)
	PYTHONPATH=benches/peers $(BIN)/python benches/check.py $(if $(filter bench-record,$@),--record)

bench-peers: $(READY)
	$(BIN)/python benches/peers/peers.py

reference: $(READY)
	PYTHONPATH=tools $(BIN)/python -m reference docs/reference

# The simulator's TCP against the kernel's, segment by segment.
conversations: $(READY)
	PYTHONPATH=tools $(BIN)/python -m conversations docs/guide

# Our models of pages and videos against real programs in the kernel's world.
judges: $(READY)
	PYTHONPATH=tools $(BIN)/python -m judges docs/guide

# Our queue disciplines against the kernel's, packet by packet.
laws: $(READY)
	PYTHONPATH=tools $(BIN)/python -m laws docs/guide

# The notebooks store their outputs, for the site.
notebooks: $(READY) .venv/docs.stamp
	$(BIN)/python tools/notebooks.py docs/notebooks/*.ipynb

# The figures' own code draws them.
gallery: $(READY)
	$(BIN)/python tools/gallery.py docs/gallery
	$(BIN)/python tools/moving_picture.py docs/img

pictures: .venv/dev.stamp $(READY)
	$(BIN)/python tools/pictures.py docs/img

# The site with the crates' documentation; tests follow its links and open it in Chromium, if it is installed.
docs: docs-rust .venv/docs.stamp .venv/dev.stamp $(READY)
	$(BIN)/python tools/study_pages.py docs/studies
	$(BIN)/sphinx-build --fail-on-warning --quiet --jobs auto -c docs/site -b html . docs/_build/html
	$(BIN)/pytest --quiet --noconftest tests/documents/built_site.py
	rm -rf docs/_build/html/rust && cp -r target/doc docs/_build/html/rust

# The built site beside those of other versions, with a menu of them on each page: copy the folder to any address.
site: docs
	rm -rf docs/_build/site/$(VERSION) && mkdir -p docs/_build/site && cp -r docs/_build/html docs/_build/site/$(VERSION)
	$(BIN)/python tools/site_versions.py docs/_build/site

docs-rust: | .venv/bin/python
	$(WITH_PYTHON) RUSTDOCFLAGS="-D warnings" cargo doc $(WORKSPACE) --no-deps --locked

# Requests each external link of the pages.
links: .venv/docs.stamp $(READY)
	$(BIN)/python tools/study_pages.py docs/studies
	$(BIN)/sphinx-build --quiet -c docs/site -b linkcheck . docs/_build/links

# The RustSec database.
advisories: .venv/dev.stamp
	$(BIN)/cargo-deny --locked check advisories

# Hosted CI runs this once a week: compiling cargo-machete takes longer than the rest of lint.
unused: target/tools/bin/cargo-machete
	target/tools/bin/cargo-machete crates examples/rust_aqm

# Miri is about a hundred times slower, so it runs only the tests of the units and of the engine's unsafe code.
miri:
	PROPTEST_CASES=2 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked -p aqmlab-units --lib
	MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test --locked -p aqmlab-sim --lib engine::prefetch

cost: $(READY)
	$(BIN)/python benches/cost.py docs/reference/aqm/cost.md

studies: $(READY)
	for study in $$($(BIN)/python -c 'from aqmlab.studies import STUDIES; print(*STUDIES)'); do \
	    $(BIN)/aqmlab study $$study --full --pages docs/studies || exit; done
	PYTHONPATH=tools $(BIN)/python -m accounting docs/studies

parity: $(READY) .venv/kernel.stamp
	$(BIN)/python tools/parity.py docs/studies --results results --seeds $(or $(SEEDS),1)

accounting: $(READY)
	PYTHONPATH=tools $(BIN)/python -m accounting docs/studies

sensitivity: $(READY)
	$(BIN)/python tools/sensitivity.py docs/studies

evaluations: $(READY)
	$(BIN)/python tools/evaluations.py docs/studies

# The packaged calibration; repeat it after a change of the workload or the engine that changes results.
calibration: $(READY)
	for workload in unc-2001 unc-2001-v3; do \
		$(BIN)/aqmlab calibrate --workload $$workload --rtt uniform --out results && \
		$(BIN)/aqmlab calibrate --workload $$workload --rtt general --out results && \
		$(BIN)/aqmlab calibrate --workload $$workload --rtt uniform --sides 1 --out results || exit 1; \
	done
	for sides in 1 2; do \
		$(BIN)/aqmlab calibrate --workload web-2024 --rtt uniform --sides $$sides --most-users 250 \
		    --warmup "5 min" --duration "30 min" --out results || exit 1; \
	done
	cp results/calibration.json python/aqmlab/cells/calibration.json

# The packaged map of advice; repeat it after a change of the engine that changes results.
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

# Builds into dist/ and tries the wheel in an empty environment. It contains the licences of compiled-in crates.
wheel: $(READY) $(if $(IS_LINUX),.venv/live.stamp)
	$(BIN)/python tools/licences.py python/aqmlab/licences.txt
	rm -rf dist
	$(WITH_PYTHON) maturin build --release --locked --out dist
	$(WITH_PYTHON) maturin sdist --out dist
	$(BIN)/python tools/try_package.py dist/*.whl

# Packs the kernel and its engine for users who do not build it, and its complete source, which GPL-2.0 asks to offer beside it.
kernel-wheel: $(READY) .venv/kernel.stamp
	PYTHONPATH=tools $(BIN)/python tools/kernel_wheel.py $(KERNEL_SOURCE) dist

# Compiles everything from the source distribution.
sdist-check:
	$(BIN)/python tools/try_package.py dist/*.tar.gz

# Builds the crates that others can use from their packages.
crates:
	cargo package --package aqmlab-units --package aqmlab-aqm --locked

clean:
	rm -rf .venv target dist

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("aqmlab needs Python 3.11 or later" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv .venv

# The build tools. Modules are not compiled in advance: most are never imported.
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

# Not optimized: CI builds it as often as it runs it.
target/tools/bin/cargo-machete:
	CARGO_PROFILE_DEV_DEBUG=0 cargo install --quiet --debug --locked --root target/tools --target-dir target/tools/build cargo-machete@0.9.2

# SOURCES lists only what the build reads: an editable install uses the Python files in place.
.venv/extension.stamp: $(SOURCES) .venv/build.stamp
	$(WITH_PYTHON) python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

# The kernel in virtual time, from the source of Debian's package or of KERNEL_SOURCE, a directory or a tar file.
KERNEL_PACKAGE ?= linux-source-6.12
KERNEL_SOURCE ?= target/kernel/source.tar.xz
target/kernel/source.tar.xz:
	mkdir -p target/kernel/package
	cd target/kernel/package && apt-get download $(KERNEL_PACKAGE) && dpkg-deb -x $(KERNEL_PACKAGE)_*.deb .
	mv target/kernel/package/usr/src/$(KERNEL_PACKAGE).tar.xz $@

.venv/kernel-image.stamp: kernel/build kernel/config kernel/edit $(wildcard kernel/um/*) $(KERNEL_SOURCE) | .venv/bin/python
	kernel/build $(KERNEL_SOURCE) target/kernel/linux-aqmlab
	install target/kernel/linux-aqmlab python/aqmlab/linux-aqmlab
	install -m 644 target/kernel/linux-aqmlab.release python/aqmlab/linux-aqmlab.release
	touch $@

.venv/kernel.stamp: .venv/kernel-image.stamp .venv/live.stamp
	$(BUILD_KERNEL)
	install $(BUILT)/libaqmlab_kernel.so python/aqmlab/linux-aqmlab.engine
	touch $@

# Installed next to the extension, where the package looks for it; `install` replaces a program even while it runs.
.venv/live.stamp: $(SOURCES) | .venv/bin/python
	$(BUILD_LIVE)
	install $(BUILT)/aqmlab-live python/aqmlab/aqmlab-live
	touch $@
