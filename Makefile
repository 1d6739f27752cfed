# The only commands anyone needs. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH := build/bench
# Bytecode that cannot be written makes every import several times slower.
unexport PYTHONDONTWRITEBYTECODE
export MYPY_CACHE_DIR := $(VENV)/.mypy_cache
export RUFF_CACHE_DIR := $(VENV)/.ruff_cache
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header
# Pythons for test-wheel, as far as they run here, and one for test-lowest: the oldest, for which old wheels exist.
PYTHONS ?= 3.11 3.12 3.13 3.14
LOWEST_PYTHON ?= 3.11
HERE = $(or $(shell for python in $(PYTHONS); do $(BIN)/uv python find --quiet --system $$python >/dev/null 2>&1 && echo $$python; done),$(error none of Python $(PYTHONS) runs here))
export UV_PYTHON_DOWNLOADS := never

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-lowest test-wheel lint fmt bench bench-beyond fuzz faults docs lock licences clean

help: ## list the commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 13

setup: $(READY) ## build the environment (free the second time)

$(READY): requirements-uv.lock requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lpbandits needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Run: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## the paper's headline comparison: table, charts, report
	$(BIN)/lpb demo

test: setup lint ## everything CI checks
	$(BIN)/pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m jitless tests

test-lowest: setup ## the tests at the lowest versions that pyproject.toml allows
	rm -rf build/lowest && mkdir -p build/lowest
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python $(LOWEST_PYTHON) --output-file build/lowest/versions.txt pyproject.toml
	$(BIN)/uv venv --quiet --python $(LOWEST_PYTHON) build/lowest/venv
	$(BIN)/uv pip install --quiet --python build/lowest/venv/bin/python --compile-bytecode -r build/lowest/versions.txt --group test
	$(BIN)/uv pip install --quiet --python build/lowest/venv/bin/python --no-deps --build-constraints requirements-dev.lock --editable .
	build/lowest/venv/bin/pytest -n 2

test-wheel: setup ## build sdist and wheel, and use the wheel alone under every Python
	rm -rf build/wheel
	$(BIN)/uv build --quiet --python $(BIN)/python --no-build-isolation --out-dir build/wheel/dist
	@echo "under Python $(HERE), of $(PYTHONS)"
	@$(MAKE) --no-print-directory $(addprefix build/wheel/,$(HERE))

build/wheel/%:
	$(BIN)/uv venv --quiet --python $* $@
	$(BIN)/uv pip install --quiet --python $@/bin/python --compile-bytecode build/wheel/dist/*.whl
	$@/bin/python -I tests/smoke.py

lint: setup ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests benchmarks
	$(BIN)/lint-imports --no-cache

fmt: setup ## format and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.ready ## speed, regret and memory beside other packages: benchmarks/results.json and docs/benchmarks.md (30 minutes, of an idle machine)
	$(BENCH)/bin/python -m benchmarks --save

bench-beyond: $(BENCH)/.ready ## fits of 50 to 200 million ratings on this machine, added to the same (an hour; 10 GB of SCRATCH)
	$(BENCH)/bin/python -m benchmarks beyond --save $(if $(SCRATCH),--scratch $(SCRATCH))

# An environment of its own: what is measured against is never in that of the tests. The lock is complete, so that no
# package's wish for an older numpy is asked again.
$(BENCH)/.ready: $(READY) requirements-bench.lock
	rm -rf $(BENCH)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(BENCH)
	$(BIN)/uv pip install --quiet --python $(BENCH)/bin/python --no-deps --require-hashes --compile-bytecode -r requirements-bench.lock
	$(BIN)/uv pip install --quiet --python $(BENCH)/bin/python --no-deps --build-constraints requirements-dev.lock --editable .
	@touch $@

fuzz: setup ## hostile input for every entry point: 20,000 examples and a table (10 minutes)
	$(BIN)/pytest -q tests/fuzz --hypothesis-profile=fuzz

faults: setup ## a full disk and kills, tried on every command that writes (minutes; root, for a mount)
	$(BIN)/python -m tests.faults

docs: setup ## the library's reference as HTML in build/docs
	$(BIN)/pdoc --docformat numpy --output-directory build/docs lpbandits

lock: setup ## renew the hash-locked requirements, and what depends on them
	$(COMPILE) --output-file requirements-uv.lock --group uv
	$(COMPILE) --output-file requirements.lock pyproject.toml
	$(COMPILE) --output-file requirements-dev.lock pyproject.toml --group dev
	$(COMPILE) --output-file requirements-bench.lock --overrides benchmarks/overrides.txt pyproject.toml --extra dask --group bench
	$(MAKE) licences

licences: setup ## write docs/licences.md from the packages of requirements.lock
	$(BIN)/python -m tests.project.test_licences

clean: ## remove the environment and everything built
	rm -rf $(VENV) build dist lpb-demo .pytest_cache .hypothesis
