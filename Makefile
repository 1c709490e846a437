# What runs on a cluster as on one server. The embedded server's own tests, and those that write rows past the triggers of keys, do not.
ON_CITUS := tests/integration tests/acceptance tests/contract/compiler

# The first Python of 3.11 or newer that can make a virtual environment, or the one that PYTHON names.
PYTHON ?= $(shell for one in python3.11 python3.12 python3.13 python3; do \
	$$one -c 'import ensurepip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$one && break; done)
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

# The tests start hundreds of processes, each of which would compile the modules anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: bench check console-driver demo density help install interop lines lock proto reference serve soak test test-citus test-console test-hindsight test-llm test-mcp test-moto test-pgbouncer test-phoenix

demo: install  ## load real input, serve it, and show one turn's fitted context with its receipt
	$(BIN)/sidecar demo

help:  ## list the targets
	@sed -nE 's/^([a-z-]+):.*## +(.*)/\1\t\2/p' Makefile | sort | awk -F'\t' '{ printf "%-16s %s\n", $$1, $$2 }'

test: install  ## every test but the long campaigns
	$(BIN)/python -m pytest tests -q -n auto --dist loadfile --no-loadscope-reorder

test-hindsight: install  ## the cases of Hindsight against a real server: installs it beside, 1.4 GB
	$(BIN)/python -m tests.servers hindsight

test-citus: install  ## the store and the product on the Citus cluster whose coordinator SIDECAR_CITUS_URL names (docs/scaling.md)
	@test -n "$$SIDECAR_CITUS_URL" || { echo "Name the coordinator with SIDECAR_CITUS_URL; docs/scaling.md says how to make a cluster" >&2; exit 1; }
	$(BIN)/python -m pytest -q tests/servers/real_citus.py
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --no-loadscope-reorder $(ON_CITUS)

test-moto: install  ## the cases of S3 and AgentCore events against moto's server: installs it beside, 300 MB
	$(BIN)/python -m tests.servers moto

test-pgbouncer: install  ## a service and its worker behind a real PgBouncer in transaction mode: needs Debian's pgbouncer
	$(BIN)/python -m tests.servers pgbouncer

test-mcp: install  ## the MCP client against the protocol's reference server, over both transports: needs node and npm
	$(BIN)/python -m tests.servers mcp

test-phoenix: install  ## turns and compiles read back as traces from a real Arize Phoenix: installs it beside, 820 MB
	$(BIN)/python -m tests.servers phoenix

check: install  ## style, types, arrows, proto, and known vulnerabilities of the lock where their database can be reached
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf breaking --against proto/released.binpb
	$(BIN)/python -m tests.audit

soak: install  ## the long campaigns, whole, and an hour of steady use
	$(BIN)/python -m pytest tests -n auto --dist loadfile --no-loadscope-reorder --soak
	$(BIN)/python -m bench soak

bench: install  ## every benchmark that needs no data
	$(BIN)/python -m bench all

interop: install  ## clients of other people's making, Debian's Prometheus, and the image built and run: needs node, buildah, debootstrap and root
	$(BIN)/python -m tests.interop

test-llm: install  ## a real small model through the OpenAI-compatible adapter: fetches 180 MB once; needs node and npm
	$(BIN)/python -m tests.llm

console-driver:  ## what drives the browser, in an environment of its own: playwright, 160 MB
	test -x .venv-console/bin/python || $(PYTHON) -m venv .venv-console
	.venv-console/bin/python -c "import playwright" 2>/dev/null || \
		.venv-console/bin/python -m pip install --disable-pip-version-check --quiet "playwright>=1.55,<2"

test-console: install console-driver  ## the console in a real Chromium; needs Debian's chromium
	$(BIN)/python -m tests.browser --driver .venv-console/bin/python

serve: install  ## serve until stopped
	$(BIN)/sidecar serve

proto: install  ## make sidecar/v1 and the client's mirror of it from proto/
	$(BIN)/buf format -w
	rm -f sidecar/v1/*_pb2*
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. --mypy_out=. proto/sidecar/v1/*.proto
	$(BIN)/python proto/make_client.py

density: install  ## the table of typed edges by type in docs/metrics/wiki-link-density.md, from wikis compiled anew
	$(BIN)/python docs/make_density.py

reference: install  ## make docs/reference.md from the settings and commands
	$(BIN)/python docs/make_reference.py

lines: install  ## count the lines of code by package and folder
	$(BIN)/python -m tests.code_lines --folders

lock:  ## pin every package anew, with hashes and no index named; needs uv
	uv pip compile --quiet --universal --python-version 3.11 --extra dev --extra mcp --extra multilingual --generate-hashes --upgrade \
		--no-emit-index-url --no-emit-find-links --no-header pyproject.toml --output-file requirements.lock

install: $(STAMP)  ## the project and its locked packages into .venv

$(STAMP): requirements.lock pyproject.toml
	@test -n "$(PYTHON)" || { echo "This needs Python 3.11 or newer with its venv module (Debian: apt-get install" \
		"python3-venv). Name yours with: make PYTHON=/path/to/python" >&2; exit 1; }
	@$(PIP) --version >/dev/null 2>&1 || { echo "Installing into $(VENV), about a minute…"; $(PYTHON) -m venv --clear $(VENV); }
	@$(PIP) install --require-hashes --requirement requirements.lock
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $(STAMP)
