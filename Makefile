# Everything is set up from nothing: Python >= 3.11 with pip, and make.
PYTHON ?= python3
BIN := .venv/bin
# PostgreSQL never runs as root; for root (a container, say) the embedded server runs as `nobody`.
ifeq ($(shell id -u),0)
export THRESHER_ALLOW_ROOT := 1
endif

# Tests start hundreds of processes: each would compile all modules where bytecode is not kept.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test console screenshots quick near check format lint types contracts coverage bench fuzz vectors lock clean

demo: .venv/.demo
	$(BIN)/thresher demo

test: console
	$(BIN)/pytest -n 2 --dist loadfile

# The console's scripts, bundled from frontend/ if something changed there; without them its pages are plain.
console: .venv/.dev
	@$(BIN)/python -m scripts.build_console

# Pictures of every page, light and dark, into build/screenshots; those that the docs show are written anew there too.
screenshots: console
	THRESHER_WRITE_SCREENSHOTS=1 $(BIN)/pytest tests/browser/test_screens.py

# Tests that need no database and start no process: after every change.
quick: .venv/.dev
	$(BIN)/pytest -n 2 --dist loadfile -m "not database and not process"

# Tests of what changed since the last commit (or BASE), and of what imports it.
near: console
	$(BIN)/python -m scripts.near $(BASE)

check: .venv/.dev lint types contracts coverage

format: .venv/.dev
	$(BIN)/ruff check --fix-only --quiet src tests benchmarks scripts training
	$(BIN)/ruff format src tests benchmarks scripts training

# The same suite, and at least 90 % of the lines and branches run: tracing them takes as long again.
coverage: console
	$(BIN)/pytest -n 2 --dist loadfile --cov --cov-report=

lint: .venv/.dev
	$(BIN)/ruff format --check src tests benchmarks scripts training
	$(BIN)/ruff check src tests benchmarks scripts training
	$(BIN)/deptry --no-ansi src

types: .venv/.dev
	$(BIN)/basedpyright

contracts: .venv/.dev
	$(BIN)/lint-imports

bench: .venv/.dev
	$(BIN)/python -m benchmarks

# A hundred thousand statements at random, other ones each time: the guard's verdicts against the engines'.
fuzz: .venv/.dev
	FUZZ_ROUNDS=2500 $(BIN)/pytest -q --no-cov --timeout 1800 tests/hostile_sql/test_fuzz.py

# The vectors of the built-in packs' lines, which ship with the product; needed after a change of these lines.
vectors: .venv/.dev
	$(BIN)/python scripts/ship_vectors.py
	$(BIN)/python -m scripts.ship_api_words
	$(BIN)/python -m scripts.ship_classifier
	$(BIN)/python -m scripts.ship_small_talk

# The lock files: every distribution of every platform by its SHA-256, no index named. The encoder is a folder here.
lock: .venv/.dev
	$(BIN)/uv pip compile pyproject.toml --extra demo --group build --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --quiet --no-emit-package thresher-encoder -o requirements.lock
	$(BIN)/uv pip compile pyproject.toml --extra demo --extra bge --extra code --group build --group dev --universal \
		--python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --no-emit-package thresher-encoder \
		-c requirements.lock -o requirements-dev.lock

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Thresher needs Python >= 3.11: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 2; }
	$(PYTHON) -m venv .venv

.venv/.demo: requirements.lock pyproject.toml encoder/pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e encoder -e .
	@touch $@

.venv/.dev: requirements-dev.lock pyproject.toml encoder/pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements-dev.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e encoder -e .
	@touch $@ .venv/.demo

clean:
	rm -rf .venv .pytest_cache .ruff_cache .coverage* build dist frontend/node_modules src/thresher/console/static/built
