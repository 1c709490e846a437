"""Measures the cost of AWS calls in a turn: boto3 in threads, against botocore's serializer, signer and parser on aiohttp.

The turn is a real one, 32 at once, with a knowledge base over HTTP: beside four local sources, and as the only source. The
figure is the serving process's processor time. Without aiohttp, which is no dependency, boto3 is measured alone.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from statistics import median
from typing import Any
from uuid import UUID

import botocore.session
from botocore import parsers, serialize
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from bench import calling, corpus
from bench.calling import Callers, Load
from bench.databases import own_database
from bench.figures import Figure, at_most, plain
from bench.remote import slow_services
from bench.serving import served
from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import BackendCaller, CallLimits
from sidecar.backends.bedrock_knowledge import BedrockBase, BedrockKnowledge
from sidecar.context.ports import ContextSource, SourceAnswer, SourceLimits, SourceQuery
from sidecar.runtime.settings import Settings
from sidecar.sources.bedrock_knowledge import BedrockKnowledgeSource
from sidecar.sources.composite import NamedSource, SideBySide
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.items import Source
from store.db.postgres import Pool, PoolsConfig, open_pools
from store.scope import Scope

WIDTH, ROUNDS = 32, 6
MOST_COST = 1.15
"""The ratio of costs from which another transport is worth its code."""
_BASE, _REGION, _SERVICE = "ABCDEFGHIJ", "eu-central-1", "bedrock-agent-runtime"
_BOUNDS = CallLimits(deadline_s=20.0, concurrency=WIDTH, may_hedge=False)
_KINDS: Mapping[Source, Any] = {
    Source.THREAD: ThreadSource,
    Source.KNOWLEDGE: KnowledgeSource,
    Source.MEMORY: MemorySource,
    Source.WIKI: WikiSource,
}
_PATIENT = PoolsConfig(turn_wait_s=20.0, turn_acquire_deadline_s=20.0)
_CORPUS = corpus.Sizes(turns=400, memories=2_000, chunks=2_000, pages=400)


@dataclass(frozen=True, slots=True)
class Local:
    """A built-in source that is made in the process that serves it."""

    source: Source
    dsn: str

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the built-in source's answer."""
        made: ContextSource = _KINDS[self.source](await _pool(self.dsn))
        return await made.find(query, scope, limits)


@dataclass(frozen=True, slots=True)
class Remote:
    """Knowledge with a base over HTTP, asked as `transport` says: boto3, aiohttp, or not at all; the built-in one beside it."""

    url: str
    transport: str
    local: Local | None

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the answer of both."""
        places = [] if self.transport == "none" else [NamedSource("base", _base(self.url, self.transport))]
        return await SideBySide(self.local, {scope.tenant_id: places}, AllOn()).find(query, scope, limits)


class AllOn:
    """A policy under which no backend is switched off."""

    async def switched_off(self, tenant_id: UUID) -> frozenset[str]:
        """Return none."""
        return frozenset()


class OnAiohttp:
    """Retrieve by botocore's serializer, signer and parser over aiohttp, in place of boto3's client."""

    def __init__(self, url: str) -> None:
        aiohttp: Any = importlib.import_module("aiohttp")
        self._url = url
        self._http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=WIDTH))
        self._operation = botocore.session.get_session().get_service_model(_SERVICE).operation_model("Retrieve")
        self._serializer = serialize.create_serializer("rest-json")
        self._parser = parsers.create_parser("rest-json")
        self._signer = SigV4Auth(Credentials("AKIAEXAMPLE", "secret"), "bedrock", _REGION)

    async def retrieve(self, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the service's answer."""
        made = self._serializer.serialize_to_request(parameters, self._operation)
        request = AWSRequest("POST", self._url + made["url_path"], dict(made["headers"]), made["body"])
        self._signer.add_auth(request)
        async with self._http.post(request.url, data=request.data, headers=dict(request.headers)) as response:
            content = {"status_code": response.status, "headers": response.headers, "body": await response.read()}
        answer: Mapping[str, Any] = self._parser.parse(content, self._operation.output_shape)
        return answer


class AiohttpKnowledge(BedrockKnowledge):
    """The same base over the other transport; everything else is the same."""

    def __init__(self, name: str, base: BedrockBase, transport: OnAiohttp) -> None:
        self.name = name
        self.asking = BackendCaller(name, _BOUNDS)
        self._base = base
        self._is_managed = False
        self._transport = transport

    async def _ask(self, text: str, limit: int, *, is_managed: bool) -> Mapping[str, Any]:
        search = {"vectorSearchConfiguration": {"numberOfResults": limit}}
        query = {"knowledgeBaseId": _BASE, "retrievalQuery": {"text": text}, "retrievalConfiguration": search}
        return await self._transport.retrieve(query)


@cache
def _base(url: str, transport: str) -> BedrockKnowledgeSource:
    base = BedrockBase(_BASE, Where(_REGION, url), kind="classic")
    if transport == "boto3":
        os.environ |= {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
        made = BedrockKnowledge("base", base, Clients(), _BOUNDS)
    else:
        made = AiohttpKnowledge("base", base, OnAiohttp(url))
    return BedrockKnowledgeSource(made, frozenset({"template:default"}))


_opened: dict[str, asyncio.Task[Any]] = {}


async def _pool(dsn: str) -> Pool:
    if dsn not in _opened:
        _opened[dsn] = asyncio.create_task(open_pools(dsn, _PATIENT))
    pool: Pool = (await _opened[dsn]).turn
    return pool


def run(*, scale: float) -> list[Figure]:
    """Return the figures of the transports."""
    return asyncio.run(_measured(max(2.0, 8.0 * scale), scale))


async def _measured(seconds: float, scale: float) -> list[Figure]:
    """Return the cost of a turn in the serving process with each transport, and without the base."""
    transports = ("boto3", *(["aiohttp"] if find_spec("aiohttp") else []))
    async with own_database() as (settings, database), slow_services.answering(slow_services.Pace()) as url:
        pools = await open_pools(database.dsn, PoolsConfig())
        patient = {"sources": {source.value: {"deadline_ms": 20_000} for source in _KINDS}}
        await corpus.put_tenant(pools.background, patient)
        questions = await corpus.fill(pools.background, _CORPUS.scaled(scale), questions=16)
        await pools.close()
        whole = {name: _sources(database.dsn, Remote(url, name, None)) for name in ("none", *transports)}
        alone = {name: {Source.KNOWLEDGE: Remote(url, name, None)} for name in transports}
        return [
            *_figures("four local sources and a base", await _costs(settings, whole, questions, seconds)),
            *_figures("a base alone", await _costs(settings, alone, questions, seconds), is_bound=True),
        ]


def _sources(dsn: str, remote: Remote) -> Mapping[Source, ContextSource]:
    local: dict[Source, ContextSource] = {source: Local(source, dsn) for source in _KINDS}
    return {**local, Source.KNOWLEDGE: replace(remote, local=Local(Source.KNOWLEDGE, dsn))}


async def _costs(
    settings: Settings,
    kinds: Mapping[str, Mapping[Source, ContextSource]],
    questions: Sequence[str],
    seconds: float,
) -> Mapping[str, list[float]]:
    """Return the processor seconds of a turn with each kind of sources, round by round in turns."""
    requests = calling.turn_requests(questions, thread_id=corpus.THREAD)
    costs: dict[str, list[float]] = {name: [] for name in kinds}
    async with AsyncExitStack() as stack:
        callers = stack.enter_context(Callers())
        place = settings.data_dir.parent
        sites = {
            name: await stack.enter_async_context(
                served(replace(settings, listen=(f"unix:{place}/api/{name}.sock",), http_listen="off"), sources)
            )
            for name, sources in kinds.items()
        }
        for number in range(ROUNDS + 1):
            for name, site in sites.items():
                proof = calling.metadata(settings)
                load = Load(site.address, calling.ASSEMBLE, requests, proof, WIDTH, seconds=seconds)
                before_s = site.cpu_s()
                heard = await callers.call(load)
                if number:  # the first warms up
                    costs[name].append((site.cpu_s() - before_s) / max(1, len(heard.answered_s)))
    return costs


def _figures(what: str, costs: Mapping[str, list[float]], *, is_bound: bool = False) -> list[Figure]:
    """Return the figures of one kind of turn; one with nothing else in it has no target, it only says how far this can go."""
    note = f"processor time, {WIDTH} turns at once"
    figures = [plain(f"{what}: {name}", median(values) * 1000, unit=" ms", note=note) for name, values in costs.items()]
    if "aiohttp" in costs:
        ratio = median(ours / theirs for ours, theirs in zip(costs["boto3"], costs["aiohttp"], strict=True))
        name = f"{what}: boto3 ÷ aiohttp"
        figures.append(plain(name, ratio) if is_bound else at_most(name, ratio, MOST_COST))
    return figures
