# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet -c requirements.lock

run: .venv/run          ## install what is needed and open the app on the bundled models
	$(BIN)/streamlit run app.py

TESTS = $(BIN)/python -m pytest -n 3 --dist loadfile  # the browser mostly waits: a third process computes meanwhile

test: .venv/dev         ## what a change must pass before it lands, ten minutes; the browser's tests need Chromium
	$(TESTS) --rows first

test-rest: .venv/dev    ## what else there is: every row of every product of views, options, models, files
	$(TESTS) --rows rest

test-all: .venv/dev     ## both
	$(TESTS)

test-quick: .venv/dev   ## the tests that name what differs from HEAD, or from SINCE=main, without the browser's
	$(BIN)/python -m tests.touched $(SINCE) | xargs -d '\n' $(BIN)/python -m pytest -n 2 --dist load -q

docs: .venv/dev         ## the reference from the docstrings, at http://127.0.0.1:8600
	PYTHONPATH=. $(BIN)/python docs/reference.py .docs
	$(BIN)/python -m http.server 8600 --bind 127.0.0.1 --directory .docs

check: .venv/dev        ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

extras: .venv/dev       ## the package in an empty environment, step by step: does each extra bring what it promises?
	$(BIN)/python -m benchmarks.testing.extras

bench: .venv/dev        ## the figures of docs/measured.md, measured here
	$(BIN)/python -m benchmarks

gpu: .venv/dev          ## on a machine with a GPU: its tests, proofs and ratios, into docs/gpu.md
	$(BIN)/python -m benchmarks gpu $(GPU)

lock:                   ## requirements.lock anew, with today's versions: test them before you commit it
	$(PYTHON) -m venv --clear .venv-lock
	.venv-lock/bin/pip install --quiet -r requirements-dev.txt
	.venv-lock/bin/pip freeze --all --exclude pip > .venv-lock/installed
	sed '/^[^#]/d' requirements.lock > .venv-lock/lock
	sed -E '/^(nvidia-|cuda-|triton==)/d; s/\+[a-z0-9.]+$$//' .venv-lock/installed >> .venv-lock/lock
	mv .venv-lock/lock requirements.lock

matrix:                 ## the tests with the oldest and the newest versions that the ranges admit, into docs/matrix.md
	$(PYTHON) -m benchmarks.testing.matrix $(MATRIX)

.venv/run: requirements.txt requirements.lock
	$(PYTHON) -m venv .venv
	$(PIP) -r requirements.txt
	@touch $@

.venv/dev: requirements.txt requirements-dev.txt requirements.lock
	$(PYTHON) -m venv .venv
	$(PIP) -r requirements-dev.txt
	@touch $@ .venv/run

.PHONY: run test test-rest test-all test-quick docs check extras bench gpu lock matrix
