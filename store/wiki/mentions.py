"""Writes of held names (names without a page yet) and their sightings in memories, as columns.

Every function takes a connection inside a scoped transaction whose caller holds the scope's row. Results are row counts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


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
