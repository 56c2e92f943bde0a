# What there is to do: `make help`. Everything runs in a virtual environment of its own, made on first use;
# BIN=<folder of an environment> uses one that exists instead.

PYTHON ?= $(firstword $(foreach p,python3 python3.14 python3.13 python3.12 python3.11 python,\
            $(if $(shell $(p) -c 'import sys; print(sys.version_info >= (3, 11) or "")' 2>/dev/null),$(p))))
PYENV ?= $(or $(PYENV_ROOT),$(HOME)/.pyenv)
# One interpreter of each minor version, on the path or of pyenv, whose shims run the selected version only.
MATRIX ?= $(foreach v,3.11 3.12 3.13 3.14,$(firstword $(foreach p,python$(v) $(wildcard $(PYENV)/versions/$(v).*/bin/python),\
            $(if $(shell $(p) -c 'import sys; print("%d.%d" % sys.version_info[:2] == "$(v)" or "")' 2>/dev/null),$(p)))))
VENV ?= .venv
REFERENCE ?= .venv-reference
BIN ?= $(VENV)/bin
OUT ?= build
# The tests of a file run in one process, so that what they share is made once. Files stay in order: at the end are the
# doctests, which are short, and processes end together.
PYTEST_FLAGS ?= -n auto --dist loadfile --no-loadscope-reorder
PYTEST_MARKS ?= not slow
FUZZ_SECONDS ?= 60
# Modules are compiled when they are first imported, which most of them never are.
PIP := -m pip install --quiet --disable-pip-version-check --no-compile
# The packages of extras: the package itself is installed already, and to build it again takes seconds.
PACKAGES_OF := import shlex, sys, tomllib; \
  extras = tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]; \
  print(shlex.join(package for name in sys.argv[1:] for package in extras[name]))
packages_of = $(BIN)/python -c '$(PACKAGES_OF)' $(1)
# The numbers in the last lines that pytest and lit print.
PYTEST_TOTAL := s/^=* ?([0-9]+ (passed|failed|errors?|skipped).*) in [0-9.]+s.*/\1/p
LIT_TOTALS := s/^ +(Passed|Failed|Unsupported|Skipped) *: *([0-9]+).*/ \2 \1/p

ifeq ($(origin BIN),file)
ENVIRONMENT := $(VENV)/bin/python
RUNTIME := $(VENV)/.runtime
DEV := $(VENV)/.dev
DOCS := $(VENV)/.docs
endif

INPUT := examples/transformer_train.mlir

.DEFAULT_GOAL := help
.PHONY: help demo test test-torch test-all test-references matrix release reference pytest filecheck check lint format types imports torch bench fuzz docs build clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(RUNTIME) ## propagate a transformer's train step, or INPUT=program.mlir, and show what was decided
	@mkdir -p $(OUT)
	@$(BIN)/python examples/demo.py $(INPUT) $(OUT)/$(basename $(notdir $(INPUT))).propagated.mlir

test: pytest filecheck ## run the tests, but for surveys and long comparisons

test-references: $(DEV) reference ## compare with the Shardy of another release of JAX, in a Python that has its jaxlib
	@if [ -x $(REFERENCE)/bin/python ]; then \
	  SHARDY_REFERENCE_PYTHON=$(REFERENCE)/bin/python $(BIN)/python -m pytest $(PYTEST_FLAGS) -m "other_release and not slow" \
	    $$(grep -rlE "\bprocess: ReferenceProcess" tests --include="test_*.py"); \
	fi

test-torch: torch ## install PyTorch, and run the tests that are skipped without it
	$(BIN)/python -m pytest $(PYTEST_FLAGS) -m "torch and not slow" $$(grep -rl "mark[.]torch" tests --include="test_*.py")

test-all: torch filecheck ## run all tests, the slow ones too, with PyTorch
	$(BIN)/python -m pytest $(PYTEST_FLAGS) -m ""

matrix: ## run the tests with each Python from 3.11 that is found, in environments of their own; a line each
	@mkdir -p $(OUT); for python in $(MATRIX); do \
	  version=$$($$python -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	  log=$(OUT)/matrix-$$version.log; \
	  if $(MAKE) --keep-going test PYTHON=$$python VENV=$(VENV)-$$version >$$log 2>&1; \
	  then outcome=passed; else outcome=FAILED; failed="$$failed $$version"; fi; \
	  echo "Python $$version: $$outcome: pytest $$(sed -nE '$(PYTEST_TOTAL)' $$log | tail -n 1)," \
	    "filecheck$$(sed -nE '$(LIT_TOTALS)' $$log | tr -d '\n' | tr A-Z a-z); $$log"; \
	done; [ -z "$$failed" ] || { echo "failed:$$failed" >&2; exit 1; }

release: $(DEV) ## build wheel and sdist, and test both installed, with the lowest and newest dependencies and each Python
	$(BIN)/python tools/release_check.py

pytest: $(DEV) ## run the Python tests and doctests
	$(BIN)/python -m pytest $(PYTEST_FLAGS) -m "$(PYTEST_MARKS)"

filecheck: $(DEV) ## run the tests of whole passes
	$(BIN)/shardy-serve $(BIN)/lit -v filecheck

check: lint types imports test ## everything a review needs

lint: $(DEV) ## check format and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: $(DEV) ## format, and mend what lint can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

types: $(DEV) ## check types, strictly
	$(BIN)/pyright --pythonpath $(BIN)/python

imports: $(DEV) ## check that imports point one way
	$(BIN)/lint-imports

reference: $(REFERENCE)/.made ## install the newest jaxlib for the newest Python that is found, if it is another one

$(REFERENCE)/.made: pyproject.toml | $(ENVIRONMENT)
	@if [ $(words $(MATRIX)) -lt 2 ]; then \
	  echo "one Python only: comparisons with other releases of JAX will be skipped"; \
	else \
	  $(lastword $(MATRIX)) -m venv $(REFERENCE) && \
	  $(call packages_of,reference) | xargs $(REFERENCE)/bin/python $(PIP) && touch $@ || \
	  { echo "jaxlib cannot be installed for $(lastword $(MATRIX)): comparisons with it will be skipped"; rm -rf $(REFERENCE); }; \
	fi

torch: $(DEV) ## install PyTorch, for the tests of its adaptor
	@$(call packages_of,torch-tests) | xargs $(BIN)/python $(PIP)

bench: $(DEV) ## time the pipeline beside the C++ reference
	$(BIN)/python benchmarks/pipeline.py

fuzz: $(DEV) ## feed damaged inputs to every reader for a minute
	$(BIN)/python -m tests.fuzz.run mlir interpret hlo layout sharding hlo-sharding hlo-proto options arguments baseline bytecode \
	  hlo-program hlo-compiled hlo-module inputs saved arrays hardware sizes problems locations \
	  --count 1000000 --seconds $(FUZZ_SECONDS)

docs: $(DOCS) ## write the generated pages, and the site into docs/_build/html
	$(BIN)/python docs/generate.py
	$(BIN)/python docs/declarations.py
	$(BIN)/python -m sphinx -q -W --keep-going -E -b html docs docs/_build/html
	@echo "docs/_build/html/index.html"

build: $(DEV) ## build wheel and sdist into dist/
	$(BIN)/python -m build --no-isolation

clean: ## remove what was made, the environment included
	rm -rf $(VENV) build dist docs/_build .pytest_cache .ruff_cache .hypothesis

$(VENV)/bin/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed; none was found. PYTHON=/path/to/python names one." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.runtime: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python $(PIP) --editable .
	@touch $@

$(VENV)/.docs: pyproject.toml $(VENV)/.runtime
	$(BIN)/python $(PIP) --editable '.[docs]'
	@touch $@

# JAX has no wheel for every machine; without it the tests against it and the C++ Shardy in it are skipped.
$(VENV)/.dev: pyproject.toml $(VENV)/.runtime
	@$(call packages_of,dev) | xargs $(BIN)/python $(PIP)
	@$(call packages_of,reference jax) | xargs $(BIN)/python $(PIP) \
	  || echo "JAX cannot be installed here: tests against it and the C++ Shardy will be skipped"
	@$(call packages_of,docs) | xargs $(BIN)/python $(PIP) \
	  || echo "Sphinx cannot be installed here: the test that builds the site will be skipped"
	@touch $@
