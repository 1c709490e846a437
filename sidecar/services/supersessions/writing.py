"""Writes memories in the caller's transaction, with all that follows from their texts.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from compiler.decay.compress import remake_above
from compiler.releases import releasing
from models.tokens.meters import stored_counts
from sidecar.runtime.errors import InvalidArgument
from store.content import memories
from store.content.memories import PreparedMemories, Retained
from store.content.storage import StorageLimits
from store.db.queries import Connection
from store.ontology import evidence
from store.scope import Scope
from store.tenancy import traces

MAX_PINNED_TOKENS = 300


async def write_memories(
    connection: Connection,
    scope: Scope,
    prepared: PreparedMemories,
    limits: StorageLimits,
    *,
    now: datetime,
    field: str,
) -> Retained:
    """Write the memories, and update what depends on them: their summaries, quotes that they no longer contain, and their copies
    in the Brain.

    Raises QuotaExceeded, TooManyMemories, InvalidArgument for `field` as `check_pinned` does, and for a memory that was drawn
    from a turn that was forgotten meanwhile.
    """
    retained = await memories.write(connection, scope, prepared, now=now, limits=limits)
    await _check_turns(connection, scope, prepared, now=now, field=field.partition(".")[0])
    summary_ids = await remake_above(connection, scope, retained.edited_ids, now=now)
    written = [*retained.memory_ids, *summary_ids]
    await check_pinned(connection, scope, written, field=field)
    if retained.updated_count:
        await evidence.forget_unsaid(connection, scope, written)
        await releasing.follow(connection, scope, written, now=now)
    return retained


async def _check_turns(
    connection: Connection, scope: Scope, prepared: PreparedMemories, *, now: datetime, field: str
) -> None:
    """Raise InvalidArgument if a memory names a turn that was forgotten in the last hour: it would repeat what the turn said."""
    named = {turn_id: memory_id for memory_id, one, _ in prepared.rows for turn_id in one.turn_ids}
    gone = await traces.forgotten_turns(connection, scope, named, now=now)
    if gone:
        place = prepared.memory_ids.index(named[gone[0]])
        path = f"{field}.turn_ids" if field == "edit" else f"{field}[{place}].turn_ids"
        raise InvalidArgument(path, f"names the turn {gone[0]}, which was forgotten meanwhile", "leave that memory out")


async def check_pinned(connection: Connection, scope: Scope, memory_ids: Collection[str], *, field: str) -> None:
    """Raise InvalidArgument if the owner's pinned memories take more than 300 tokens in a context, marks included, and one of
    these memories is pinned.
    """
    pinned = await memories.pinned(connection, scope)
    tokens = sum(stored_counts(f"[p1] {one.text}\n").o200k_base for one in pinned)
    if tokens > MAX_PINNED_TOKENS and not {one.memory_id for one in pinned}.isdisjoint(memory_ids):
        problem = f"the pinned memories would take {tokens} tokens, and may take {MAX_PINNED_TOKENS} in total"
        raise InvalidArgument(field, problem, "unpin or shorten one (sidecar memory list --pinned shows them)")
