# The project's commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# Two test processes side by side, each with one Spark session. A file stays in one process, so that its fixtures are made once.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder
WITH_DOCTESTS := --doctest-modules src/arterial tests

.PHONY: help setup demo check test test-quick test-here test-spark test-all test-slow bench lint types layers docs dist clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(STAMP) $(VENV)/.postgres ## Make the virtual environment in .venv, and install what the tests need

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Arterial needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@echo "==> Setting up $(VENV) (about two minutes the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)
	@echo "==> $(VENV) is ready"

# The tests of the PostgreSQL sink start a server of their own. Its programs are found, or installed where that is allowed.
$(VENV)/.postgres: $(STAMP)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "==> Installing PostgreSQL for the tests" && \
	    export DEBIAN_FRONTEND=noninteractive && apt-get update -qq >/dev/null 2>&1 && \
	    apt-get install -qq -y --no-install-recommends postgresql >/dev/null 2>&1; } || \
	  echo "==> Left out: the tests on PostgreSQL, which is not installed here (apt-get install postgresql)"
	@touch $@

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

check: setup ## For every edit: lint, import rules, types, doctests, quick tests without Spark
	@echo "==> Lint and import rules"; $(MAKE) --no-print-directory lint layers
	@$(MAKE) --no-print-directory -j2 types test-quick

# The tests without Spark come first: they compile the kernels that the tests on Spark then find in numba's cache.
test: setup ## What CI runs: as `make check`, with the thorough tests and those on Spark
	@echo "==> Lint and import rules"; $(MAKE) --no-print-directory lint layers
	@$(MAKE) --no-print-directory -j2 types test-here
	@$(MAKE) --no-print-directory test-spark
	@echo "==> All checks passed"

test-quick: setup ## The doctests and the quick tests without Spark
	@echo "==> Quick tests without Spark"; $(PYTEST) -m 'not slow and not spark and not thorough' $(WITH_DOCTESTS)

test-here: setup ## The doctests and all tests without Spark
	@echo "==> Tests without Spark"; $(PYTEST) -m 'not slow and not spark' $(WITH_DOCTESTS)

test-spark: setup ## The tests on Spark
	@echo "==> Tests on Spark"; $(PYTEST) -m 'not slow and spark'

test-slow: setup ## The suites that take minutes
	@$(BIN)/python -m pytest -m slow

docs: $(VENV)/.docs ## Build the documentation site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site && echo "==> build/site/index.html"

test-all: test test-slow docs ## Everything
	@echo "==> Everything passed"

dist: setup ## Build wheel and source archive; run a network from the installed wheel
	@$(BIN)/python -m tools.dist

bench: setup ## Measure; print a table and write build/bench.json
	@$(BIN)/python -m benchmarks

clean: ## Remove what was built, keep .venv
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
