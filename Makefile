# Needs Python 3.11 or newer and make; everything else goes into .venv.
#   make run    serve the dashboard on http://localhost:8501 (PORT=9000 for another port)
#   make test   lint and all tests, with a real browser; installs what it needs
#   make bench  print timings
SHELL := /bin/bash
PYTHON ?= python3
PORT ?= 8501

VENV := .venv
PY := $(VENV)/bin/python
RUN_READY := $(VENV)/.run-ready
TEST_READY := $(VENV)/.test-ready
PLOTLY_JS := static/plotly.min.js
# A process per core, each with a contiguous share of the tests, so that servers and browsers start once in each.
SPREAD := --numprocesses auto --maxprocesses 4 --dist worksteal

export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_ROOT_USER_ACTION := ignore
export PYTHONPATH := $(CURDIR)

.DEFAULT_GOAL := run
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: run test lint bench clean

run: $(RUN_READY) | $(PLOTLY_JS)
	@exec $(PY) -m streamlit run app.py --server.port $(PORT)

# Lint and tests both run, so that one report shows everything; either failure fails the target.
test: $(TEST_READY) | $(PLOTLY_JS)
	@chromium="$$($(PY) tests/browser/chromium.py --install)" || exit 1; \
	status=0; \
	$(PY) -m ruff check --output-format concise . || status=1; \
	CHROMIUM="$$chromium" $(PY) -m pytest $(SPREAD) || status=1; \
	exit $$status

lint: $(TEST_READY)
	@$(PY) -m ruff check --output-format concise .

bench: $(TEST_READY) | $(PLOTLY_JS)
	@status=0; \
	for script in tests/bench/*.py; do \
		case "$$script" in */__init__.py | */conftest.py | *'*'*) continue ;; esac; \
		echo "== $$script"; \
		$(PY) "$$script" || status=1; \
	done; \
	exit $$status

clean:
	rm -rf $(VENV) $(PLOTLY_JS) tests/artifacts .pytest_cache .ruff_cache .hypothesis

# bin/python links to the interpreter that made it: when that one is removed the link dangles and this rule runs again.
$(PY):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
		echo "fastmode needs Python 3.11 or newer; '$(PYTHON)' is $$($(PYTHON) --version 2>&1 || true)." >&2; \
		echo "Name another one like this: make $(or $(MAKECMDGOALS),run) PYTHON=python3.12" >&2; exit 1; }
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "Could not create $(VENV). On Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

# The stamps are newer than the requirements they stand for; a changed requirements file installs again. The browser loads
# Plotly from our own server, never from elsewhere: the script comes with the installed package.
$(RUN_READY): requirements.txt | $(PY)
	@echo "Installing requirements.txt into $(VENV)" >&2
	@$(PY) -m pip install --quiet --no-input -r requirements.txt
	@$(PY) -m fastmode.ui.plotly_bundle
	@touch $@

$(TEST_READY): tests/requirements.txt $(RUN_READY)
	@echo "Installing tests/requirements.txt into $(VENV)" >&2
	@$(PY) -m pip install --quiet --no-input -r tests/requirements.txt
	@touch $@

$(PLOTLY_JS): | $(RUN_READY)
	@$(PY) -m fastmode.ui.plotly_bundle
