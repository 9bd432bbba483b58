# Everything by one word. `make` alone lists the words.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := .venv/bin
INSTALL := @scripts/python scripts/install.py
MODEL ?=
PORT ?= 8000
ARGS ?=
JOBS ?= $(shell expr `getconf _NPROCESSORS_ONLN` + 1)
export PYTHON
unexport PYTHONDONTWRITEBYTECODE  # compiling everything anew makes each process start two seconds later

.PHONY: help demo test install check format chaos bench serve lock docs clean

help: ## list these words
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## evaluate a real model on real benchmark rows (MODEL=model@provider, PORT=8000, CI=true to end after it)
	$(INSTALL) demo
	@$(BIN)/python -m demo --port "$(PORT)" $(if $(MODEL),--model "$(MODEL)")

test: ## run every test but the longest, in four processes at most (ARGS="tests/runs -k stream", ARGS="-m long", JOBS=0)
	$(INSTALL) dev
	@$(BIN)/pytest -n $(JOBS) --maxprocesses 4 --dist loadfile $(ARGS)

install: ## set up the environment for development
	$(INSTALL) dev

serve: ## run the server from this clone (ARGS="--port 9000 --workers 2")
	$(INSTALL) server
	@$(BIN)/python manage.py serve $(ARGS)

check: ## lint, format, types, import contracts, migrations, locks
	$(INSTALL) dev
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python scripts/check.py

format: ## format the code
	$(INSTALL) dev
	@$(BIN)/ruff check --fix-only -q . && $(BIN)/ruff format -q .

chaos: ## kill every process at every fault point, all seeds
	$(INSTALL) dev
	@$(BIN)/pytest -m chaos $(ARGS)

bench: ## measure speed against the peers (see benchmarks/README.md)
	$(INSTALL) dev
	@$(BIN)/python -m benchmarks $(ARGS)

lock: ## pin the newest allowed packages by hash into requirements/*.lock
	$(INSTALL) dev
	@$(BIN)/python scripts/lock.py

docs: ## write the generated pages of docs/
	$(INSTALL) dev
	@$(BIN)/python scripts/document.py

clean: ## remove what was installed and made here (.venv, .data, caches)
	rm -rf .venv .venv-egress .data staticfiles build .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
