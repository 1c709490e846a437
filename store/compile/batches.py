"""The log of a scope's batches: the memories each read and, until it is fully applied, its plan.

Every function takes a connection inside a scoped transaction. Items are JSON here; `compiler/plan` defines their meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import orjson

from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.db import queries
from store.db.queries import Connection, Json, value_of
from store.scope import Scope
from store.wiki.candidates import Place

_sql = queries.load(__file__)


class BatchKind(StrEnum):
    """The cause of a batch: new memories, edited and forgotten ones, an aggregation, an operator, or a reset."""

    LEAF = "leaf"
    STALE = "stale"
    AGGREGATION = "aggregation"
    OPERATOR = "operator"
    RESET = "reset"


PLANNED = frozenset({BatchKind.LEAF, BatchKind.STALE, BatchKind.AGGREGATION})
"""The kinds whose items rules or a model planned."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of the log. `items` is None once it is fully applied, or after a memory it saw was forgotten.

    `revision`, `cursor_from` and `cursor_to` are the state it was planned
    against. `seen_memory_ids` are the memories whose words may appear in the items, `entries` the ledger rows to write when it
    is applied. `options` holds the plan's inputs other than the memories.
    """

    batch_seq: int
    kind: BatchKind
    job_id: UUID | None
    revision: int
    cursor_from: str
    cursor_to: str
    read_through: int
    memory_ids: tuple[str, ...]
    content_hashes: tuple[str, ...]
    seen_memory_ids: tuple[str, ...] = ()
    items: Sequence[Any] | None = None
    items_applied: int = 0
    entries: tuple[LedgerEntry, ...] = ()
    counters: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


async def store(connection: Connection, scope: Scope, batch: Batch, plan: bytes, *, now: datetime) -> None:
    """Write a planned batch to the log, replacing one that is still only planned. `plan` is its items as JSON text."""
    await _sql.discard_planned(connection, **scope.key)
    columns = _columns(batch) | {"items": Json(orjson.Fragment(plan))}
    await _sql.insert_batch(connection, **scope.key, **columns, status="planned", applied_at=None, now=now)


async def log_applied(connection: Connection, scope: Scope, batch: Batch, *, now: datetime) -> None:
    """Write a batch that is applied in this transaction to the log; an operator's batch keeps its items."""
    await _sql.insert_batch(connection, **scope.key, **_columns(batch), status="applied", applied_at=now, now=now)


async def planned(connection: Connection, scope: Scope) -> Batch | None:
    """Return the batch that is planned and not fully applied, or None."""
    row = await _sql.planned_batch(connection, **scope.key)
    return row and _batch(row)


async def finish(connection: Connection, scope: Scope, batch_seq: int, *, now: datetime) -> None:
    """Mark a batch applied and delete its items."""
    await _sql.finish_batch(connection, **scope.key, batch_seq=batch_seq, now=now)


async def keep_rest(connection: Connection, scope: Scope, batch_seq: int, *, items_applied: int, revision: int) -> None:
    """Record how many items were applied, and the revision that the remaining items are now based on."""
    await _sql.keep_rest(connection, **scope.key, batch_seq=batch_seq, items_applied=items_applied, revision=revision)


async def discard(connection: Connection, scope: Scope) -> int:
    """Discard the planned batch, which was superseded, and return how many there were.

    A partly applied batch stays in the log; its option `taken` is the number of items applied.
    """
    closed = await _sql.close_planned(connection, **scope.key)
    return int(closed) + int(await _sql.discard_planned(connection, **scope.key))


async def aggregated_before(connection: Connection, scope: Scope, job_id: UUID) -> int:
    """Return the last batch that aggregation had fully covered before a job, 0 if none.

    Plans that an earlier job cut at a cap are not covered: they are this job's work.
    """
    return int(await _sql.aggregated_before(connection, **scope.key, job_id=job_id) or 0)


async def aggregated_to(connection: Connection, scope: Scope) -> tuple[UUID | None, Place | None, bool]:
    """Return the job that aggregated last, the place of the last page it saw, and whether that aggregation failed.

    The place is None if it saw all pages.
    """
    row = await _sql.last_aggregated(connection, **scope.key)
    if row is None:
        return None, None, False
    reached = row["reached"]
    return row["job_id"], None if reached is None else (reached[0], reached[1], reached[2]), row["is_failed"]


async def memories_since(connection: Connection, scope: Scope, after: int, *, limit: int) -> list[str]:
    """Return the last `limit` memories read by applied batches after batch `after`, in reading order."""
    rows = await _sql.memories_since(connection, **scope.key, after=after, limit=limit)
    return [row["memory_id"] for row in rows]


async def judged_since(connection: Connection, scope: Scope, after: int) -> tuple[list[UUID], list[UUID]]:
    """Return the ids of the pages and of the held names that applied batches after batch `after` left to be judged again."""
    rows = await _sql.judged_since(connection, **scope.key, after=after)
    return [row["id"] for row in rows if row["is_page"]], [row["id"] for row in rows if not row["is_page"]]


async def log(connection: Connection, scope: Scope, *, after: int = 0, limit: int = 1000) -> list[Batch]:
    """Return a page of the applied batches, oldest first."""
    rows = await _sql.batch_log(connection, **scope.key, after=after, limit=limit)
    return [_batch(row) for row in rows]


async def planned_otherwise(connection: Connection, scope: Scope, rules: int) -> int:
    """Return how many batches of the log were planned by other rules than this version's."""
    count: int = await _sql.planned_otherwise(connection, **scope.key, kinds=sorted(PLANNED), rules=str(rules))
    return count


async def forget(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Delete plans that saw one of the memories, and the items of operators' batches that did; return how many."""
    closed = await _sql.close_plans_that_saw(connection, **scope.key, memory_ids=list(memory_ids))
    removed = await _sql.discard_plans_that_saw(connection, **scope.key, memory_ids=list(memory_ids))
    emptied = await _sql.empty_acts_that_saw(connection, **scope.key, memory_ids=list(memory_ids))
    return int(closed) + int(removed) + int(emptied)


async def forget_texts(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> int:
    """Delete the items of operators' batches that hold texts of pages and saw one of the memories; return how many."""
    return int(await _sql.empty_acts_with_texts(connection, **scope.key, memory_ids=list(memory_ids)))


async def forget_names(connection: Connection, scope: Scope, pages: Sequence[tuple[str, str]]) -> int:
    """Delete the items of operators' batches that name one of the pages (slug, path); return the number of batches."""
    slugs, paths = [slug for slug, _ in pages], [path for _, path in pages]
    return int(await _sql.empty_acts_that_name(connection, **scope.key, slugs=slugs, paths=paths))


async def clear(connection: Connection, scope: Scope) -> None:
    """Delete the whole log of the scope."""
    await _sql.clear_log(connection, **scope.key)


def _columns(batch: Batch) -> dict[str, object]:
    return {
        "batch_seq": batch.batch_seq,
        "kind": batch.kind.value,
        "job_id": batch.job_id,
        "revision": batch.revision,
        "cursor_from": batch.cursor_from,
        "cursor_to": batch.cursor_to,
        "read_through": batch.read_through,
        "options": dict(batch.options),
        "memory_ids": list(batch.memory_ids),
        "content_hashes": list(batch.content_hashes),
        "seen_memory_ids": list(batch.seen_memory_ids),
        "items": None if batch.items is None else Json(batch.items),
        "items_applied": batch.items_applied,
        "verdicts": Json([_written(one) for one in batch.entries]),
        "counters": dict(batch.counters),
    }


def _batch(row: Any) -> Batch:
    listed = {name: tuple(row[name]) for name in ("memory_ids", "content_hashes", "seen_memory_ids")}
    entries = tuple(_entry(one) for one in row["verdicts"])
    return value_of(Batch, row, kind=BatchKind(row["kind"]), entries=entries, **listed)


def _written(entry: LedgerEntry) -> list[str]:
    return [
        entry.memory_id,
        entry.document_id,
        entry.content_hash.hex(),
        entry.text_hash.hex(),
        entry.occurred_at.isoformat(),
        entry.outcome.value,
        entry.reason,
        *entry.hub_keys,
    ]


def _entry(values: list[str]) -> LedgerEntry:
    memory_id, document_id, content, text, occurred_at, outcome, reason, *hub_keys = values
    hashes, instant = (bytes.fromhex(content), bytes.fromhex(text)), datetime.fromisoformat(occurred_at)
    return LedgerEntry(memory_id, document_id, *hashes, instant, MemoryOutcome(outcome), reason, tuple(hub_keys))
