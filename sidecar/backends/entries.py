"""The entries of the file of backends: one frozen value per backend, with fields named after its keys.

This module holds only types and defaults; `configuration` reads and validates the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.secrets import Secret
from store.scope import tenant_uuid

ACTOR = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-_]{0,254}")
"""The pattern of a valid AgentCore actor. The service also accepts slashes, which could widen a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendEntry:
    """The common fields of every backend: its unique name, its tenant, and its call limits."""

    name: str
    tenant: str
    deadline_s: float = 2.0
    concurrency: int = 8
    rate_per_s: float = 0.0
    hedge: bool = True

    @property
    def tenant_id(self) -> UUID:
        """The tenant's UUID."""
        return tenant_uuid(self.tenant)

    @property
    def bounds(self) -> CallLimits:
        """The backend's call limits."""
        return CallLimits(self.deadline_s, self.concurrency, self.rate_per_s, self.hedge)


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockKnowledgeEntry(BackendEntry):
    """A Bedrock knowledge base. `assign` lists the callers that may search it (`template:default`, `agent:…`, `space:…`)."""

    knowledge_base_id: str
    assign: tuple[str, ...] = ()
    region: str = ""
    endpoint_url: str = ""
    kind: str = "auto"
    search: str = "default"
    results: int = 20
    query_chars: int = 1000
    filter: Mapping[str, Any] = field(default_factory=dict)
    reranker_arn: str = ""
    rate_per_s: float = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankEntry(BackendEntry):
    """A model that reranks the results of a tenant's knowledge bases. Without a model, results are merged by rank."""

    model_arn: str
    region: str = ""
    endpoint_url: str = ""
    text_chars: int = 4000
    deadline_s: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCoreEntry(BackendEntry):
    """An AgentCore memory. `{owner}` in the namespace stands for the actor: the owner's entry in `actors`, or its UUID.

    With `events`, threads are read from its events instead of the built-in store; with `compile`, the wiki is compiled from its
    records; with `forget`, forget requests of an owner are passed on to it.
    """

    memory_id: str
    namespace: str = "/actors/{owner}"
    actors: Mapping[str, str] = field(default_factory=dict)
    events: bool = False
    recall: bool = True
    compile: bool = False
    forget: bool = True
    region: str = ""
    endpoint_url: str = ""
    results: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class HindsightEntry(BackendEntry):
    """Hindsight's memory banks. `{owner}` in the bank stands for the owner's entry in `owners`, or its UUID.

    With `compile`, the wiki is compiled from them, each unit at the earliest `compile_lag_s` seconds after its last write. With
    `forget`, forget requests of an owner are passed on to them.
    """

    url: str
    bank: str = "{owner}"
    owners: Mapping[str, str] = field(default_factory=dict)
    api_key: Secret | None = None
    budget: str = "mid"
    types: tuple[str, ...] = ("observation", "world", "experience")
    query_chars: int = 1500
    results: int = 40
    compile: bool = False
    compile_lag_s: float = 30.0
    forget: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsEntry(BackendEntry):
    """An MCP server, started by `command` (standard input and output) or reached at `url` (streamable HTTP).

    Every call sends `arguments`, and the question as `question_argument`. `search_safe` names tools that are safe for searches
    although their server does not declare it.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, Secret] = field(default_factory=dict)
    headers: Mapping[str, Secret] = field(default_factory=dict)
    question_argument: str = "query"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    search_safe: tuple[str, ...] = ()
    result_chars: int = 8000
    hedge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceS3Entry(BackendEntry):
    """Workspace files below `prefix` in a bucket, with the same folder layout as on disk."""

    bucket: str
    prefix: str
    region: str = ""
    endpoint_url: str = ""


@dataclass(frozen=True, slots=True)
class Configuration:
    """All backends of the file."""

    bedrock_knowledge: tuple[BedrockKnowledgeEntry, ...] = ()
    rerank: tuple[RerankEntry, ...] = ()
    agentcore: tuple[AgentCoreEntry, ...] = ()
    hindsight: tuple[HindsightEntry, ...] = ()
    tools: tuple[ToolsEntry, ...] = ()
    workspace_s3: tuple[WorkspaceS3Entry, ...] = ()

    def entries(self) -> Iterator[BackendEntry]:
        """Yield all entries."""
        for kind in fields(self):
            yield from getattr(self, kind.name)

    def compiled(self) -> Iterator[AgentCoreEntry | HindsightEntry]:
        """Yield the entries from which their tenants' wikis are compiled."""
        yield from (entry for entry in self.agentcore if entry.compile)
        yield from (entry for entry in self.hindsight if entry.compile)
