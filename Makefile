# Every target finds its tools in .venv, which is made once and again only when
# pyproject.toml or constraints.txt changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# For the build backend's own environment too: older pips read the first there,
# newer ones the second. Relative, because pip splits these at spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test check bench docs format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP)  ## Put gradledger and its tools into .venv (every other target does, too)

demo: $(STAMP)  ## Take the tour
	@$(BIN)/gradledger demo

test: $(STAMP)  ## Run the tests; PYTEST_ARGS="-k cell" picks some
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

check: $(STAMP)  ## Format, lint, types, layers, and generated pages up to date
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m gradledger.rules.pages --check docs/rules

bench: $(STAMP)  ## Measure what gradledger costs and saves
	$(BIN)/python benchmarks/run.py

docs: $(STAMP)  ## Write docs/rules from the rules
	$(BIN)/python -m gradledger.rules.pages docs/rules

format: $(STAMP)  ## Format the code, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:  ## Remove .venv, caches and build products
	rm -rf $(VENV) build dist src/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is the last thing written: an install that fails or is interrupted is done again.
$(STAMP): pyproject.toml constraints.txt
	@rm -f $@
	@echo "Installing gradledger and its tools into $(VENV) (a minute or so, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[torch,dev]'
	@touch $@
