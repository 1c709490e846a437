"""Typed edges stated by hand, kept while their pages are deleted by a rebuild.

Every function takes a connection inside a scoped transaction; callers of writes hold the scope's row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class KeptEdgeRow:
    """An edge that waits for its pages, each given by type, slug and earlier title."""

    source: tuple[str, str]
    target: tuple[str, str]
    titles: tuple[str, str]
    edge_type: str
    valid_from: datetime | None
    context: str
    valid_until: datetime | None
    said_at: datetime | None
    properties: Mapping[str, Any]
    is_sole: bool


KeptKey = tuple[tuple[str, str], tuple[str, str], str, datetime | None]
"""The key of a kept edge: its pages, its type and its beginning."""


async def keep(connection: Connection, scope: Scope) -> int:
    """Save the typed edges that operators stated, and return how many. The pages may be deleted afterwards."""
    await _sql.keep_ends(connection, **scope.key)
    return int(await _sql.keep_edges(connection, **scope.key))


async def count(connection: Connection, scope: Scope) -> int:
    """Return how many edges wait for their pages."""
    return int(await _sql.count_kept(connection, **scope.key))


async def listed(connection: Connection, scope: Scope) -> list[KeptEdgeRow]:
    """Return the edges that wait for their pages, by pages and type."""
    return [
        KeptEdgeRow(
            (row["from_type"], row["from_slug"]), (row["to_type"], row["to_slug"]), (row["from_title"], row["to_title"]),
            row["edge_type"], row["valid_from"], row["context"], row["valid_until"], row["said_at"], row["properties"],
            row["is_sole"],
        )
        for row in await _sql.list_kept(connection, **scope.key)
    ]  # fmt: skip


async def release(connection: Connection, scope: Scope, edges: Sequence[KeptKey]) -> int:
    """Delete these kept edges, and return how many there were."""
    if not edges:
        return 0
    gone = await _sql.release_edges(
        connection,
        **scope.key,
        from_types=[source[0] for source, _, _, _ in edges],
        from_slugs=[source[1] for source, _, _, _ in edges],
        to_types=[target[0] for _, target, _, _ in edges],
        to_slugs=[target[1] for _, target, _, _ in edges],
        edge_types=[edge_type for _, _, edge_type, _ in edges],
        valid_froms=[valid_from for _, _, _, valid_from in edges],
    )
    if gone:
        await _sql.release_ends(connection, **scope.key)
    return int(gone)


async def drop_on_pages(connection: Connection, scope: Scope, pages: Sequence[tuple[str, str]]) -> None:
    """Delete the kept edges of deleted pages (type, slug)."""
    types, slugs = [one[0] for one in pages], [one[1] for one in pages]
    await _sql.drop_ends(connection, **scope.key, types=types, slugs=slugs)
    await _sql.release_ends(connection, **scope.key)


async def forget(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete the kept edges of pages that cited only these memories."""
    await _sql.drop_ends_resting_on(connection, **scope.key, memory_ids=list(memory_ids))
    await _sql.take_memories_from_ends(connection, **scope.key, memory_ids=list(memory_ids))
    await _sql.release_ends(connection, **scope.key)
