"""The tools source: calls an MCP server's approved read-only tools with the question.

A tool is called only if an admin approved it, it is declared read-only and safe for searches, and its schema has not changed
since the approval.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import zip_longest
from typing import Protocol
from uuid import UUID

from sidecar.backends.backend_caller import Units
from sidecar.backends.errors import BackendTimedOut
from sidecar.backends.mcp_servers.mcp_tools import McpTools
from sidecar.backends.tools import Calling, Offered, unsuited, why_not
from sidecar.context.ports import BackendError, SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.ranking.remote_evidence import coverage
from store.scope import Scope

_MAX_QUESTION_CHARS = 4_000
_MERGING_S = 0.05  # before the deadline at which the whole source would be given up


class Approvals(Protocol):
    """The tools that the tenant's admins approved."""

    async def approved(self, tenant_id: UUID, backend: str) -> Mapping[str, bytes]:
        """Return the approved schema hash of each of a backend's tools."""


@dataclass(frozen=True, slots=True)
class ToolsSource:
    """Calls each allowed tool of a server."""

    tools: McpTools
    approvals: Approvals
    calling: Calling

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` results; a tool that has not answered when the time is over hides no other.

        Raises SourceSkipped if no tool is allowed, or a BackendError if all fail.
        """
        ends_s = asyncio.get_running_loop().time() + limits.deadline_s - _MERGING_S
        approved = await self.approvals.approved(scope.tenant_id, self.tools.name)
        if not approved:
            raise SourceSkipped(f"{self.tools.name}: no tool is approved")
        declared = {tool.name: tool for tool in await self.tools.declared()}
        refusals = {name: why_not(declared.get(name), hash_, self.calling) for name, hash_ in sorted(approved.items())}
        notes = [f"{self.tools.name}/{name}: {reason}" for name, reason in refusals.items() if reason]
        allowed = [name for name, reason in refusals.items() if not reason]
        if not allowed:
            raise SourceSkipped("; ".join(notes))
        results = await self._called_until(ends_s, allowed, query.text)
        return self._answer(results, query.words, limits.top_k, notes)

    async def offered(self, tenant_id: UUID) -> tuple[Offered, ...]:
        """Return the tools that the server declares now, with the tenant's approvals. Raises a BackendError."""
        approved = await self.approvals.approved(tenant_id, self.tools.name)
        declared = await self.tools.declared(is_fresh=True)
        return tuple(
            Offered(tool, approved.get(tool.name) == tool.schema_hash, unsuited(tool, self.calling))
            for tool in declared
        )

    async def tried(self, tool: str, question: str) -> tuple[str, ...]:
        """Call a tool with a question and return its texts. Raises a BackendError."""
        return (await self._call(tool, question)).found

    async def _call(self, tool: str, question: str) -> Units[str]:
        arguments = {**self.calling.arguments, self.calling.question_argument: question[:_MAX_QUESTION_CHARS]}
        return await self.tools.call(tool, arguments)

    async def _called_until(
        self, ends_s: float, names: Sequence[str], question: str
    ) -> list[tuple[str, Units[str] | BackendError]]:
        calls = [asyncio.create_task(self._called(name, question)) for name in names]
        try:
            await asyncio.wait(calls, timeout=max(0.0, ends_s - asyncio.get_running_loop().time()))
            late = [BackendTimedOut(f"{self.tools.name}/{name}") for name in names]
            return [
                (name, call.result() if call.done() else why)
                for name, call, why in zip(names, calls, late, strict=True)
            ]
        finally:
            for call in calls:
                call.cancel()

    async def _called(self, tool: str, question: str) -> Units[str] | BackendError:
        try:
            return await self._call(tool, question)
        except BackendError as error:
            return error

    def _answer(
        self,
        results: Sequence[tuple[str, Units[str] | BackendError]],
        words: Sequence[str],
        top_k: int,
        notes: Iterable[str],
    ) -> SourceAnswer:
        failures = [result for _, result in results if isinstance(result, BackendError)]
        answered = [(name, result) for name, result in results if isinstance(result, Units)]
        notes = [*notes, *(note for _, result in answered for note in result.left_out)]
        ranked = zip_longest(*([(name, text) for text in result.found] for name, result in answered))
        texts = [one for of_rank in ranked for one in of_rank if one is not None]  # so that no tool crowds out another
        if failures and not texts:
            raise failures[0].beside(map(str, failures[1:]))
        shortened = [(name, text[: self.calling.result_chars]) for name, text in texts[:top_k]]
        items = {
            item.id: item
            for rank, (name, text) in enumerate(shortened)
            for item in [self._item(name, text, rank, words)]
        }
        return SourceAnswer(tuple(items.values()), notes=tuple(notes), failures=tuple(map(str, failures)))

    def _item(self, tool: str, text: str, rank: int, words: Sequence[str]) -> Item:
        place = f"{self.tools.name}/{tool}"
        return Item(
            id=f"tool:{place}:{sha256(text.encode(errors='replace')).hexdigest()[:24]}",
            source=Source.TOOLS,
            text=text,
            rank=rank,
            relevance=coverage(words, text),
            header=f"Looked up with {place}",
            provenance=(Ref("tool", place),),
        )
