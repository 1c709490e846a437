"""The ledger: one row per memory, with the content last read and the outcome of compiling it.

Every function takes a connection inside a scoped transaction. A forgotten memory is 'gone' until the pages that cite it are
rebuilt. A memory that must be read again although no feed reports it is 'owed' until it was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from hashlib import sha256

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)


class MemoryOutcome(StrEnum):
    """The outcome of compiling a memory."""

    APPLIED = "applied"
    FILTERED = "filtered"
    QUARANTINED = "quarantined"
    GONE = "gone"
    OWED = "owed"


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The row of one memory. `content_hash` covers text, metadata, document and instant; `text_hash` the text alone.

    `hub_keys` are those of the hubs that its metadata names (see `hub_key`).
    """

    memory_id: str
    document_id: str
    content_hash: bytes
    text_hash: bytes
    occurred_at: datetime
    outcome: MemoryOutcome = MemoryOutcome.APPLIED
    reason: str = ""
    hub_keys: tuple[str, ...] = ()


def hub_key(title: str) -> str:
    """Return the key of a hub by its folded title: 16 hexadecimal digits of its SHA-256."""
    return sha256(title.encode()).hexdigest()[:16]


async def read(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> dict[str, LedgerEntry]:
    """Return the rows of the memories that have one."""
    rows = await _sql.ledger_of(connection, **scope.key, memory_ids=list(memory_ids))
    return {row["memory_id"]: _entry(row) for row in rows}


async def read_all(connection: Connection, scope: Scope) -> dict[str, LedgerEntry]:
    """Return every row of the scope."""
    return {row["memory_id"]: _entry(row) for row in await _sql.whole_ledger(connection, **scope.key)}


async def write(connection: Connection, scope: Scope, entries: Sequence[LedgerEntry], *, now: datetime) -> None:
    """Write the rows, replacing existing ones."""
    if not entries:
        return
    await _sql.write_ledger(
        connection,
        **scope.key,
        memory_ids=[one.memory_id for one in entries],
        document_ids=[one.document_id for one in entries],
        content_hashes=[one.content_hash for one in entries],
        text_hashes=[one.text_hash for one in entries],
        occurred_at=[one.occurred_at for one in entries],
        outcomes=[one.outcome.value for one in entries],
        reasons=[one.reason for one in entries],
        hub_keys=[",".join(one.hub_keys) for one in entries],
        now=now,
    )


async def mark_gone(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> int:
    """Mark memories as forgotten, with a new row for those without one; return how many."""
    return int(await _sql.mark_gone(connection, **scope.key, memory_ids=list(memory_ids), now=now))


async def gone(connection: Connection, scope: Scope, *, limit: int) -> list[str]:
    """Return forgotten memories whose pages still have to be rebuilt, in order of id."""
    rows = await _sql.gone_memories(connection, **scope.key, limit=limit)
    return [row["memory_id"] for row in rows]


async def queue_reread(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> int:
    """Queue memories that have a row to be read again, and return how many; forgotten ones stay forgotten."""
    return (
        int(await _sql.queue_reread(connection, **scope.key, memory_ids=list(memory_ids), now=now)) if memory_ids else 0
    )


async def reread_quarantined(connection: Connection, scope: Scope, reasons: Sequence[str], *, now: datetime) -> int:
    """Queue memories quarantined for one of these reasons to be read again, and return how many."""
    return int(await _sql.reread_quarantined(connection, **scope.key, reasons=list(reasons), now=now))


async def reread_queue(connection: Connection, scope: Scope, *, limit: int) -> list[str]:
    """Return memories queued to be read again, oldest first."""
    rows = await _sql.reread_queue(connection, **scope.key, limit=limit)
    return [row["memory_id"] for row in rows]


async def write_off(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    """Remove memories that no longer exist from the reread queue; reconciliation will find them gone."""
    if memory_ids:
        await _sql.write_off(connection, **scope.key, memory_ids=list(memory_ids), now=now)


async def unlinked(connection: Connection, scope: Scope, *, limit: int) -> list[str]:
    """Return memories cited by an entity page that does not lead to the topic which they name as their hub, by id."""
    return [row["memory_id"] for row in await _sql.unlinked(connection, **scope.key, limit=limit)]


async def leave_unlinked(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Link these memories to their hubs only once they are read again: their links were rolled back."""
    if memory_ids:
        await _sql.leave_unlinked(connection, **scope.key, memory_ids=list(memory_ids))


async def drop(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete the rows of memories that no page cites any more."""
    if memory_ids:
        await _sql.drop_from_ledger(connection, **scope.key, memory_ids=list(memory_ids))


async def reopen(connection: Connection, scope: Scope) -> int:
    """Make every memory new to the compile, and return how many; edits and forgotten memories are still detected."""
    return int(await _sql.reopen_ledger(connection, **scope.key))


async def clear(connection: Connection, scope: Scope) -> int:
    """Delete every row of the scope, and return how many."""
    return int(await _sql.clear_ledger(connection, **scope.key))


async def rename(connection: Connection, scope: Scope, pairs: Sequence[tuple[str, str]]) -> None:
    """Replace each old memory id by the new one wherever the compile refers to it, given as pairs (old, new)."""
    key = {**scope.key, "old_ids": [old for old, _ in pairs], "new_ids": [new for _, new in pairs]}
    await _sql.rename_in_ledger(connection, **key)
    await _sql.rename_sources(connection, **key)
    await _sql.rename_sightings(connection, **key)
    await _sql.rename_evidence(connection, **key)
    await _sql.rename_in_log(connection, **key)
    await _sql.rename_in_answers(connection, **key)


def _entry(row: object) -> LedgerEntry:
    values = dict(row)  # type: ignore[call-overload]  # a record is a mapping, which the driver does not say
    read = {"outcome": MemoryOutcome(values["outcome"]), "hub_keys": tuple(values["hub_keys"])}
    return LedgerEntry(**values | read)
