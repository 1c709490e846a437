"""A suggestion scan's reads of one owner: memories, names of pages, held names, and typed edges.

Every function takes a connection inside the owner's transaction.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

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
class SignalPage:
    """A page with its held type, and the beginning of a memory that it cites and that contains its title."""

    title: str
    summary: str
    held_type: str
    is_placed: bool
    memory_id: str
    text: str
    occurred_at: datetime


@dataclass(frozen=True, slots=True)
class SignalSection:
    """A section of a page of an approved type, with the page."""

    entity_type: str
    section_slug: str
    heading: str
    position: int
    page: SignalPage


@dataclass(frozen=True, slots=True)
class OwnerSignals:
    """The data read of one owner."""

    texts: tuple[SignalText, ...]
    titles: tuple[str, ...]
    waiting: tuple[str, ...]
    edges: tuple[SignalEdge, ...]
    pages: tuple[SignalPage, ...] = ()
    sections: tuple[SignalSection, ...] = ()
    page_counts: Mapping[str, int] = field(default_factory=dict)


async def read(connection: Connection, scope: Scope, *, limit: int) -> OwnerSignals:
    """Return the owner's newest memories and those of open names, titles, open names, typed edges and pages: `limit` of each.

    The sections are of the pages that have a type, at most ten times `limit`.
    """
    named = {**scope.key, "limit": limit}
    rows = [*await _sql.newest_memories(connection, **named), *await _sql.memories_of_mentions(connection, **named)]
    texts = {row["memory_id"]: value_of(SignalText, row) for row in rows}
    return OwnerSignals(
        tuple(texts.values()),
        tuple(row["title"] for row in await _sql.page_titles(connection, **named)),
        tuple(row["alias"] for row in await _sql.open_names(connection, **named)),
        tuple(value_of(SignalEdge, row) for row in await _sql.typed_edges(connection, **named)),
        tuple(value_of(SignalPage, row) for row in await _sql.signal_pages(connection, **named)),
        tuple(_section(row) for row in await _sql.signal_sections(connection, **named, most=10 * limit)),
        {row["entity_type"]: row["pages"] for row in await _sql.typed_page_counts(connection, **scope.key)},
    )


def _section(row: Any) -> SignalSection:
    return SignalSection(
        row["entity_type"], row["section_slug"], row["heading"], row["position"], value_of(SignalPage, row)
    )
