"""What a remote service cannot make us do: ask another address, or unpack an answer that fills the memory."""

from __future__ import annotations

import gzip
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler
from typing import Any
from uuid import UUID

import pytest
from botocore.exceptions import BotoCoreError, ClientError

from models.errors import InvalidRequest, ModelUnavailable, ProviderError
from models.openai_client import OpenAIClient, OpenAIConfig
from sidecar.backends.asking import Bounds
from sidecar.backends.aws import Clients, Where
from sidecar.backends.configuration import parse
from sidecar.backends.errors import AnswerUnreadable, BackendError
from sidecar.backends.hindsight import Banks, Hindsight
from sidecar.backends.mcp_tools import McpTools, Server
from sidecar.errors import SettingInvalid
from sidecar.v1 import (
    admin_pb2,
    backends_pb2,
    compile_pb2,
    context_pb2,
    cost_pb2,
    knowledge_pb2,
    memory_pb2,
    profile_pb2,
    wiki_pb2,
)
from tests.stand_ins.listening import listening

NOW = datetime(2026, 5, 1, tzinfo=UTC)
BOUNDS = Bounds(60.0, may_hedge=False)


@dataclass(slots=True)
class Answering:
    """A server that gives one answer to everything, and counts."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b"{}"
    asked: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    stand_in: Answering

    def _answer(self) -> None:
        self.stand_in.asked.append(self.path)
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.send_response(self.stand_in.status)
        headers = {"content-type": "application/json"} | self.stand_in.headers
        for name, value in (headers | {"content-length": str(len(self.stand_in.body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.stand_in.body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815  # the base class calls them so

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name
        """Say nothing."""


@pytest.fixture
def front() -> Iterator[tuple[str, Answering]]:
    """The service that is configured."""
    one = Answering()
    with listening(_Handler, one) as url:
        yield url, one


@pytest.fixture
def elsewhere() -> Iterator[tuple[str, Answering]]:
    """A service of the private network, which nothing configured."""
    one = Answering()
    with listening(_Handler, one) as url:
        yield url, one


async def hindsight(url: str) -> None:
    service = Hindsight("bank", Banks(url), BOUNDS)
    try:
        await service.recall(UUID(int=1), "boats", now=NOW, limit=5)
    finally:
        await service.close()


async def language_model(url: str) -> None:
    client = OpenAIClient(OpenAIConfig(url))
    try:
        await client.post("/chat/completions", {})
    finally:
        await client.close()


async def mcp(url: str) -> None:
    tools = McpTools("tools", Server(url=f"{url}/mcp"), BOUNDS)
    try:
        await tools.declared()
    finally:
        await tools.close()


async def s3(url: str) -> None:
    client = Clients().client("s3", Where("eu-central-1", url), read_timeout_s=60, connections=1)
    try:
        client.call("list_objects_v2", Bucket="bucket", Prefix="acme/")
    finally:
        client.close()


Asking = Callable[[str], Awaitable[None]]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("ask", [hindsight, language_model, mcp, s3])
async def test_redirect_to_another_address_is_not_followed(
    front: tuple[str, Answering],
    elsewhere: tuple[str, Answering],
    monkeypatch: pytest.MonkeyPatch,
    ask: Asking,
    status: int,
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    url, answering = front
    answering.status, answering.headers = status, {"location": f"{elsewhere[0]}/latest/meta-data/"}
    with pytest.raises((BackendError, ProviderError, BotoCoreError, ClientError)):
        await ask(url)
    assert answering.asked
    assert elsewhere[1].asked == []


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "gzip, gzip"])
@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (hindsight, AnswerUnreadable, "packed"),
        (language_model, ModelUnavailable, "packed"),
        (mcp, BackendError, "DecodingError"),
    ],
)
async def test_answer_that_came_packed_though_none_was_asked_for_is_refused(
    front: tuple[str, Answering], ask: Asking, error: type[Exception], said: str, encoding: str
) -> None:
    url, answering = front
    body = gzip.compress(b'{"results": []}')
    answering.headers, answering.body = {"content-encoding": encoding}, gzip.compress(body) if "," in encoding else body
    with pytest.raises(error, match=said):
        await ask(url)


METADATA = (
    "169.254.169.254",
    "169.254.170.2:80",
    "[fe80::1]",
    "[::ffff:169.254.169.254]",
    "[fd00:ec2::254]",
    "2852039166",
    "0xA9FEA9FE",
    "0251.0376.0251.0376",
    "169.254.43518",
    "100.100.100.200",
    "metadata.google.internal",
    "METADATA.google.internal.",
)
PLACES = ("127.0.0.1:8888", "10.0.0.7", "192.168.1.4", "[::1]:8888", "hindsight:8888", "memory.example.com", "cafe")


@pytest.mark.parametrize("host", METADATA)
def test_address_of_the_clouds_metadata_is_no_backend(host: str) -> None:
    for table in ({"hindsight": [_entry(url=f"http://{host}/")]}, {"rerank": [_reranking(f"http://{host}/")]}):
        with pytest.raises(SettingInvalid, match="url is an address of the cloud's own"):
            parse(table, {})
    with pytest.raises(InvalidRequest, match="base_url"):
        OpenAIClient(OpenAIConfig(f"http://{host}/v1"))


@pytest.mark.parametrize("host", PLACES)
async def test_private_address_is_a_backend_where_the_file_names_it(host: str) -> None:
    assert parse({"hindsight": [_entry(url=f"http://{host}")]}, {}).hindsight[0].url == f"http://{host}"
    await OpenAIClient(OpenAIConfig(f"http://{host}/v1")).close()


def _entry(**fields: str) -> dict[str, str]:
    return {"name": "bank", "tenant": "acme", **fields}


def _reranking(url: str) -> dict[str, str]:
    return _entry(model_arn="arn:aws:bedrock:eu-central-1::foundation-model/m", region="eu-central-1", endpoint_url=url)


def test_no_request_names_an_address_to_ask() -> None:
    asked = {
        method.input_type
        for module in (
            admin_pb2,
            backends_pb2,
            compile_pb2,
            context_pb2,
            cost_pb2,
            knowledge_pb2,
            memory_pb2,
            profile_pb2,
            wiki_pb2,
        )
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    seen, left = set[str](), list(asked)
    while left:
        message = left.pop()
        for one in message.fields:
            assert not re.search(r"(^|_)(url|uri|endpoint|host|port|webhook_address)(_|$)", one.name), one.full_name
            if one.message_type is not None and one.message_type.full_name not in seen:
                seen.add(one.message_type.full_name)
                left.append(one.message_type)
    assert len(asked) > 50
