# make demo   sets up everything, streams scenarios/demo.toml and leaves a report
# make test   sets up everything and runs all tests
# make check  the quick part of it, for what changed (scripts/check says what that is)
# make lint   formats and lints alone
# make bench  the benchmarks
# make validate  docs/validation.md: the simulated world against this kernel, ns-3 (NS3=DIRECTORY) and the thesis
# make dropping  docs/dropping.md: frame dropping compared with what others do (TRACES=DIRECTORY of Mahimahi's recordings)
# make figures  docs/images: the figures with which the long pages begin, from the numbers of these pages
# make fuzz   gives every parser and state machine to libFuzzer for ten minutes each (scripts/fuzz says what it needs)
# make plugin  the GStreamer elements: builds them and says how GStreamer finds them
# make elements-memory  looks for leaks and memory errors of the GStreamer elements (valgrind)
# make wheel  a wheel with the emulator and the GStreamer elements in it, in target/wheels
# make wheel-check  builds it, installs it where nothing else is, and tries it
# make setup  builds and installs into .venv; scripts/setup says what it does

CARGO ?= cargo
PYTHON := .venv/bin/python
export PATH := $(CURDIR)/.venv/bin:$(PATH)

# Without GStreamer's development files everything but its elements is tested.
WITHOUT = $(shell pkg-config --exists gstreamer-check-1.0 gstreamer-video-1.0 2>/dev/null || echo --exclude framewire-gst)

# Those in Python.
SCRIPTS := scripts/check scripts/rust-tests scripts/too_busy.py

.PHONY: demo test check lint bench validate dropping figures fuzz plugin elements-memory wheel wheel-check setup setup-dev setup-test rust-lint python-lint side-by-side computing-tests real-time-tests

demo: setup
	framewire run scenarios/demo.toml

test: setup-test rust-lint python-lint side-by-side

check: setup-test
	CARGO=$(CARGO) scripts/check

lint: setup-test rust-lint python-lint

bench: setup-dev
	$(CARGO) bench --workspace --exclude framewire-python --exclude framewire-gst
	$(PYTHON) benches/saturation.py
	$(PYTHON) benches/thesis.py

validate: setup-dev
	$(PYTHON) benches/validation/page.py $(if $(NS3),--ns3 $(NS3)) $(if $(THESIS),--thesis $(THESIS))

dropping: setup-dev
	$(PYTHON) benches/dropping/page.py $(if $(TRACES),--traces $(TRACES))

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

rust-lint:
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace $(WITHOUT) --all-targets --locked --quiet -- -D warnings

python-lint:
	ruff check python tests benches conftest.py $(SCRIPTS)
	ruff format --check python tests benches conftest.py $(SCRIPTS)
	mypy

# Tests that compute stand back behind those of real time, which mostly wait.
side-by-side:
	$(MAKE) --jobs 2 --output-sync=line --keep-going computing-tests real-time-tests

computing-tests:
	CARGO=$(CARGO) scripts/rust-tests --no-real-time
	nice -n 10 pytest --quiet --numprocesses 2 --dist loadfile -m "not real_time"

real-time-tests:
	CARGO=$(CARGO) scripts/rust-tests --real-time
	pytest --quiet --numprocesses 3 --dist loadfile -m real_time
