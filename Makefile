# Two commands do everything on a fresh machine: `make run` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/pip install --quiet

run: .venv/run          ## install what is needed and open the app on the bundled models
	$(BIN)/streamlit run app.py

test: .venv/dev         ## all tests; the browser ones need Chromium
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: .venv/dev        ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright

bench: .venv/dev        ## the figures of README, measured here
	$(BIN)/python -m benchmarks

.venv/run: requirements.txt
	$(PYTHON) -m venv .venv
	$(PIP) -r requirements.txt
	@touch $@

.venv/dev: requirements.txt requirements-dev.txt
	$(PYTHON) -m venv .venv
	$(PIP) -r requirements-dev.txt
	@touch $@ .venv/run

.PHONY: run test check bench
