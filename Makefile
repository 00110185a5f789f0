# make demo   sets up everything, streams scenarios/demo.toml and leaves a report
# make test   sets up everything and runs all tests
# make check  the quick part of it, for what changed (scripts/check says what that is)
# make lint   formats and lints alone
# make bench  the benchmarks
# make validate  docs/validation.md: the simulated world against this kernel, ns-3 (NS3=DIRECTORY) and the thesis
# make dropping  docs/dropping.md: frame dropping compared with what others do (TRACES=DIRECTORY of Mahimahi's recordings;
#              APPLICATIONS=--applications for docs/dropping-programs.md too: an hour in real time)
# make figures  docs/images: the figures with which the long pages begin, from the numbers of these pages
# make fuzz   gives every parser and state machine to libFuzzer for ten minutes each (scripts/fuzz says what it needs)
# make plugin  the GStreamer elements: builds them and says how GStreamer finds them
# make elements-memory  looks for leaks and memory errors of the GStreamer elements (valgrind)
# make wheel  a wheel with the emulator and the GStreamer elements in it, in target/wheels
# make wheel-check  builds it, installs it where nothing else is, and tries it
# make setup  builds and installs into .venv; scripts/setup says what it does

CARGO ?= cargo
PYTHON := .venv/bin/python
# Once, also in a make that this one calls: with another PATH cargo builds the native module's dependencies anew.
ifeq ($(findstring $(CURDIR)/.venv/bin:,$(PATH)),)
export PATH := $(CURDIR)/.venv/bin:$(PATH)
endif

# Without GStreamer's development files everything but its elements is tested.
WITHOUT = $(shell pkg-config --exists gstreamer-check-1.0 gstreamer-video-1.0 2>/dev/null || echo --exclude framewire-gst)

# Lists of the tests that are run again.
AGAIN := $(CURDIR)/target/again

# Movies that the lanes make for each other, anew in every call.
MOVIES := $(CURDIR)/target/test-movies

# What cargo keeps to compile a part of a crate the next time makes the first time a quarter longer. Where cargo was not yet
# called by hand, it does without.
ifeq ($(wildcard target/debug/incremental/*),)
export CARGO_INCREMENTAL ?= 0
endif

# A program in Python starts in two thirds of the time where the package was compiled before.
unexport PYTHONDONTWRITEBYTECODE

# Those in Python.
SCRIPTS := scripts/check scripts/rust-tests scripts/too_busy.py

.PHONY: demo test check lint bench validate dropping figures fuzz plugin elements-memory wheel wheel-check setup setup-dev setup-test setup-tools setup-system setup-compiled rust-format rust-lint python-lint lint-here lint-rest build-and-lint side-by-side rust-tests python-tests real-time-tests again

demo: setup
	framewire run scenarios/demo.toml

test: setup-system build-and-lint side-by-side again

check: setup-tools
	CARGO=$(CARGO) scripts/check

lint: setup-system build-and-lint

bench: setup-dev
	$(CARGO) bench --workspace --exclude framewire-python --exclude framewire-gst
	$(PYTHON) benches/saturation.py
	$(PYTHON) benches/thesis.py
	$(PYTHON) benches/carriage.py

validate: setup-dev
	$(PYTHON) benches/validation/page.py $(if $(NS3),--ns3 $(NS3)) $(if $(THESIS),--thesis $(THESIS))

dropping: setup-dev
	$(PYTHON) -m framewire reproduce dropping --out target/dropping $(if $(TRACES),--traces $(TRACES)) $(APPLICATIONS)
	$(PYTHON) benches/dropping.py target/dropping/report.md
	$(PYTHON) benches/figures/draw.py

figures:
	$(PYTHON) benches/figures/draw.py

fuzz:
	@scripts/fuzz

plugin:
	@scripts/setup --plugin

elements-memory: setup-dev
	@scripts/elements-memory

wheel: setup plugin
	scripts/licences
	maturin build --release --locked --quiet --out target/wheels

wheel-check: wheel
	scripts/wheel-check

setup:
	@scripts/setup

setup-dev:
	@scripts/setup --dev

# As the Rust tests are compiled.
setup-test:
	@scripts/setup --test

# What the tests need but is not compiled.
setup-tools:
	@scripts/setup --tools

# The two parts of setup-test that can go on side by side with Python's packages.
setup-system:
	@scripts/setup --system

setup-compiled:
	@scripts/setup --compiled

# Without compiling. mypy takes one processor for as long as clippy is with what others have written. The job server of this
# make is not for cargo (scripts/rust-tests).
lint-here:
	$(MAKE) --jobs 2 --output-sync=target rust-lint python-lint

# What was not linted when it was compiled (scripts/rust-tests).
lint-rest: rust-format setup-tools
	$(MAKE) python-lint

# Python's packages and mypy take one processor for a while, in which the other compiles.
build-and-lint:
	$(MAKE) --jobs 2 --output-sync=none setup-compiled lint-rest

rust-format:
	$(CARGO) fmt --all --check

rust-lint: rust-format
	env -u MAKEFLAGS -u MFLAGS $(CARGO) clippy --workspace $(WITHOUT) --all-targets --locked --quiet -- -D warnings

python-lint:
	ruff check python tests benches conftest.py $(SCRIPTS)
	ruff format --check python tests benches conftest.py $(SCRIPTS)
	mypy

# Three lanes. Tests that compute stand back behind those of real time, which mostly wait; both kinds of them together, so
# that the end of neither leaves a processor idle. Three at once and one that waits are fewer than make a machine too busy
# (scripts/too_busy.py).
side-by-side:
	rm -rf $(AGAIN) $(MOVIES)
	FRAMEWIRE_AGAIN=$(AGAIN) FRAMEWIRE_TEST_CACHE=$(MOVIES) $(MAKE) --jobs 3 --output-sync=line --keep-going rust-tests python-tests real-time-tests

rust-tests:
	CARGO=$(CARGO) scripts/rust-tests --no-real-time --one

python-tests:
	nice -n 10 pytest --quiet --numprocesses 2 --dist loadfile -m "not real_time"

real-time-tests:
	CARGO=$(CARGO) scripts/rust-tests --real-time
	pytest --quiet --numprocesses 3 --dist loadfile -m real_time

# What the lanes found the machine too busy for, alone. It is counted only here.
again:
	CARGO=$(CARGO) scripts/rust-tests --again $(AGAIN)/rust
	[ ! -s $(AGAIN)/python ] || FRAMEWIRE_TEST_CACHE=$(MOVIES) pytest --quiet @$(AGAIN)/python
