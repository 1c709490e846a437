"""`buf curl`: a gRPC client in Go. Learns the service from its reflection, or from the .proto files."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from google.protobuf.empty_pb2 import DESCRIPTOR as EMPTY
from google.protobuf.json_format import MessageToDict
from google.rpc import error_details_pb2
from grpc_health.v1.health_pb2 import DESCRIPTOR as HEALTH

from tests.interop.cases import Case, Json, Outcome
from tests.interop.programs import ran
from tests.interop.service import Address, Service

_HASTES_MS = (100, 130, 170, 220, 290, 380, 500, 650, 850, 1100, 1400, 1900)


@dataclass(frozen=True, slots=True)
class BufClient:
    """Calls through `buf curl`, one process a call."""

    service: Service
    address: Address
    directory: Path
    uses_reflection: bool

    @property
    def name(self) -> str:
        """The arguments that name the caller, the protocol and the address."""
        return f"buf curl, {'reflection' if self.uses_reflection else '.proto files'}, {self.address.name}"

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return what came back from each call, in order."""
        write_schemas(self.directory)
        return [self._hasty(case) if case.in_haste else self._call(case) for case in cases]

    def _hasty(self, case: Case) -> Outcome:
        """Return the outcome under the first limit that buf, whose whole process it bounds, does not spend on itself."""
        outcomes = (self._call(case, "--timeout", f"{limit}ms") for limit in _HASTES_MS)
        return next((outcome for outcome in outcomes if outcome.code != "NOT_SENT"), Outcome("NOT_SENT"))

    def _call(self, case: Case, *options: str) -> Outcome:
        command = [str(Path(sys.executable).with_name("buf")), "curl", "--protocol", "grpc", "--http2-prior-knowledge"]
        command += ["--emit-defaults", "--data", "@-", *options, *self._schema(case)]
        if case.has_token:
            command += ["--header", f"authorization: Bearer {self.service.token}"]
        if self.address.socket_path:
            command += ["--unix-socket", self.address.socket_path]
        command.append(f"http://127.0.0.1:{self.address.port or 80}/{case.method}")
        return _outcome(ran(command, text_in=json.dumps(case.request), timeout_s=60))

    def _schema(self, case: Case) -> list[str]:
        """Return where the method is described. What no server describes comes from a file either way."""
        if case.method.endswith("NoSuchMethod"):
            return ["--schema", str(self.directory / "unknown.binpb")]
        health = ["--schema", str(self.directory / "health.binpb")]
        if self.uses_reflection:
            return ["--reflect", "--reflect-header", f"authorization: Bearer {self.service.token}", *health]
        return ["--schema", "proto", *health]


def _outcome(run: subprocess.CompletedProcess[str]) -> Outcome:
    if run.returncode == 0:
        return Outcome("OK", response=json.loads(run.stdout))
    try:
        error = json.loads(run.stderr)
    except ValueError:
        return Outcome("NOT_SENT", run.stderr.strip())
    details = [_detail(one["type"], one["value"]) for one in error.get("details", ())]
    return Outcome(error["code"].upper(), error.get("message", ""), details=details)


def _detail(type_name: str, value: str) -> Json:
    """Return a status detail, which buf leaves in the bytes it came in."""
    message = getattr(error_details_pb2, type_name.removeprefix("google.rpc."))()
    message.ParseFromString(base64.b64decode(value + "=" * (-len(value) % 4)))
    return {"type": type_name, **MessageToDict(message)}


def write_schemas(directory: Path) -> None:
    """Write what the service's own files do not describe: health, and an unknown method."""
    _write(directory / "health.binpb", [_file(HEALTH)])
    unknown = FileDescriptorProto(name="unknown.proto", package="sidecar.v1", syntax="proto3", dependency=[EMPTY.name])
    method = unknown.service.add(name="ContextService").method.add(name="NoSuchMethod")
    method.input_type = method.output_type = ".google.protobuf.Empty"
    _write(directory / "unknown.binpb", [_file(EMPTY), unknown])


def _file(descriptor: object) -> FileDescriptorProto:
    copy = FileDescriptorProto()
    descriptor.CopyToProto(copy)  # type: ignore[attr-defined]  # generated descriptors carry no types
    return copy


def _write(path: Path, files: list[FileDescriptorProto]) -> None:
    path.write_bytes(FileDescriptorSet(file=files).SerializeToString())
