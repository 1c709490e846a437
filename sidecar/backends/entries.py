"""What the file of backends may say of each: one frozen value a backend, named as its keys are.

Only shapes and defaults stand here; `configuration` reads and checks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from uuid import UUID

from sidecar.backends.asking import CallLimits
from sidecar.backends.secrets import Secret
from store.scope import tenant_uuid

ACTOR = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9-_]{0,254}")
"""An AgentCore actor as it is allowed here: the service also takes slashes, which would widen a namespace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendEntry:
    """What every backend has: a name of its own, the tenant it belongs to, and how it may be asked."""

    name: str
    tenant: str
    deadline_s: float = 2.0
    concurrency: int = 8
    rate_per_s: float = 0.0
    hedge: bool = True

    @property
    def tenant_id(self) -> UUID:
        """The tenant as a scope bears it."""
        return tenant_uuid(self.tenant)

    @property
    def bounds(self) -> CallLimits:
        """How the backend may be asked."""
        return CallLimits(self.deadline_s, self.concurrency, self.rate_per_s, self.hedge)


@dataclass(frozen=True, slots=True, kw_only=True)
class BedrockKnowledgeEntry(BackendEntry):
    """A Bedrock knowledge base. `assign` names who asks it (`template:default`, `agent:…`, `space:…`); nobody by default."""

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
    """A model that puts what a tenant's knowledge bases bring in one order; without one their ranks are merged."""

    model_arn: str
    region: str = ""
    endpoint_url: str = ""
    text_chars: int = 4000
    deadline_s: float = 0.6


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCoreEntry(BackendEntry):
    """An AgentCore memory. `{owner}` in the namespace is the actor; `actors` says which actor an owner is, else its UUID.

    `events` has threads read from its events instead of from our own record, `compile` has the wiki compiled from its records.
    """

    memory_id: str
    namespace: str = "/actors/{owner}"
    actors: Mapping[str, str] = field(default_factory=dict)
    events: bool = False
    recall: bool = True
    compile: bool = False
    region: str = ""
    endpoint_url: str = ""
    results: int = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class HindsightEntry(BackendEntry):
    """Hindsight's memory banks. `{owner}` in the bank is the owner's UUID, or what `owners` says of it.

    `compile` has the wiki compiled from them, each unit `compile_lag_s` after its last write at the earliest.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolsEntry(BackendEntry):
    """An MCP server, by `command` over standard input and output or by `url` over streamable HTTP.

    `arguments` are sent with every call, beside the question under the name `question_argument`. `search_safe` names tools
    that are safe to search with though their server does not say so.
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
    """Workspace files below `prefix` in a bucket; the levels stand below it as they do on disk."""

    bucket: str
    prefix: str
    region: str = ""
    endpoint_url: str = ""


@dataclass(frozen=True, slots=True)
class Configuration:
    """Every backend of the file."""

    bedrock_knowledge: tuple[BedrockKnowledgeEntry, ...] = ()
    rerank: tuple[RerankEntry, ...] = ()
    agentcore: tuple[AgentCoreEntry, ...] = ()
    hindsight: tuple[HindsightEntry, ...] = ()
    tools: tuple[ToolsEntry, ...] = ()
    workspace_s3: tuple[WorkspaceS3Entry, ...] = ()

    def entries(self) -> Iterator[BackendEntry]:
        """Return all entries."""
        for kind in fields(self):
            yield from getattr(self, kind.name)

    def compiled(self) -> Iterator[AgentCoreEntry | HindsightEntry]:
        """Return the entries from whose memories their tenants' wikis are compiled."""
        yield from (entry for entry in self.agentcore if entry.compile)
        yield from (entry for entry in self.hindsight if entry.compile)
