"""Operators' rulings on pages: titles, names, merged pages, sentences that a page must not contain.

Every function takes a connection inside a scoped transaction; callers of writes hold the scope's row. Results are row counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class RulingRow:
    """A ruling on the page of a type and slug; `into_type` and `into_slug` are set only for a merged page."""

    kind: str
    page_type: str
    page_slug: str
    ref: str = ""
    text: str = ""
    detail: str = ""
    into_type: str = ""
    into_slug: str = ""
    memory_ids: tuple[str, ...] = ()
    ruled_at: datetime | None = None


async def listed(connection: Connection, scope: Scope) -> list[RulingRow]:
    """Return every ruling of the owner, by kind, page and `ref`."""
    rows = await _sql.list_rulings(connection, **scope.key)
    return [RulingRow(**{**dict(row), "memory_ids": tuple(row["memory_ids"])}) for row in rows]


async def write(connection: Connection, scope: Scope, rulings: Sequence[RulingRow], *, now: datetime) -> int:
    """Write rulings, and return how many are new or differ."""
    if not rulings:
        return 0
    columns: dict[str, Any] = {
        **_places(rulings),
        "texts": [one.text for one in rulings],
        "details": [one.detail for one in rulings],
        "into_types": [one.into_type for one in rulings],
        "into_slugs": [one.into_slug for one in rulings],
        "memory_ids": [list(one.memory_ids) for one in rulings],
    }
    return int(await _sql.write_rulings(connection, **scope.key, **columns, now=now))


async def drop(connection: Connection, scope: Scope, rulings: Sequence[RulingRow]) -> int:
    """Delete rulings, and return how many there were."""
    return int(await _sql.drop_rulings(connection, **scope.key, **_places(rulings))) if rulings else 0


async def drop_on_pages(connection: Connection, scope: Scope, pages: Sequence[tuple[str, str]]) -> int:
    """Delete the rulings on deleted pages (type, slug), and return how many there were."""
    if not pages:
        return 0
    types, slugs = [one[0] for one in pages], [one[1] for one in pages]
    return int(await _sql.drop_rulings_on_pages(connection, **scope.key, types=types, slugs=slugs))


async def forget(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Remove the memories from rulings, and delete rulings that rested on them alone."""
    await _sql.release_memories(connection, **scope.key, memory_ids=list(memory_ids))
    await _sql.drop_rulings_resting_on(connection, **scope.key, memory_ids=list(memory_ids))


async def forget_sentences(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete the rulings about sentences of edited memories."""
    await _sql.drop_sentences_of(connection, **scope.key, memory_ids=list(memory_ids))


async def forget_sentences_on(connection: Connection, scope: Scope, page_ids: Sequence[UUID]) -> None:
    """Empty the texts of reported sentences on these pages if no memory of the sentence is known; the sentences stay away."""
    await _sql.forget_sentences_on(connection, **scope.key, page_ids=list(page_ids))


def _places(rulings: Sequence[RulingRow]) -> dict[str, list[str]]:
    return {
        "kinds": [one.kind for one in rulings],
        "page_types": [one.page_type for one in rulings],
        "page_slugs": [one.page_slug for one in rulings],
        "refs": [one.ref for one in rulings],
    }
