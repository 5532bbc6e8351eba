# Everything runs in .venv, which each target makes when it is missing.
#   make demo    install (if needed) and run the whole chain on examples/tiny
#   make test    install the test extra (if needed) and run the tests
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
SHELL := /bin/bash

.PHONY: help install demo smoke test soak lint types format docs clean

help:
	@sed -n 's/^#   //p' Makefile; echo "also: smoke soak lint docs clean"

# A stamp for each set of extras: pip runs again only when pyproject.toml changed.
$(VENV)/.demo: pyproject.toml
	@command -v $(PYTHON) >/dev/null || { echo "mspt needs Python 3.11: set PYTHON=/path/to/python3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing mspt into $(VENV) (mindspore is an 800 MB package: a few minutes)"
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[demo]'
	@touch $@

$(VENV)/.test: $(VENV)/.demo
	$(BIN)/python -m pip install --quiet --editable '.[demo,test]'
	@touch $@

$(VENV)/.dev: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --editable '.[demo,test,dev]'
	@touch $@

install: $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/python examples/tiny/demo.py

smoke: $(VENV)/.demo
	$(BIN)/python examples/tiny/demo.py --size smoke

test: $(VENV)/.test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --durations=10

soak: $(VENV)/.test
	$(BIN)/python -m pytest -q -n 2 --dist loadfile -m soak

# mypy and other tools see the sources as mspt.core, mspt.cli, mspt.stages through links.
types:
	@mkdir -p build/types/mspt && for part in core cli stages; do ln -sfn ../../../$$part build/types/mspt/$$part; done

lint: $(VENV)/.dev types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	cd build/types && ../../$(BIN)/python -m mypy --config-file ../../pyproject.toml -p mspt.core -p mspt.cli -p mspt.stages

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.demo
	$(BIN)/python docs/generate.py

clean:
	rm -rf build work examples/*/work examples/*/raw
