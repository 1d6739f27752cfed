# The only commands anyone needs. `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Bytecode that cannot be written makes every import several times slower.
unexport PYTHONDONTWRITEBYTECODE
export MYPY_CACHE_DIR := $(VENV)/.mypy_cache
export RUFF_CACHE_DIR := $(VENV)/.ruff_cache
UV_VERSION := 0.13.7

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint fmt bench docs lock clean

help: ## list the commands
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

setup: $(READY) ## build the environment (free the second time)

$(READY): requirements-dev.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "lpbandits needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Run: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	$(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes --compile-bytecode -r requirements-dev.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## the paper's headline comparison: table, charts, report
	$(BIN)/lpb demo

test: setup lint ## everything CI checks
	$(BIN)/pytest -n 2
	NUMBA_DISABLE_JIT=1 $(BIN)/pytest -n 2 -m jitless tests

lint: setup ## style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy src tests benchmarks
	$(BIN)/lint-imports --no-cache

fmt: setup ## format and mend what can be mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup ## speed, as ratios measured in one run
	$(BIN)/python -m benchmarks

docs: setup ## the library's reference as HTML in build/docs
	$(BIN)/pdoc --docformat numpy --output-directory build/docs lpbandits

lock: setup ## renew the hash-locked requirements
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --output-file requirements.lock pyproject.toml
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header --output-file requirements-dev.lock pyproject.toml --group dev

clean: ## remove the environment and everything built
	rm -rf $(VENV) build dist lpb-demo .pytest_cache .hypothesis
