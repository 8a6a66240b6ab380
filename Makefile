# The project's commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The tests start hundreds of Python processes, which would compile the sources again each time.
unexport PYTHONDONTWRITEBYTECODE
# What a run imports is compiled by `make setup`: where Python may not keep what it compiles, every command would take seconds more.
FIRST_IMPORTS := import arterial.cli.main, arterial.cli.run, arterial.engine.run.local, arterial.engine.spark.start.preloaded, polars, pandas, numba

# Test processes side by side; on Spark two, each with a session, without it three, since some tests wait for processes that they
# start. A file stays in one process, so that its fixtures are made once.
PYTEST := $(BIN)/python -m pytest --dist loadfile --no-loadscope-reorder

.PHONY: help setup installed archive demo studio page check test test-quick test-doc test-here test-spark test-all test-cluster test-kafka stores test-stores test-slow bench peers lint types layers docs dist clean

help: ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: ## Make the virtual environment in .venv, and install what the tests need
	@$(MAKE) --no-print-directory $(if $(findstring jobserver,$(MAKEFLAGS)),,-j3) GOALS='$(MAKECMDGOALS)' installed
	@$(if $(filter setup,$(MAKECMDGOALS)),$(MAKE) --no-print-directory archive)

installed: $(STAMP) $(VENV)/.postgres $(VENV)/.kafka/found $(VENV)/.chromium
	@:

$(VENV):
	@mkdir -p $@

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Arterial needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12 $(or $(GOALS),$(MAKECMDGOALS))"; exit 1; }
	@echo "==> Setting up $(VENV) (about a minute the first time)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e '.[dev]'
	@$(BIN)/python -c '$(FIRST_IMPORTS)'
	@touch $(STAMP)
	@echo "==> $(VENV) is ready"

# The tests of the PostgreSQL sink start a server of their own. Its programs are found, or installed where that is allowed.
$(VENV)/.postgres: | $(VENV)
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "==> Installing PostgreSQL for the tests" && \
	    export DEBIAN_FRONTEND=noninteractive && apt-get update -qq >/dev/null 2>&1 && \
	    apt-get install -qq -y --no-install-recommends postgresql >/dev/null 2>&1; } || \
	  echo "==> Left out: the tests on PostgreSQL, which is not installed here (apt-get install postgresql)"
	@touch $@

# The tests of the studio's page run in the system's browser. It comes after PostgreSQL, since only one apt-get can run.
$(VENV)/.chromium: $(VENV)/.postgres
	@test -n "$$CHROME" || command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null || \
	  { test "$$(id -u)" = 0 && command -v apt-get >/dev/null && echo "==> Installing Chromium for the tests" && \
	    export DEBIAN_FRONTEND=noninteractive && apt-get update -qq >/dev/null 2>&1 && \
	    apt-get install -qq -y --no-install-recommends chromium >/dev/null 2>&1; } || \
	  echo "==> Left out: the tests of the studio in a browser, which is not installed here (apt-get install chromium, or set CHROME)"
	@touch $@

# The tests of Kafka start a broker of their own. Maven copies its jars, from wherever it is set up to find them.
$(VENV)/.kafka/found: tools/kafka/pom.xml | $(VENV)
	@mkdir -p $(VENV)/.kafka
	@{ command -v mvn >/dev/null && command -v java >/dev/null && echo "==> Copying Apache Kafka for the tests (54 MB, once)" && \
	   mvn -q -B -f tools/kafka/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(VENV)/.kafka/jars >/dev/null 2>&1; } || \
	  { rm -rf $(VENV)/.kafka/jars; echo "==> Left out: the tests on Kafka, which needs Java 17, Maven and its repository (apt-get install maven)"; }
	@touch $@

# Java's classes of Spark in an archive in the user's cache: a run on Spark then starts in two thirds of the time. Else the first
# run of a user makes it, beside those that follow. `make test` makes it while it does other things.
archive: $(VENV)/.archive

$(VENV)/.archive: $(STAMP)
	@echo "==> Making the archive of Java's classes (about a minute, once)"
	@$(BIN)/python -m tools.archive
	@touch $@

# The first import of a test rewrites its assertions for pytest, which keeps the result. Once here, not in each process at once.
$(VENV)/.collected: $(STAMP) | $(VENV)/.archive
	@$(BIN)/python -m pytest --collect-only -qq tests >/dev/null || true
	@touch $@

$(VENV)/.docs: $(STAMP)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[docs]'
	@touch $@

demo: $(STAMP) ## Simulate a short rush hour, make its history, show it
	@$(BIN)/python examples/demo.py

studio: $(STAMP) ## Simulate a city with accidents, run it live, open the studio on it
	@$(BIN)/python examples/studio.py

page: setup ## Build the studio's page from its sources (needs Node), and test its logic
	@$(BIN)/python -m tools.studio && cd studio && npm --silent test

peers: setup peers/flink/target/lib build/peers/kafka build/peers/python/bytewax build/peers/python/pyflink build/peers/python/redis ## Build the systems that Arterial is compared with (Flink needs Java 17 and Maven)

peers/flink/target/lib: peers/flink/pom.xml $(wildcard peers/flink/src/main/java/peers/*.java)
	@echo "==> Building peers/flink (80 MB from Maven's repository, once)"
	@mvn -q -B -f peers/flink/pom.xml compile dependency:copy-dependencies
	@touch $@

# The connectors of Flink and Spark for Kafka, which `python -m benchmarks jobs_delay` feeds them through.
build/peers/kafka: peers/jobs/pom.xml
	@echo "==> Copying the connectors for Kafka (20 MB, once)"
	@mvn -q -B -f $< dependency:copy -DoutputDirectory=$(CURDIR)/$@ || { rm -rf $@; exit 1; }
	@touch $@

# Environments of their own, since they may need other versions of the same packages.
build/peers/python/bytewax: PACKAGES := bytewax==0.21.1 confluent-kafka==2.16.1 polars
build/peers/python/pyflink: PACKAGES := apache-flink==2.3.0
build/peers/python/redis: PACKAGES := redis[hiredis]==6.4.0 polars
build/peers/python/bytewax build/peers/python/pyflink build/peers/python/redis:
	@echo "==> Installing $@ (once)"
	@$(PYTHON) -m venv $@
	@$@/bin/python -m pip install --quiet --disable-pip-version-check $(PACKAGES) || { rm -rf $@; exit 1; }

lint: setup ## Check style and format
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .

types: setup ## Check types
	@$(BIN)/mypy

layers: setup ## Check that imports point down the layers
	@$(BIN)/lint-imports --no-cache

check: setup ## For every edit: lint, import rules, types, doctests, quick tests without Spark
	@echo "==> Lint, import rules, types"; $(MAKE) --no-print-directory -j3 -Oline lint types layers
	@$(MAKE) --no-print-directory test-quick

# First what takes one core each: the doctests compile nearly all kernels, which the tests then find in numba's cache
# instead of compiling them in each process. Then the tests on Spark, then those without: either fill both cores, and at once they
# take a third more of the cores' time.
test: setup ## What CI runs: as `make check`, with the thorough tests and those on Spark
	@echo "==> Lint, import rules, types"
	@$(MAKE) --no-print-directory -j3 -Oline test-doc types archive $(VENV)/.collected lint layers
	@$(MAKE) --no-print-directory test-spark test-here
	@echo "==> All checks passed"

test-quick: setup ## The doctests and the quick tests without Spark
	@echo "==> Quick tests without Spark"; $(PYTEST) -n 2 -m 'not slow and not spark and not thorough' --doctest-modules src/arterial tests

test-doc: setup ## The doctests
	@echo "==> Doctests"; $(BIN)/python -m pytest --doctest-modules src/arterial

test-here: setup ## All tests without Spark
	@echo "==> Tests without Spark"; $(PYTEST) -n 3 -m 'not slow and not spark' tests

test-spark: setup archive ## The tests on Spark
	@test "$$(id -u)" = 0 && command -v ip >/dev/null && command -v unshare >/dev/null || \
	  echo "==> Left out: the tests on hosts of a cluster, which need root and iproute2"
	@echo "==> Tests on Spark"; $(PYTEST) -n 2 -m 'not slow and spark' tests

test-cluster: setup ## Runs on hosts with addresses and disks of their own (root, iproute2): lost workers, zombies, a driver that moves
	@$(BIN)/python -m pytest -m 'slow or not slow' -rs tests/cluster

test-kafka: setup archive ## The tests against a real Kafka, the long ones too
	@echo "==> Tests on Kafka"; $(BIN)/python -m pytest tests/connectors/kafka -m 'slow or not slow'

# HDFS, and Spark's client for S3; Maven copies the jars, from wherever it is set up to find them.
stores: $(VENV)/.hadoop/found ## Fetch what the tests of HDFS and S3 need

$(VENV)/.hadoop/found: tools/hadoop/pom.xml $(STAMP)
	@mkdir -p $(VENV)/.hadoop
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[stores]' || echo "==> Left out: moto's server and the client for HDFS"
	@{ command -v mvn >/dev/null && command -v java >/dev/null && echo "==> Copying Hadoop for the tests (126 MB, once)" && \
	   mvn -q -B -f tools/hadoop/pom.xml dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(VENV)/.hadoop/jars >/dev/null 2>&1; } || \
	  { rm -rf $(VENV)/.hadoop/jars; echo "==> Left out: the tests on HDFS, which need Java 17, Maven and its repository (apt-get install maven)"; }
	@touch $@

test-stores: setup stores archive ## The tests on HDFS and S3
	@echo "==> Tests on HDFS and S3"; $(BIN)/python -m pytest tests/storage/stores -m 'slow or not slow' -rs

test-slow: setup stores ## The suites that take minutes
	@$(BIN)/python -m pytest -m slow --hypothesis-profile=search

docs: $(VENV)/.docs ## Build the documentation site; a warning is an error
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet --site-dir build/site && echo "==> build/site/index.html"

test-all: test test-slow docs ## Everything
	@echo "==> Everything passed"

dist: $(STAMP) ## Build wheel and source archive; run a network from the installed wheel
	@$(BIN)/python -m tools.dist

bench: $(STAMP) ## Measure; print a table and write build/bench.json
	@$(BIN)/python -m benchmarks

clean: ## Remove what was built, keep .venv
	rm -rf build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
