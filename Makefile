# The commands of a developer.  Each makes .venv and installs on first use.

# The distribution's Python, if it will do: one of pyenv, for example, is a shared library that was linked without
# optimization across files, and answers about a tenth fewer reads.
PYTHON ?= $(shell /usr/bin/python3 -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' \
	2>/dev/null && echo /usr/bin/python3 || echo python3)
VENV := .venv
BIN := $(VENV)/bin
RUNNABLE := $(VENV)/.runnable
READY := $(VENV)/.installed
DOCUMENTED := $(VENV)/.documented
RELEASED := $(VENV)/.released
SPARKED := $(VENV)/.spark
JAVA := $(shell command -v java 2>/dev/null)
# What is installed, and what builds it, is that of constraints.txt; older versions of pip know the first variable only.
PINNED := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt
# "compat": the default editable install hides the plugin from twistd.
INSTALL = $(PINNED) $(BIN)/python .ci/logged.py $(VENV)/install.log 'Collecting|Installing collected' \
	$(BIN)/python -m pip install --disable-pip-version-check --config-settings editable_mode=compat --editable

.PHONY: help run test check doors chaos fuzz simulate mutate bench floors constraints audit docs pictures news dist clean pipeline

help:
	@echo "make run [FILE=path]  write a file to a bookie, kill it, restart it, read the file back"
	@echo "make pipeline [DIRECTORY=path]  a real corpus in ledgers, on Spark: read, query, follow, check, export"
	@echo "make test             run all tests"
	@echo "make check            ruff, mypy, architecture"
	@echo "make doors            write the asyncio and the blocking client from Twisted's"
	@echo "make chaos [BOOKIES=3] [SECONDS=120] [SEED=1]"
	@echo "                      kill and pause bookies under load, then compare every entry"
	@echo "make chaos AUTORECOVERY=1 [ROUNDS=200]"
	@echo "                      lose bookies for good, kill autorecovery meanwhile, then look at every replica"
	@echo "make fuzz [OPERATIONS=n] [SEED=k]  send a bookie odd and broken requests, compare what it acknowledged"
	@echo "make fuzz SECURED=1   the same of a bookie with TLS and SASL, and damaged handshakes and tokens"
	@echo "make simulate [SEEDS=n] [FROM=k]  run simulated clusters, one for each seed"
	@echo "make mutate [ROOM=...] plant defects in a copy of the source, see that the tests notice them"
	@echo "make bench [NAME=...] measure; python -m benchmarks lists the names"
	@echo "make floors           test with the oldest and the newest versions of what it needs"
	@echo "make constraints      write constraints.txt: the newest versions of what CI installs"
	@echo "make audit            look the versions of constraints.txt up among known vulnerabilities"
	@echo "make docs             build docs/_build/html"
	@echo "make pictures         take the pictures of the console in the guides, with Chromium"
	@echo "make news VERSION=x.y.z  gather newsfragments into NEWS.rst"
	@echo "make dist             build the source distribution, the wheel and its bill of materials into dist"
	@echo "make clean            remove what the others made"

# What a run needs: the package and progress bars.
$(RUNNABLE): setup.cfg pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "python3 is missing: apt install python3 python3-venv"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$$($(PYTHON) --version) is too old: install Python 3.11 or later and run make PYTHON=python3.11"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "venv is missing: apt install python3-venv"; exit 1; }
	@echo "set-up, once: bookkeeper-twisted and what it needs, in $(VENV)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(INSTALL) '.[tools]'
	@touch $@

$(READY): $(RUNNABLE)
	@echo "set-up, once: the tools of a developer, in $(VENV), about a minute"
	@$(INSTALL) '.[dev]'
	@touch $@

# Spark is installed for those who use it: make run stays quick.
$(SPARKED): $(READY)
	@echo "set-up, once: PySpark, 400 MB, in $(VENV)"
	@if $(INSTALL) '.[spark]'; then touch $@; \
		else echo "PySpark cannot be installed: what needs it is skipped"; fi

run: $(RUNNABLE)
	@$(BIN)/python examples/roundtrip.py $(if $(FILE),"$(FILE)")

pipeline:
	@test -n "$(JAVA)$(JAVA_HOME)" || \
		{ echo "Java is missing: Spark needs Java 17 or later (apt install openjdk-17-jre-headless)"; exit 1; }
	@$(MAKE) -s --no-print-directory $(READY) $(SPARKED)
	@$(BIN)/python examples/spark_pipeline.py $(DIRECTORY)

test: $(READY) $(if $(JAVA),$(SPARKED))
	@$(BIN)/python -W error -m tests

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/mypy bookkeeper_twisted tests benchmarks
	$(BIN)/python -W error -m tests tests.test_architecture

doors: $(READY)
	@$(BIN)/python -m tests.doors

chaos: $(READY)
	@$(BIN)/python -W error -m tests.chaos --bookies $(or $(BOOKIES),3) --seconds $(or $(SECONDS),120) --seed $(or $(SEED),1) \
		$(if $(AUTORECOVERY),--autorecovery $(or $(ROUNDS),200))

fuzz: $(READY)
	@$(BIN)/python -W error -m tests.fuzz --operations $(or $(OPERATIONS),3000) --seed $(or $(SEED),1) $(if $(SECURED),--secured)

simulate: $(READY)
	@$(BIN)/python -m tests.simulation --seeds $(or $(SEEDS),100) --from $(or $(FROM),1)

mutate: $(READY) $(if $(JAVA),$(SPARKED))
	@$(BIN)/python -m tests.mutation $(if $(ROOM),--room $(ROOM))

bench: $(READY)
	@$(BIN)/python -m benchmarks $(or $(NAME),check)

floors: $(READY)
	@$(BIN)/python -m tests.floors

constraints: $(READY)
	@echo "asking the package index for the newest versions, half a minute"
	@$(BIN)/python -m tests.floors --pin

$(RELEASED): $(RUNNABLE)
	@echo "set-up, once: the tools of a release, in $(VENV)"
	@$(INSTALL) '.[release]'
	@touch $@

audit: $(RELEASED)
	@$(BIN)/python .ci/audit.py $(BIN)/python -m pip_audit --no-deps --disable-pip --requirement constraints.txt \
		--format json --progress-spinner off --timeout 10

$(DOCUMENTED): $(READY)
	@echo "set-up, once: Sphinx, in $(VENV)"
	@$(INSTALL) '.[docs]'
	@touch $@

docs: $(DOCUMENTED)
	@echo "building the guide from docs/*.rst, with its search"
	@$(BIN)/python -m sphinx -q -W -b html docs docs/_build/html
	@echo "building the reference of the API, half a minute"
	@$(BIN)/pydoctor --quiet --quiet bookkeeper_twisted
	@echo "built: docs/_build/html/index.html, and the reference in docs/_build/html/api/index.html"

pictures: $(READY)
	@echo "visiting the console of a cluster that was broken on purpose, a minute"
	@$(BIN)/python -m tests.guides.pictures

news: $(DOCUMENTED)
	@test -n "$(VERSION)" || { echo "make news VERSION=x.y.z"; exit 1; }
	$(BIN)/towncrier build --yes --version $(VERSION)

dist: $(RELEASED)
	@rm -rf dist && mkdir dist
	@echo "building the source distribution and, from it, the wheel"
	@$(BIN)/python .ci/logged.py build.log '\* (Creating|Building)|Successfully built' \
		$(BIN)/python .ci/distribution.py dist
	@echo "installing the wheel with what it needs, apart, to list that in its bill of materials"
	@$(BIN)/python .ci/bill.py dist
	@ls dist/*

clean:
	rm -rf $(VENV) .floors build build.log dist *.egg-info docs/_build _trial_temp* .mypy_cache .ruff_cache .hypothesis .coverage
	find . -name __pycache__ -prune -exec rm -rf {} +
	rm -f twisted/plugins/dropin.cache
