"""Builds a source from each configured backend, with its client and options.

This module is imported only if there are backends, because it imports their SDKs.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING
from uuid import UUID

from models.tokens import meters
from models.transport.endpoint import BreakerState
from sidecar.backends.agentcore import AgentCoreMemory, MemoryLocation
from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import BackendCaller
from sidecar.backends.backend_policy import BackendPolicy
from sidecar.backends.bedrock_knowledge import BedrockBase, BedrockKnowledge
from sidecar.backends.configuration import VARIABLE
from sidecar.backends.entries import (
    AgentCoreEntry,
    BedrockKnowledgeEntry,
    Configuration,
    HindsightEntry,
    RerankEntry,
    ToolsEntry,
    WorkspaceS3Entry,
)
from sidecar.backends.hindsight import Banks, Hindsight
from sidecar.backends.rerank import BedrockRerank, Reranking
from sidecar.backends.s3 import Bucket, S3Files
from sidecar.backends.tools import Calling
from sidecar.runtime.errors import SettingInvalid
from sidecar.sources.agentcore_memory import AgentCoreMemorySource
from sidecar.sources.agentcore_thread import AgentCoreThreadSource
from sidecar.sources.bedrock_knowledge import BedrockKnowledgeSource
from sidecar.sources.composite import NamedSource
from sidecar.sources.hindsight import HindsightSource
from sidecar.sources.workspace_s3 import WorkspaceS3Source
from sidecar.turn.items import Source
from store.db.postgres import Pool
from store.scope import owner_uuid

if TYPE_CHECKING:
    from sidecar.sources.tools import ToolsSource

Close = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Placed:
    """A backend's source: which source it serves, its tenant, how to close it, and the caller that tracks its health."""

    source: Source
    tenant_id: UUID
    place: NamedSource
    close: Close
    caller: BackendCaller


@dataclass(frozen=True, slots=True)
class BackendSourceDeps:
    """The dependencies of backend sources: AWS clients, the turn pool, and the tenants' backend policy."""

    clients: Clients
    pool: Pool
    policy: BackendPolicy


@dataclass(frozen=True, slots=True)
class BackendSources:
    """The configured backends as sources, the tenants' rerankers, and a function that closes them all."""

    places: tuple[Placed, ...]
    rerankers: Mapping[UUID, BedrockRerank]
    close: Close

    def resting(self) -> dict[str, bool]:
        """Return, by backend name, whether a circuit breaker of that name is open."""
        now_s, is_open_by_name = time.monotonic(), dict[str, bool]()
        callers = [place.caller for place in self.places] + [one.caller for one in self.rerankers.values()]
        for caller in callers:
            is_open = caller.endpoint.breaker.state(now_s) is BreakerState.OPEN
            is_open_by_name[caller.name] = is_open_by_name.get(caller.name, False) or is_open
        return is_open_by_name


def placed(backends: Configuration, pool: Pool, policy: BackendPolicy) -> BackendSources:
    """Build every entry of the configuration. Raises SettingInvalid if a needed SDK is not installed."""
    deps = BackendSourceDeps(Clients(), pool, policy)
    places = tuple(_made(backends, deps))
    rerankers = {entry.tenant_id: _rerank(entry, deps) for entry in backends.rerank}
    closes = [one.close for one in places] + [_as_async(one.close) for one in rerankers.values()]
    return BackendSources(places, rerankers, partial(_close_all, closes, deps.clients))


def _made(backends: Configuration, deps: BackendSourceDeps) -> Iterator[Placed]:
    for knowledge in backends.bedrock_knowledge:
        yield _bedrock_knowledge(knowledge, deps)
    for memory in backends.agentcore:
        yield from _agentcore(memory, deps)
    for hindsight in backends.hindsight:
        yield _hindsight(hindsight)
    for tools in backends.tools:
        yield _tools(tools, deps)
    for workspace in backends.workspace_s3:
        yield _workspace_s3(workspace, deps)


async def _close_all(closes: Sequence[Close], clients: Clients) -> None:
    for close in closes:
        await close()
    clients.close()


def _as_async(close: Callable[[], None]) -> Close:
    async def closing() -> None:
        close()

    return closing


def _bedrock_knowledge(entry: BedrockKnowledgeEntry, deps: BackendSourceDeps) -> Placed:
    options = BedrockBase(
        base_id=entry.knowledge_base_id,
        where=_where(entry, deps.clients),
        kind=entry.kind,
        search=entry.search,
        results=entry.results,
        query_chars=entry.query_chars,
        filter=entry.filter,
        reranker_arn=entry.reranker_arn,
    )
    base = BedrockKnowledge(entry.name, options, deps.clients, entry.bounds)
    source = BedrockKnowledgeSource(base, frozenset(entry.assign))
    return Placed(
        Source.KNOWLEDGE, entry.tenant_id, NamedSource(entry.name, source), _as_async(base.close), base.caller
    )


def _rerank(entry: RerankEntry, deps: BackendSourceDeps) -> BedrockRerank:
    reranking = Reranking(entry.model_arn, _where(entry, deps.clients), entry.text_chars)
    return BedrockRerank(entry.name, reranking, deps.clients, entry.bounds)


def _agentcore(entry: AgentCoreEntry, deps: BackendSourceDeps) -> Iterator[Placed]:
    memory = agentcore_memory(entry, deps.clients)
    if entry.recall:
        source = AgentCoreMemorySource(memory)
        yield Placed(
            Source.MEMORY, entry.tenant_id, NamedSource(entry.name, source), _as_async(memory.close), memory.caller
        )
    if entry.events:
        thread = AgentCoreThreadSource(memory, _counts)
        yield Placed(
            Source.THREAD, entry.tenant_id, NamedSource(entry.name, thread), _as_async(memory.close), memory.caller
        )


def agentcore_memory(entry: AgentCoreEntry, clients: Clients) -> AgentCoreMemory:
    """Return the client of an AgentCore memory. Raises SettingInvalid without a region."""
    place = MemoryLocation(
        memory_id=entry.memory_id,
        namespace=entry.namespace,
        where=_where(entry, clients),
        actors=_by_owner(entry.actors),
        results=entry.results,
    )
    return AgentCoreMemory(entry.name, place, clients, entry.bounds)


def _hindsight(entry: HindsightEntry) -> Placed:
    hindsight = hindsight_client(entry)
    place = NamedSource(entry.name, HindsightSource(hindsight))
    return Placed(Source.MEMORY, entry.tenant_id, place, hindsight.close, hindsight.caller)


def hindsight_client(entry: HindsightEntry) -> Hindsight:
    """Return the client of a Hindsight server."""
    banks = Banks(
        url=entry.url,
        bank=entry.bank,
        owners=_by_owner(entry.owners),
        api_key=entry.api_key,
        budget=entry.budget,
        types=entry.types,
        query_chars=entry.query_chars,
        results=entry.results,
    )
    return Hindsight(entry.name, banks, entry.bounds)


def _tools(entry: ToolsEntry, deps: BackendSourceDeps) -> Placed:
    source = tools_source(entry, deps.policy)
    return Placed(
        Source.TOOLS, entry.tenant_id, NamedSource(entry.name, source), source.tools.close, source.tools.caller
    )


def tools_source(entry: ToolsEntry, policy: BackendPolicy) -> ToolsSource:
    """Return an MCP server's tools as a source. Raises SettingInvalid if the SDK is not installed."""
    if find_spec("mcp") is None:
        raise SettingInvalid(VARIABLE, f"{entry.name} needs the MCP SDK", "install context-sidecar[mcp]")
    from sidecar.backends.mcp_servers.mcp_tools import McpServer, McpTools
    from sidecar.sources.tools import ToolsSource

    server = McpServer(entry.command, entry.url, entry.env, entry.headers)
    calling = Calling(entry.question_argument, entry.arguments, frozenset(entry.search_safe), entry.result_chars)
    return ToolsSource(McpTools(entry.name, server, entry.bounds), policy, calling)


def _workspace_s3(entry: WorkspaceS3Entry, deps: BackendSourceDeps) -> Placed:
    bucket = Bucket(entry.bucket, entry.prefix, Where(entry.region, entry.endpoint_url))
    files = S3Files(entry.name, bucket, deps.clients, entry.bounds)
    source = WorkspaceS3Source(deps.pool, files)
    return Placed(
        Source.WORKSPACE, entry.tenant_id, NamedSource(entry.name, source), _as_async(files.close), files.caller
    )


def _where(entry: BedrockKnowledgeEntry | RerankEntry | AgentCoreEntry, clients: Clients) -> Where:
    """Return the region and endpoint of an entry. Raises SettingInvalid without a region."""
    if not entry.region and not clients.region():
        raise SettingInvalid(VARIABLE, f"{entry.name}.region is missing", "set it there, or set AWS_DEFAULT_REGION")
    return Where(entry.region, entry.endpoint_url)


def _by_owner(named: Mapping[str, str]) -> dict[UUID, str]:
    return {owner_uuid(owner): ref for owner, ref in named.items()}


def _counts(text: str) -> tuple[int, int]:
    counts = meters.stored_counts(text)
    return counts.o200k_base, counts.cl100k_base
