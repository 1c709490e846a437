"""Held names (names without a page yet) and their sightings in memories: read in pages, written as columns.

Every function takes a connection inside a scoped transaction; the caller of `write` holds the scope's row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid5

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope
from store.wiki.browse import NO_ID, PageRef

_sql = queries.load(__file__)
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class SightingWrite:
    """A memory that contains a held name."""

    key: str
    memory_id: str
    quote: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class HeldRow:
    """A name to hold."""

    key: str
    alias: str
    suggested_type: str | None


@dataclass(frozen=True, slots=True)
class MentionChanges:
    """Names to hold, sightings to add and to remove, names that got a page (key and page), and names to ignore."""

    held: tuple[HeldRow, ...] = ()
    sightings: tuple[SightingWrite, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    settled: tuple[tuple[str, UUID], ...] = ()
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MentionCounts:
    """The number of rows written and removed."""

    held: int = 0
    sightings: int = 0
    settled: int = 0
    removed: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class SightingRow:
    """A memory that contains a held name."""

    memory_id: str
    quote: str
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class MentionRow:
    """A held name; `status` is open, promoted or ignored, `newest` holds its five newest sightings.

    With a `reason` the row is a type held by an ontology: the `held_type` of a page, or of an edge from that page to `target`.
    """

    mention_id: UUID
    alias: str
    key: str
    suggested_type: str | None
    status: str
    promoted_page_id: UUID | None
    updated_at: datetime
    sighting_count: int
    first_seen_at: datetime | None
    last_seen_at: datetime | None
    newest: tuple[SightingRow, ...] = field(default=())
    held_type: str = ""
    reason: str = ""
    page: PageRef | None = None
    target: PageRef | None = None


async def write(connection: Connection, scope: Scope, changes: MentionChanges, *, now: datetime) -> MentionCounts:
    """Hold names, add and remove sightings, settle names. An ignored name is not held again."""
    key = scope.key
    held = sightings = settled = removed = ignored = 0
    if changes.held:
        held = await _sql.hold_mentions(
            connection,
            **key,
            mention_ids=[mention_uuid(scope, one.key) for one in changes.held],
            keys=[one.key for one in changes.held],
            aliases=[one.alias for one in changes.held],
            types=[one.suggested_type for one in changes.held],
            now=now,
        )
        sightings = await _sql.write_sightings(
            connection,
            **key,
            keys=[one.key for one in changes.sightings],
            memory_ids=[one.memory_id for one in changes.sightings],
            quotes=[one.quote for one in changes.sightings],
            seen_at=[one.seen_at for one in changes.sightings],
        )
    if changes.dropped:
        keys, memory_ids = (list(column) for column in zip(*changes.dropped, strict=True))
        await _sql.drop_sightings(connection, **key, keys=keys, memory_ids=memory_ids)
        removed = await _sql.drop_unseen_mentions(connection, **key)
    if changes.settled:
        keys, page_ids = (list(column) for column in zip(*changes.settled, strict=True))
        await _sql.forget_settled(connection, **key, keys=keys)
        settled = await _sql.settle_mentions(connection, **key, keys=keys, page_ids=page_ids, now=now)
    if changes.ignored:
        ignored = await _sql.ignore_mentions(connection, **key, keys=list(changes.ignored), now=now)
    return MentionCounts(held, sightings, settled, removed, ignored)


def mention_uuid(scope: Scope, key: str) -> UUID:
    """Return the id of a held name."""
    return uuid5(scope.owner_id, f"{scope.tenant_id}:mention:{key}")


async def listed(
    connection: Connection, scope: Scope, *, status: str, after: tuple[datetime, UUID] | None = None, limit: int
) -> list[MentionRow]:
    """Return held names of a status, latest first, each with its newest sightings."""
    before, after_id = after or (_END_OF_TIME, NO_ID)
    rows = await _sql.list_mentions(
        connection, **scope.key, status=status, before=before, after_id=after_id, limit=limit
    )
    seen: dict[UUID, list[SightingRow]] = {}
    ids = [row["mention_id"] for row in rows]
    for one in await _sql.newest_sightings(connection, tenant_id=scope.tenant_id, mention_ids=ids):
        seen.setdefault(one["mention_id"], []).append(SightingRow(one["memory_id"], one["quote"], one["seen_at"]))
    return [_mention(row, tuple(seen.get(row["mention_id"], ()))) for row in rows]


def _mention(row: Any, newest: tuple[SightingRow, ...]) -> MentionRow:
    held = row["page_id"] is not None
    page = PageRef(row["page_id"], row["type"], row["slug"], row["title"]) if held else None
    is_edge = row["target_id"] is not None
    target = PageRef(row["target_id"], row["target_type"], row["target_slug"], row["target_title"]) if is_edge else None
    alias = f"{row['title']} {row['held_type']} {row['target_title']}" if is_edge else row["alias"]
    return MentionRow(
        row["mention_id"], alias, row["alias_normalized"], row["suggested_type"], row["status"],
        row["promoted_page_id"], row["updated_at"], row["sightings"], row["first_seen_at"], row["last_seen_at"], newest,
        row["held_type"], row["held_reason"], page, target,
    )  # fmt: skip
