# Two commands do all the set-up: `make demo` and `make test`.
# Both create .venv from the locked versions on first use and reuse it afterwards.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH_READY := $(VENV)/.bench-ready

DOCS_READY := $(VENV)/.docs-ready

# Each process has a run of neighbouring tests, which share fixtures and compiled kernels.
PYTEST := $(BIN)/python -m pytest -n auto --dist worksteal
# The files that have a mark, and the folders whose conftest.py has it: nothing else is collected.
marked = $(shell grep -rl --include='*.py' 'mark\.$(1)\b' tests | sort | sed 's,/conftest\.py$$,,')
# (without byte code, every process that a test starts would parse the sources again)
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-cpus test-slow test-oldest test-newest test-bounds fuzz test-browser check format bench pictures docs wheel sbom lock clean help

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

$(READY): pyproject.toml requirements-dev.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

$(BENCH_READY): $(READY) requirements-bench.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-bench.txt
	touch $@

$(DOCS_READY): $(READY) requirements-docs.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-docs.txt
	touch $@

demo: $(READY)  ## learn to fuse seven search engines over handwritten digits
	$(BIN)/crucial demo

test: $(READY)  ## the default suite, then kernel tests with the JIT disabled, and with checked indices
	$(PYTEST)
	NUMBA_DISABLE_JIT=1 $(PYTEST) -m "kernels and not slow" $(call marked,kernels)
	HYPOTHESIS_PROFILE=few NUMBA_BOUNDSCHECK=1 $(PYTEST) -m "bounds and not slow" $(call marked,bounds)

test-cpus: $(READY)  ## bytes of every ranker and measure, computed as on other CPUs
	$(BIN)/python tests/golden/manifest.py cpus

# The long sweeps in parts: make test-slow PART=kills. docs/internals/promises.md tells what is in each.
SLOW_forms := tests/properties/test_every_ranker_invariant.py
SLOW_kernels := $(wildcard tests/properties/test_kernels_*.py tests/properties/test_push_*.py tests/properties/test_logistic_*.py)
SLOW_properties := $(filter-out $(SLOW_forms) $(SLOW_kernels),$(wildcard tests/properties/test_*.py))
SLOW_kills := tests/end_to_end
SLOW_cluster := tests/unit/distributed
SLOW_readers := tests/fuzz
SLOW_others := tests/agreement tests/studies tests/unit --ignore=tests/unit/distributed

test-slow: $(READY)  ## the long sweeps; PART=forms, kernels, properties, kills, cluster, readers or others
	$(PYTEST) -m slow $(if $(PART),$(or $(SLOW_$(PART)),$(error PART=$(PART) is not forms, kernels, properties, kills, cluster, readers or others)))

# Into an environment of its own, made anew: the versions that pyproject.toml declares, without the
# lock files; then the default suite. PYTHON=python3.13 chooses another Python.
define test_versions
	$(PYTHON) -m venv --clear $(1)
	$(1)/bin/python -m pip install --quiet --disable-pip-version-check uv
	$(1)/bin/uv pip install --quiet --python $(1) --resolution $(2) -e '.[dev]'
	$(1)/bin/python -m pytest -n auto --dist worksteal
endef

test-oldest:  ## the default suite with the lowest declared version of every package (.venv-oldest)
	$(call test_versions,$(VENV)-oldest,lowest-direct)

test-newest:  ## the default suite with the newest version of every package (.venv-newest)
	$(call test_versions,$(VENV)-newest,highest)

test-bounds: $(READY)  ## the default suite with every index of compiled code checked
	NUMBA_BOUNDSCHECK=1 $(PYTEST)

fuzz: $(READY)  ## 100,000 inputs for each reader; READERS="model run" for some, ATHERIS=--atheris for one by coverage, SHAPES=--shapes for the time of long inputs
	if [ -n "$(ATHERIS)" ]; then $(BIN)/python -m pip install --quiet --disable-pip-version-check atheris; fi
	cd tests && PYTHONPATH=../src ../$(BIN)/python -m fuzz $(READERS) $(ATHERIS) $(SHAPES)

test-browser: $(READY)  ## the pages in a headless Chromium, installed if needed
	browser=$$(sh scripts/browser.sh) && CRUCIAL_BROWSER="$$browser" $(BIN)/python -m pytest -m browser tests/browser

check: $(READY)  ## format, lint, types, import directions
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(READY)  ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(BENCH_READY)  ## train peers in the same run, print the ratios
	$(BIN)/python -m benchmarks

pictures: $(READY)  ## the pictures of the documentation, in docs/pictures
	browser=$$(sh scripts/browser.sh) && CRUCIAL_BROWSER="$$browser" $(BIN)/python scripts/pictures.py

docs: $(DOCS_READY)  ## the documentation site, examples run, links checked, in docs/_build/html
	$(BIN)/python -m sphinx --fail-on-warning --keep-going -q -b html docs docs/_build/html
	$(BIN)/python scripts/links.py docs/_build/html
	@echo "open docs/_build/html/index.html"

wheel:  ## build the wheel, install it into an empty environment, run the demo there
	PYTHON=$(PYTHON) sh scripts/wheel.sh

sbom:  ## the same, and a bill of materials in sbom.json (CycloneDX)
	PYTHON=$(PYTHON) sh scripts/wheel.sh sbom.json

lock: $(READY)  ## compute the locked versions again
	sh scripts/lock.sh

clean:  ## remove what the other commands created
	rm -rf $(VENV) $(VENV)-oldest $(VENV)-newest .demo sbom.json docs/_build docs/gallery docs/reference docs/_studies docs/_live .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
