"""`@grpc/grpc-js`: a gRPC client in JavaScript. Learns the service from its .proto files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from google.rpc import error_details_pb2

from tests.interop.cases import Case, Outcome
from tests.interop.programs import last_words, ran
from tests.interop.service import Address, Service

_HOME = Path(__file__).with_name("node")


class NodeMissing(Exception):
    """The JavaScript client needs node 18 or newer and npm; install them."""


@dataclass(frozen=True, slots=True)
class NodeClient:
    """Calls through `@grpc/grpc-js`, all cases over one channel of one process."""

    service: Service
    address: Address

    @property
    def name(self) -> str:
        """The arguments that name the caller and the address."""
        return f"@grpc/grpc-js, {self.address.name}"

    def outcomes(self, cases: Sequence[Case]) -> list[Outcome]:
        """Return what came back from each call, in order. Raises NodeMissing."""
        install()
        target = f"unix:{self.address.socket_path}" if self.address.socket_path else f"127.0.0.1:{self.address.port}"
        job = {
            "target": target,
            "token": self.service.token,
            "protoDirs": [str(Path("proto").resolve()), str(_google_protos())],
            "cases": [
                {"method": case.method, "request": case.request, "hasToken": case.has_token, "inHaste": case.in_haste}
                for case in cases
            ],
        }
        run = ran(["node", "client.mjs"], cwd=_HOME, text_in=json.dumps(job), timeout_s=120)
        if run.returncode:
            return [Outcome("CLIENT_FAILED", run.stderr.strip())] * len(cases)
        return [Outcome(**outcome) for outcome in json.loads(run.stdout)]


def install() -> None:
    """Install the packages of the lock file, once. Raises NodeMissing."""
    if not shutil.which("node") or not shutil.which("npm"):
        raise NodeMissing
    done = _HOME / "node_modules" / ".package-lock.json"
    if not done.exists() or done.stat().st_mtime < (_HOME / "package-lock.json").stat().st_mtime:
        installed = ran(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=_HOME)
        if installed.returncode:
            raise NodeMissing(last_words(installed))


def _google_protos() -> Path:
    """Return the folder that holds google/rpc/*.proto, which googleapis-common-protos brings."""
    return Path(str(error_details_pb2.__file__)).parents[2]
