"""The committed wire code and the client's mirror of it are what proto/ generates today."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

from sidecar.rpc.server import SERVICE_NAMES
from tests.support.places import ROOT

PROTOS = sorted((ROOT / "proto/sidecar/v1").glob("*.proto"))


def test_the_generated_code_is_fresh(tmp_path: Path) -> None:
    well_known = Path(grpc_tools.__file__).parent / "_proto"
    folders = [f"-I{ROOT / 'proto'}", f"-I{well_known}"]
    arguments = ["protoc", *folders, f"--python_out={tmp_path}", f"--grpc_python_out={tmp_path}"]
    assert protoc.main([*arguments, *map(str, PROTOS)]) == 0
    fresh = {path.name: path.read_text() for path in (tmp_path / "sidecar/v1").glob("*.py")}
    committed = {path.name: path.read_text() for path in (ROOT / "sidecar/v1").glob("*_pb2*.py")}
    assert fresh == committed


def test_the_client_mirrors_the_contract() -> None:
    made = runpy.run_path(str(ROOT / "proto/make_client.py"))["make"]()
    assert {path: (ROOT / path).read_text() for path in made} == made


def test_health_and_reflection_name_every_service_of_the_contract() -> None:
    declared = {name for path in PROTOS for name in re.findall(r"^service (\w+)", path.read_text(), re.MULTILINE)}
    assert {name.rpartition(".")[2] for name in SERVICE_NAMES} == declared
