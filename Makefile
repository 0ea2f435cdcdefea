# Every target needs Python 3.11 or later, make and a shell, and installs everything else into .venv.
.SUFFIXES:
.DEFAULT_GOAL = help
.PHONY: help run dev manage docs test soak drill lint format messages screenshots lock bench clean

VENV = .venv
python = $(VENV)/bin/python
# Arguments of the command, for example: make test ARGS="tests/config -k restart", make lock ARGS=--upgrade
ARGS =
# Settings like those of production, for `manage.py check --deploy`. Nothing connects to these addresses.
production = SECRET_KEY=lint-0123456789-abcdefghijklmnopqrstuvwxyz-ABCDEFGHIJKLMNOPQRSTUVWXYZ BASE_DOMAIN=example.com \
	DATABASE_URL=postgresql://lint@127.0.0.1:1/lint EMAIL_URL=smtp://127.0.0.1:1 TRUST_PROXY=forwarded FILES_DIR=/files
# Functions of Django whose arguments are messages, besides those that Babel knows.
keywords = gettext_lazy gettext_noop ngettext_lazy:1,2 pgettext_lazy:1c,2 npgettext_lazy:1c,2,3
# As a module, so that it finds the extractors of babel.cfg.
pybabel = $(python) -m babel.messages.frontend
compile = $(python) -m uv pip compile -q --universal --generate-hashes --no-emit-index-url --no-annotate --no-header \
	--python-version 3.11 $(ARGS)

# Create .venv again if its Python is missing or its creation was interrupted.
broken := $(shell $(python) -c '' 2>/dev/null || rm -f $(VENV)/made $(VENV)/local $(VENV)/development)

help:
	@echo 'make run      start the service and an embedded PostgreSQL on http://localhost:8000 (PORT, DATA_DIR, ...)'
	@echo 'make dev      the same for changing the code: it reloads, and shows the traceback of an error'
	@echo 'make manage   run a management command on the data of make run (ARGS="create_account acme ...")'
	@echo 'make test     run the tests that each change needs, in parallel (ARGS=... goes to pytest)'
	@echo 'make soak     run the tests that are long by nature: kills, restarts, histories, the benchmark, a plain sample'
	@echo 'make drill    kill parts of an installation with three PostgreSQL under Patroni (needs etcd-server, haproxy)'
	@echo 'make docs     write answers, the schema and the imports into README.md and docs/, where make test compares them'
	@echo 'make lint     check style, types, templates, imports, migrations and production settings'
	@echo 'make format   format the code as make lint expects it'
	@echo 'make messages update the Polish catalogue from code and templates, and compile it'
	@echo 'make screenshots  create the images in docs/images (needs Chromium)'
	@echo 'make bench    compare the speed with bare views of the same SQL (CASE=... for one; needs wrk)'
	@echo 'make lock     compile pyproject.toml to requirements/ (ARGS=--upgrade for newer versions)'
	@echo 'make clean    remove .venv and caches, but not the data in .data'

run: $(VENV)/local
	@exec $(python) -m config.local

dev: $(VENV)/local
	@exec $(python) -m config.local --dev

manage: $(VENV)/local
	@exec $(python) -m config.local.manage $(ARGS)

pytest = $(python) -m pytest --numprocesses=logical --dist=worksteal

test: $(VENV)/development
	@exec $(pytest) -m 'not soak' $(ARGS)

soak: $(VENV)/development
	@$(pytest) -m soak $(ARGS)
	@$(if $(ARGS),,PLAIN=on $(pytest) -m 'not soak' --sample 500)

drill: $(VENV)/development
	@exec $(python) -m drill.run $(ARGS)

docs: $(VENV)/development
	@UPDATE_DOCS=1 exec $(python) -m pytest --quiet --numprocesses=0 tests/test_migrations.py tests/test_documents.py tests/test_design.py tests/test_routes.py tests/webhooks/test_guide.py $(ARGS)

lint: $(VENV)/development
	$(python) -m ruff check
	$(python) -m ruff format --check
	$(VENV)/bin/djlint --lint --quiet accounts core forum webhooks team
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(production) $(python) -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(production) $(python) manage.py check --deploy --fail-level WARNING

bench: $(VENV)/local
	@exec $(python) -m bench.run $(if $(CASE),--case '$(CASE)') $(ARGS)

format: $(VENV)/development
	$(python) -m ruff check --fix
	$(python) -m ruff format

messages: $(VENV)/development
	@mkdir -p .cache
	$(pybabel) --quiet extract --mapping=babel.cfg --keywords='$(keywords)' --add-comments=Translators: --add-location=file --sort-output \
	  --no-wrap --output=.cache/django.pot .
	$(pybabel) update --no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date --no-wrap --domain=django --locale=pl \
	  --input-file=.cache/django.pot --output-dir=locale
	$(pybabel) compile --statistics --domain=django --directory=locale

screenshots: $(VENV)/development
	@exec $(python) -m tests.browser.screenshots $(ARGS)

lock: $(VENV)/made
	@$(python) -m pip install -qq --disable-pip-version-check uv
	$(compile) pyproject.toml -o requirements/production.txt
	$(compile) --extra local pyproject.toml -o requirements/local.txt
	$(compile) --extra development pyproject.toml -o requirements/development.txt
	@echo 'patroni[etcd3,psycopg3]' | $(compile) - -o requirements/drill.txt

clean:
	rm -rf $(VENV) .cache .pytest_cache .hypothesis .ruff_cache .mypy_cache .import_linter_cache
	find . -name __pycache__ -type d -not -path './.data/*' -prune -exec rm -rf {} +

# Use the first Python that is new enough and can create virtual environments; PYTHON=... selects another.
$(VENV)/made:
	@for candidate in $${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11 python}; do \
	  "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue; \
	  suitable=$$candidate; \
	  "$$candidate" -c 'import ensurepip, venv' 2>/dev/null || continue; \
	  echo "Creating $(VENV) with $$("$$candidate" --version)"; \
	  "$$candidate" -m venv --clear $(VENV) && touch $@; exit; \
	done; \
	if [ -n "$$suitable" ]; then \
	  echo "$$suitable cannot create virtual environments: install its venv module (on Debian and Ubuntu:" \
	    "apt-get install python3-venv), or name another Python with PYTHON=..." >&2; \
	else \
	  echo "Python 3.11 or later is needed$${PYTHON:+, and $$PYTHON is not}: install it, or name it with" \
	    "PYTHON=/path/to/python3" >&2; \
	fi; exit 1

install = $(python) -m pip install -qq --disable-pip-version-check --require-hashes

$(VENV)/local: $(VENV)/made requirements/local.txt
	@echo 'Installing the locked requirements (requirements/local.txt)'
	@$(install) -r requirements/local.txt
	@touch $@

# These include the local requirements, so `make run` after `make test` installs nothing.
$(VENV)/development: $(VENV)/made requirements/development.txt
	@echo 'Installing the locked requirements (requirements/development.txt)'
	@$(install) -r requirements/development.txt
	@touch $@ $(VENV)/local
