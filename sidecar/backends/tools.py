"""What a tool declares, how a turn may call it, and whether it may: values and rules, without the SDK that speaks to servers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool as its server declares it. `required` are the arguments it cannot do without."""

    name: str
    description: str
    is_read_only: bool
    is_search_safe: bool
    required: frozenset[str]
    schema_hash: bytes


@dataclass(frozen=True, slots=True)
class Calling:
    """How tools are called: the argument that takes the question, further ones, and how much of an answer is kept.

    `search_safe` names tools that whoever runs this process declares safe where their server declares nothing.
    """

    question_argument: str = "query"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    search_safe: frozenset[str] = frozenset()
    result_chars: int = 8_000


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool with what was decided about it; `unsuited` says why it is none to ask in a turn, approved or not."""

    tool: Declared
    is_approved: bool
    unsuited: str


@runtime_checkable
class ToolKeeper(Protocol):
    """Who knows a server's tools, for those who approve them."""

    async def offered(self, tenant_id: UUID) -> tuple[Offered, ...]:
        """Return the tools that the server declares now. Raises a BackendError."""

    async def tried(self, tool: str, question: str) -> tuple[str, ...]:
        """Return what a tool answers to a question. Raises a BackendError."""


def why_not(tool: Declared | None, approved_hash: bytes, calling: Calling) -> str:
    """Return why a tool may not be called, an empty text when it may."""
    if tool is None:
        return "the server no longer has it"
    if tool.schema_hash != approved_hash:
        return "it has changed since it was approved; look at it and approve it again"
    return unsuited(tool, calling)


def unsuited(tool: Declared, calling: Calling) -> str:
    """Return why a tool is not one to ask in a turn, an empty text when it is."""
    if not tool.is_read_only:
        return "it does not declare itself read-only"
    if not tool.is_search_safe and tool.name not in calling.search_safe:
        return "it is not declared safe to search with"
    if missing := tool.required - {calling.question_argument, *calling.arguments}:
        return f"it needs arguments that are not configured: {', '.join(sorted(missing))[:100]}"
    return ""
