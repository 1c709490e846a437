"""The effects of the ontology in force on pages, sections and typed edges, in columns beside the plan's.

Every function takes a connection inside a scoped transaction; those that write, one whose caller holds the scope's row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class TypingRow:
    """A page's approved type, or the held name of a type with the reason."""

    page_id: UUID
    entity_type: str = ""
    held_type: str = ""
    held_reason: str = ""


@dataclass(frozen=True, slots=True)
class ShownRow:
    """The position and the heading with which a section is shown; None and empty leave it as planned."""

    section_id: UUID
    position: int | None
    heading: str


@dataclass(frozen=True, slots=True)
class GovernedEdge:
    """A typed edge, why it is held (empty if it is not), and the pages at its ends by id, type of entity and path.

    `said_at` is the time of its latest statement; `is_active` is false if one of the pages is archived.
    """

    link_id: UUID
    edge_type: str
    held_reason: str
    source_id: UUID
    target_id: UUID
    source_type: str
    target_type: str
    source_path: str
    target_path: str
    is_active: bool
    valid_from: datetime | None
    valid_until: datetime | None
    said_at: datetime | None
    is_manual: bool


async def typings(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> dict[UUID, TypingRow]:
    """Return the types of the pages, by id."""
    rows = await _sql.typings_of(connection, **scope.key, page_ids=list(page_ids))
    return {row["page_id"]: value_of(TypingRow, row) for row in rows}


async def write_typings(connection: Connection, scope: Scope, rows: Sequence[TypingRow], *, now: datetime) -> int:
    """Write the types of pages, and return how many changed."""
    return int(
        await _sql.write_typings(
            connection,
            **scope.key,
            page_ids=[one.page_id for one in rows],
            entity_types=[one.entity_type for one in rows],
            held_types=[one.held_type for one in rows],
            held_reasons=[one.held_reason for one in rows],
            now=now,
        )
    )


async def show_sections(connection: Connection, scope: Scope, rows: Sequence[ShownRow]) -> int:
    """Write how sections are shown, and return how many changed."""
    return int(
        await _sql.show_sections(
            connection,
            **scope.key,
            section_ids=[one.section_id for one in rows],
            positions=[one.position for one in rows],
            headings=[one.heading for one in rows],
        )
    )


async def shown(connection: Connection, scope: Scope, section_ids: Sequence[UUID]) -> list[ShownRow]:
    """Return how sections are shown."""
    rows = await _sql.shown_sections(connection, **scope.key, section_ids=list(section_ids))
    return [value_of(ShownRow, row) for row in rows]


async def edges_at(
    connection: Connection, scope: Scope, page_ids: Iterable[UUID], types: Iterable[str] | None = None
) -> list[GovernedEdge]:
    """Return the typed edges from and to the pages, of some types if they are given, each once."""
    named = {"page_ids": sorted(page_ids), "types": None if types is None else sorted(types)}
    rows = await _sql.typed_edges_at(connection, tenant_id=scope.tenant_id, **named)
    return [value_of(GovernedEdge, row) for row in rows]


async def hold_edges(connection: Connection, scope: Scope, reasons: Mapping[UUID, str], *, now: datetime) -> int:
    """Write why edges are held, and return how many changed."""
    ids, texts = list(reasons), list(reasons.values())
    return int(await _sql.hold_edges(connection, **scope.key, link_ids=ids, reasons=texts, now=now))


async def pages_after(
    connection: Connection, scope: Scope, place: tuple[str, str], *, limit: int
) -> list[tuple[UUID, tuple[str, str]]]:
    """Return the next pages in order of type and slug, including archived ones, each with its place."""
    rows = await _sql.page_ids_after(connection, **scope.key, type=place[0], slug=place[1], limit=limit)
    return [(row["page_id"], (row["type"], row["slug"])) for row in rows]


async def everything(connection: Connection, scope: Scope) -> list[Any]:
    """Return the ontology's columns of the whole wiki, for comparison."""
    return list(await _sql.all_governed(connection, **scope.key))
