# The verbs of the project. `make run` and `make test` set everything up first; nothing else is needed.
.DEFAULT_GOAL := help
EDITION ?= sample
PORT ?= 3000
PYTHON ?= python3.11
BIN := .venv/bin
SETUP := .venv/.complete
BENCH_SETUP := .venv-bench/.complete

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-12s %s\n", $$1, $$2}'

setup: $(SETUP) ## create .venv from the lock file and build the dbt manifest

$(SETUP): requirements.lock pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	DO_NOT_TRACK=1 $(BIN)/dbt parse --quiet --project-dir $(CURDIR)/dbt_project --profiles-dir dbt_project
	@touch $@

run: $(SETUP) ## materialise an edition and show the release (EDITION=sample)
	@$(BIN)/python -m pipelines run --edition '$(EDITION)'

dev: $(SETUP) ## start the Dagster UI and daemon on http://127.0.0.1 (PORT=3000)
	@$(BIN)/python -m pipelines dev --port '$(PORT)'

maintain: $(SETUP) ## delete old releases, runs and leftovers; what has landed stays
	@$(BIN)/python -m pipelines maintain

doctor: $(SETUP) ## check the installation, the warehouse and what a run needs
	@$(BIN)/python -m pipelines doctor

test: $(SETUP) ## run the tests
	@$(BIN)/pytest

# The two longest files come first, one for each process.
LONG_FAULTS := tests/faults/test_random_kills.py tests/faults/test_disk_use.py
OTHER_FAULTS := $(filter-out $(LONG_FAULTS),$(sort $(wildcard tests/faults/test_*.py)))
test-faults: $(SETUP) ## inject every fault, for long, and put its figures into docs/reliability.md
	@FAULTS_REPORT=docs/reliability.json $(BIN)/pytest -m 'faults or faults_full' \
	    $(LONG_FAULTS) $(OTHER_FAULTS) tests/integration/test_http_sources.py
	@$(BIN)/python docs/make_pages.py

lint: $(SETUP) ## ruff, sqlfluff, the type checker, the import contract, and the generated docs
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/sqlfluff lint --disable-progress-bar dbt_project/models dbt_project/tests
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python docs/make_pages.py --check

format: $(SETUP) ## format Python and SQL
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .
	@$(BIN)/sqlfluff fix --disable-progress-bar dbt_project/models dbt_project/tests

docs: $(SETUP) ## write the pages made from the dbt project
	@$(BIN)/python docs/make_pages.py

lock: $(SETUP) ## resolve the dependencies anew into requirements.lock
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    --group dev pyproject.toml --output-file requirements.lock
	$(BIN)/uv pip compile --quiet --python-version 3.11 --generate-hashes --no-header --no-annotate \
	    --group bench --constraint requirements.lock --output-file benchmarks/requirements.lock

bench: $(SETUP) $(BENCH_SETUP) ## compare with bare DuckDB, polars, pandas, dlt and plain dbt
	@$(BIN)/python -m benchmarks.run $(BENCH)

bench-large: $(SETUP) $(BENCH_SETUP) ## the same up to 1,000,000 papers; makes docs/performance.md
	@$(BIN)/python -m benchmarks.run --large --page $(BENCH)

$(BENCH_SETUP): benchmarks/requirements.lock
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes \
	    -r benchmarks/requirements.lock
	@touch $@

clean: ## remove .venv, caches and dbt's output; the warehouse and Dagster's history stay
	rm -rf .venv .venv-bench .hypothesis .pytest_cache .mypy_cache .ruff_cache dbt_project/target dbt_project/logs *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.PHONY: help setup run dev maintain doctor test test-faults lint format docs lock bench bench-large clean
