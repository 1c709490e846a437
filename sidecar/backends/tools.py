"""Tool declarations, call options, and the rules for whether a turn may call a tool. Does not import the MCP SDK."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Declared:
    """A tool as its server declares it. `required` holds the names of its mandatory arguments."""

    name: str
    description: str
    is_read_only: bool
    is_search_safe: bool
    required: frozenset[str]
    schema_hash: bytes


@dataclass(frozen=True, slots=True)
class Calling:
    """Call options: the argument for the question, further arguments, and the most characters of an answer to keep.

    `search_safe` names tools that the operator declares safe for searches although their server does not.
    """

    question_argument: str = "query"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    search_safe: frozenset[str] = frozenset()
    result_chars: int = 8_000


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool with its approval; `unsuited` says why a turn cannot call it even if approved."""

    tool: Declared
    is_approved: bool
    unsuited: str


@runtime_checkable
class ToolKeeper(Protocol):
    """Lists and tests a server's tools, for the admins that approve them."""

    async def offered(self, tenant_id: UUID) -> tuple[Offered, ...]:
        """Return the tools that the server declares now. Raises a BackendError."""

    async def tried(self, tool: str, question: str) -> tuple[str, ...]:
        """Return a tool's answer to a question, as texts. Raises a BackendError."""


def why_not(tool: Declared | None, approved_hash: bytes, calling: Calling) -> str:
    """Return why a tool may not be called; empty if it may."""
    if tool is None:
        return "the server no longer has it"
    if tool.schema_hash != approved_hash:
        return "it has changed since it was approved; review it and approve it again"
    return unsuited(tool, calling)


def unsuited(tool: Declared, calling: Calling) -> str:
    """Return why a tool is unfit for turns; empty if it is fit."""
    if not tool.is_read_only:
        return "it is not declared read-only"
    if not tool.is_search_safe and tool.name not in calling.search_safe:
        return "it is not declared safe for searches"
    if missing := tool.required - {calling.question_argument, *calling.arguments}:
        return f"it needs arguments that are not configured: {', '.join(sorted(missing))[:100]}"
    return ""
