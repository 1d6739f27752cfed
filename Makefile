# All commands of the project; `make` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
BENCH := build/bench
MUTANTS := build/mutants
# Tests that answer within a minute while editing: pinned results and decisions, contracts, house rules.
QUICK := tests/test_golden.py tests/test_model.py tests/policies/test_actions.py tests/policies/test_policies.py tests/project/test_house.py
# Without bytecode every import is several times slower.
unexport PYTHONDONTWRITEBYTECODE
export MYPY_CACHE_DIR := $(VENV)/.mypy_cache
export RUFF_CACHE_DIR := $(VENV)/.ruff_cache
# The extras that the tests use.
EXTRAS := --extra client --extra postgres --extra serve
COMPILE := $(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header
# Pythons of test-wheel (those installed are used), and of test-lowest: the oldest, which has wheels of old packages.
PYTHONS ?= 3.11 3.12 3.13 3.14
LOWEST_PYTHON ?= 3.11
HERE = $(or $(shell for python in $(PYTHONS); do $(BIN)/uv python find --quiet --system $$python >/dev/null 2>&1 && echo $$python; done),$(error none of Python $(PYTHONS) runs here))
export UV_PYTHON_DOWNLOADS := never

.DEFAULT_GOAL := help
.PHONY: help setup demo serve check test test-jitless coverage test-lowest test-wheel lint fmt bench bench-beyond fuzz fuzz-service faults mutants study-recovery study-states study-covariates study-stopping docs lock licences clean

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

serve: setup ## the decision service with an example project, without keys, on this machine
	mkdir -p build/serve
	$(BIN)/lpb serve --dev --example --store sqlite:///build/serve/lpb.db

check: lint ## lint, types and the quick tests, for use while editing (90 seconds)
	$(BIN)/pytest -q -n 2 -m "not slow" $(QUICK)

test: setup ## everything CI checks
	$(MAKE) --no-print-directory -j 2 --output-sync=target lint test-jitless
	$(BIN)/pytest -n 2 --dist loadgroup --durations=25

test-jitless: setup ## the tests of kernels with the compiler switched off
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n 2 -m jitless tests

coverage: setup ## branch coverage of the tests, kernels with the compiler off: a table by file (10 minutes)
	$(BIN)/pytest -q -n 2 --dist loadgroup --cov --cov-report=
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -q -n 2 -m jitless tests --cov --cov-append --cov-report=term-missing:skip-covered

test-lowest: setup ## the tests at the lowest versions that pyproject.toml allows
	rm -rf build/lowest && mkdir -p build/lowest
	$(BIN)/uv pip compile --quiet --resolution lowest-direct --python $(LOWEST_PYTHON) --output-file build/lowest/versions.txt pyproject.toml $(EXTRAS)
	$(BIN)/uv venv --quiet --python $(LOWEST_PYTHON) build/lowest/venv
	$(BIN)/uv pip install --quiet --python build/lowest/venv/bin/python --compile-bytecode -r build/lowest/versions.txt --group test
	$(BIN)/uv pip install --quiet --python build/lowest/venv/bin/python --no-deps --build-constraints requirements-dev.lock --editable .
	build/lowest/venv/bin/pytest -n 2 --dist loadgroup

test-wheel: setup ## build sdist and wheel, and test the wheel under every installed Python
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

fmt: setup ## format, and fix what can be fixed
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(BENCH)/.ready ## speed, regret and memory against other packages: benchmarks/results.json, docs/benchmarks.md (30 minutes, idle machine)
	$(BENCH)/bin/python -m benchmarks --save

bench-beyond: $(BENCH)/.ready ## fits of 50 to 200 million ratings, added to the same files (an hour; 10 GB of SCRATCH)
	$(BENCH)/bin/python -m benchmarks beyond --save $(if $(SCRATCH),--scratch $(SCRATCH))

# A separate environment: compared packages are never installed for the tests. The lock is complete and installed
# without dependencies, because one package asks for an older numpy.
$(BENCH)/.ready: $(READY) requirements-bench.lock
	rm -rf $(BENCH)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(BENCH)
	$(BIN)/uv pip install --quiet --python $(BENCH)/bin/python --no-deps --require-hashes --compile-bytecode -r requirements-bench.lock
	$(BIN)/uv pip install --quiet --python $(BENCH)/bin/python --no-deps --build-constraints requirements-dev.lock --editable .
	@touch $@

fuzz: setup ## hostile input for every entry point: 20,000 examples with statistics (10 minutes)
	$(BIN)/pytest -q tests/fuzz --hypothesis-profile=fuzz --hypothesis-show-statistics

fuzz-service: setup ## 5,000 requests made from the OpenAPI document, and 100 stories of requests in any order (15 minutes)
	LPB_FUZZ_SERVICE=5000 $(BIN)/pytest -q -s tests/service/test_openapi.py tests/service/test_machine.py

mutants: $(MUTANTS)/.ready ## faults put into pure Python by cosmic-ray and into kernels by a list; which tests notice (hours)
	$(MUTANTS)/bin/python -m tests.mutants

$(MUTANTS)/.ready: $(READY) requirements-mutants.lock
	rm -rf $(MUTANTS)
	$(BIN)/uv venv --quiet --python $(BIN)/python $(MUTANTS)
	$(BIN)/uv pip install --quiet --python $(MUTANTS)/bin/python --no-deps --require-hashes --compile-bytecode -r requirements-mutants.lock
	$(BIN)/uv pip install --quiet --python $(MUTANTS)/bin/python --no-deps --build-constraints requirements-dev.lock --editable .
	@touch $@

faults: setup ## full disks, kills, Ctrl-C, crashed workers and stopped databases, for commands that write and for lpb serve (an hour; root)
	$(BIN)/python -m tests.service.faults
	$(BIN)/python -m tests.faults

study-recovery: setup ## how well the methods of `lpb fit` recover planted orderings, and how often their intervals cover (an hour)
	$(BIN)/python -m tests.studies.recovery

study-states: setup ## how often `lpb fit --states auto` finds the planted number of states (an hour)
	$(BIN)/python -m tests.studies.states

study-covariates: setup ## how much regret the covariates of a fit save in the first ten rounds (minutes)
	$(BIN)/python -m tests.studies.covariates

study-stopping: setup ## how often stops at 95 % are right, with true and with fitted models (half an hour)
	$(BIN)/python -m tests.studies.stopping

docs: setup ## the library's reference as HTML in build/docs
	$(BIN)/pdoc --docformat numpy --output-directory build/docs lpbandits

lock: setup ## update the hash-locked requirements and docs/licences.md
	$(COMPILE) --output-file requirements-uv.lock --group uv
	$(COMPILE) --output-file requirements.lock pyproject.toml
	$(COMPILE) --output-file requirements-dev.lock pyproject.toml $(EXTRAS) --group dev
	$(COMPILE) --output-file requirements-mutants.lock pyproject.toml $(EXTRAS) --group mutants
	$(COMPILE) --output-file requirements-bench.lock --overrides benchmarks/overrides.txt pyproject.toml --extra dask $(EXTRAS) --group bench
	$(MAKE) licences

licences: setup ## write docs/licences.md from the packages of requirements.lock
	$(BIN)/python -m tests.project.test_licences

clean: ## remove the environment and everything built
	rm -rf $(VENV) build dist lpb-demo .pytest_cache .hypothesis .coverage .coverage.*
