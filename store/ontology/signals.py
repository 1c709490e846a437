"""What a suggestion scan reads of one owner: memories, the names of pages and of what waits for one, typed edges.

Every function takes a connection inside the owner's transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from store.db import queries
from store.db.queries import Connection, value_of
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class SignalText:
    """A memory's beginning, at most 4,000 characters."""

    memory_id: str
    text: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class SignalEdge:
    """A typed edge between two titles, and a memory that states it."""

    edge_type: str
    source: str
    target: str
    memory_id: str
    text: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class OwnerSignals:
    """What was read of one owner."""

    texts: tuple[SignalText, ...]
    titles: tuple[str, ...]
    waiting: tuple[str, ...]
    edges: tuple[SignalEdge, ...]


async def read(connection: Connection, scope: Scope, *, limit: int) -> OwnerSignals:
    """Return the owner's newest memories and those of open names, titles, open names and typed edges: `limit` of each."""
    named = {**scope.key, "limit": limit}
    rows = [*await _sql.newest_memories(connection, **named), *await _sql.memories_of_mentions(connection, **named)]
    texts = {row["memory_id"]: value_of(SignalText, row) for row in rows}
    return OwnerSignals(
        tuple(texts.values()),
        tuple(row["title"] for row in await _sql.page_titles(connection, **named)),
        tuple(row["alias"] for row in await _sql.open_names(connection, **named)),
        tuple(value_of(SignalEdge, row) for row in await _sql.typed_edges(connection, **named)),
    )
