PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check bench soak serve proto install

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: install  ## load real input, serve it, and show one turn's fitted context with its receipt
	$(BIN)/sidecar demo

test: install  ## every test but the long campaigns
	$(BIN)/python -m pytest tests

check: install  ## style, types, arrows, proto, generated code
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/buf lint
	$(BIN)/buf breaking --against proto/released.binpb

soak: install  ## the long campaigns, whole
	$(BIN)/python -m pytest tests --soak --hypothesis-profile=soak

bench: install  ## every benchmark
	$(BIN)/python -m bench all

serve: install
	$(BIN)/sidecar serve

proto: install  ## make sidecar/v1 from proto/
	$(BIN)/buf format -w
	rm -f sidecar/v1/*_pb2*
	$(BIN)/python -m grpc_tools.protoc -I proto --python_out=. --grpc_python_out=. --mypy_out=. proto/sidecar/v1/*.proto
