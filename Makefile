# The project's commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: help setup demo test test-all test-slow bench lint types layers docs clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) ## Make the virtual environment in .venv

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Arterial needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "==> Setting up $(VENV) (about two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)
	@echo "==> $(VENV) is ready"

$(VENV)/.docs: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

demo: setup ## Simulate a short rush hour, make its history, show it
	@$(BIN)/python examples/demo.py

lint: setup ## Check style and format
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup ## Check types
	@$(BIN)/mypy

layers: setup ## Check that imports point down the layers
	@$(BIN)/lint-imports --no-cache

test: setup ## Lint, types, import rules, doctests, tests
	@echo "==> Lint";         $(MAKE) --no-print-directory lint
	@echo "==> Types";        $(MAKE) --no-print-directory types
	@echo "==> Import rules"; $(MAKE) --no-print-directory layers
	@echo "==> Doctests";     $(BIN)/python -m pytest --doctest-modules src/arterial
	@echo "==> Tests";        $(BIN)/python -m pytest
	@echo "==> All checks passed"

test-slow: setup ## The suites that take minutes
	@$(BIN)/python -m pytest -m slow

docs: $(VENV)/.docs ## Build the documentation site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site && echo "==> build/site/index.html"

test-all: test test-slow docs ## Everything
	@echo "==> Everything passed"

bench: setup ## Measure; print a table and write build/bench.json
	@$(BIN)/python -m benchmarks

clean: ## Remove what was built, keep .venv
	rm -rf build site .mypy_cache .ruff_cache .pytest_cache .hypothesis
