"""A sidecar with every backend of `docs/backends.md`, configured as written there, against stand-in services.

Only addresses and timeouts differ from the document.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from sidecar.turn.items import Source
from tests.stand_ins import aws as aws_stand_in
from tests.stand_ins import hindsight as hindsight_stand_in
from tests.stand_ins import s3 as s3_stand_in
from tests.stand_ins.aws import Aws
from tests.stand_ins.hindsight import FakeHindsight
from tests.stand_ins.s3 import FakeS3
from tests.support.places import ROOT
from tests.support.waiting import until_blocking

DOCUMENT = ROOT / "docs" / "backends.md"
EXAMPLES = re.findall(r"```toml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
TOOL_SERVER = [sys.executable, "-m", "tests.stand_ins.tool_server"]
SOURCE_DEADLINE_S = 50
ON_AWS = frozenset({"bedrock_knowledge", "rerank", "agentcore"})

Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class StandIns:
    """The services that the examples are asked at, and the address of an MCP server."""

    aws: Aws
    s3: FakeS3
    hindsight: FakeHindsight
    tools_url: str

    @property
    def calls(self) -> int:
        """How often any of them was asked; MCP servers do not count."""
        return len(self.aws.seen) + len(self.s3.asked) + len(self.hindsight.seen)


@contextmanager
def standing_in() -> Iterator[StandIns]:
    """Yield all of them."""
    with ExitStack() as stack:
        yield StandIns(
            stack.enter_context(aws_stand_in.serving()),
            stack.enter_context(s3_stand_in.serving()),
            stack.enter_context(hindsight_stand_in.serving()),
            stack.enter_context(tool_server()),
        )


@contextmanager
def tool_server() -> Iterator[str]:
    """Yield the address of an MCP server over HTTP."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    process = subprocess.Popen([*TOOL_SERVER, str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    try:
        until_blocking(lambda: process.poll() is not None or _listens(port))
        yield url
    finally:
        process.kill()
        process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as caller:
        return caller.connect_ex(("127.0.0.1", port)) == 0


def at_stand_ins(text: str, services: StandIns) -> Tables:
    """Return the tables of a file of backends with the addresses of what stands in."""
    tables: Tables = tomllib.loads(text)
    for kind, entries in tables.items():
        for entry in entries:
            entry |= {"deadline_s": SOURCE_DEADLINE_S, "hedge": False}
            if kind in ON_AWS:
                entry["endpoint_url"] = services.aws.url
            elif kind == "workspace_s3":
                entry["endpoint_url"] = services.s3.url
            elif kind == "hindsight":
                entry["url"] = services.hindsight.url
            elif "url" in entry:
                entry["url"] = services.tools_url
            else:
                entry["command"] = [*TOOL_SERVER, "stdio"]
    return tables


def written(tables: Mapping[str, list[dict[str, Any]]]) -> str:
    """Return tables as TOML."""
    lines = [
        line
        for kind, entries in tables.items()
        for entry in entries
        for line in (f"[[{kind}]]", *(f"{key} = {_value(value)}" for key, value in entry.items()))
    ]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {_value(one)}" for key, one in value.items()) + "}"
    return json.dumps(value)


SOURCES = tuple(source for source in Source if source is not Source.WIKI)
"""The sources that a backend may stand beside."""
