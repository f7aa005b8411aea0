# Each target sets up what it needs in .venv: Python ≥ 3.11, make and git are all that a machine must have.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
PEERS := .peers/.installed
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BPD_DATA_DIR ?= data
export BPD_DATA_DIR
# One thread a job: small models gain nothing from more, and the jobs run side by side.
export OMP_NUM_THREADS ?= 1

.DEFAULT_GOAL := help
.PHONY: help install smoke mini test test-cluster test-kill bench docs lint lock clean

help:  ## Show this help.
	@grep -hE '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+): .*## /  make \1\t/' | expand -t 22

$(INSTALLED): $(filter-out requirements-bench.lock,$(wildcard requirements*.lock)) pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, but $(PYTHON) is " + sys.version.split()[0] + "; name another with: make PYTHON=python3.11 …")'
	@echo "Installing the locked packages into $(VENV) (some minutes)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
# Of two builds of PyTorch, pip prefers the one whose hash its index lists: the one without CUDA has to be asked for first.
	@test -d /proc/driver/nvidia/gpus || $(INSTALL) --require-hashes --no-deps -r requirements-cpu.lock >/dev/null 2>&1 || \
		echo "pip is offered no PyTorch without CUDA for this Python: taking the general one"
	@$(INSTALL) --require-hashes --no-deps -r requirements.lock
	@if $(BIN)/python workflow/scripts/cuda_libraries_wanted.py; then \
		echo "Installing the CUDA libraries that this PyTorch needs (several GB)"; \
		$(INSTALL) --require-hashes --no-deps -r requirements-cuda.lock; fi
	@$(INSTALL) --no-deps --no-build-isolation -e .
	@touch $@

install: $(INSTALLED)  ## Create .venv with the locked packages.

smoke: $(INSTALLED)  ## Run the whole workflow on generated data, in minutes, and print its tables.
	@$(BIN)/snakemake --cores all --quiet host reason
	@$(BIN)/snakemake --report results/smoke/report.html --quiet all
	@$(BIN)/bpd show results/smoke paper_figures/smoke

mini: $(INSTALLED)  ## Run the workflow on Multi30k and LFW: hours on two cores. Resumes where it was stopped.
	@$(BIN)/snakemake --cores all --configfile config/mini.yaml
	@$(BIN)/snakemake --report results/mini/report.html --quiet all --configfile config/mini.yaml
	@$(BIN)/bpd pack results/mini
	@$(BIN)/bpd show results/mini paper_figures/mini

test: $(INSTALLED)  ## Run the tests.
	@$(BIN)/python -m pytest -n 2 --dist loadgroup -q

test-cluster: $(INSTALLED)  ## Run the tests that need Slurm, on a cluster of one node made for them (as root).
	@trap tests/cluster/stop EXIT; trap 'exit 130' INT TERM; \
		tests/cluster/start && BPD_TEST_CLUSTER=1 $(BIN)/python -m pytest -n 4 --dist worksteal -q \
		$(addprefix tests/cluster/test_,whole_run.py recovery.py jobs.py)

# Apart from .venv, so that what is compared with cannot change what is compared. Without it, those parts are skipped.
test-kill: smoke  ## Kill 20 smoke runs at random, each of which must end as the undisturbed one; ROUNDS=3: fewer.
	@$(BIN)/python -m tests.workflow.kills --expected results/smoke --folder results/kills --rounds $(or $(ROUNDS),20)

$(PEERS): requirements-bench.lock $(INSTALLED)
	@rm -rf .peers && mkdir .peers
	@if $(INSTALL) --require-hashes --no-deps --target .peers -r requirements-bench.lock; then touch $@; \
		else echo "The peers could not be installed: nothing is compared with them"; fi

bench: $(INSTALLED) $(PEERS)  ## Measure speed and memory, beside transformers and CTranslate2; ARGUMENTS=--quick for a look.
	@$(BIN)/python -m bench $(ARGUMENTS)

docs: $(INSTALLED)  ## Build the documentation into site/, to be opened without a network.
	@$(BIN)/python workflow/scripts/write_readme_scorecard.py
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo "site/index.html"

lint: $(INSTALLED)  ## Check style: ruff, snakefmt and snakemake's own linter.
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/snakefmt --check workflow
	@$(BIN)/snakemake --lint

lock: $(INSTALLED)  ## Write the lock files anew after a change in pyproject.toml.
	@$(INSTALL) uv
	@PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python workflow/scripts/write_locks.py

clean:  ## Remove the smoke scale's products; trained models of other scales stay.
	@rm -rf results/smoke paper_figures/smoke
