# Two commands matter: `make demo` shows the main job, `make test` proves the project. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test torture bench check clean

demo: $(READY)
	@$(BIN)/python docs/demo.py

test: $(READY) check
	$(BIN)/python -m pytest

# The same tests with the full numbers: hundreds of kills, a million fuzz queries, eight writers.
torture: $(READY)
	MEMORIST_TORTURE=1 $(BIN)/python -m pytest tests/faults tests/contract tests/acceptance tests/trust

bench: $(READY)
	$(BIN)/memorist bench

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(READY): pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(READY)

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
