"""Applies the ends of memories that a plan decided, in the transaction that applies the plan.

Each becomes a supersession edge with the job and the quoted words of the newer memory. The job's next batch reads the ended
memory again, and rebuilds the pages that cite it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from uuid import UUID

from compiler.decay.supersede import SupersessionCause, supersede
from compiler.errors import SupersessionRefused
from compiler.plan.contract import EndMemory, Item
from compiler.plan.judging.ending import EndStanding, refusal
from compiler.state.substrates import MemorySubstrate
from store.content import feed, memories, supersessions
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier
from store.db.queries import Connection
from store.scope import Scope, is_brain

MOST_TRUSTED = AuthorityTier.AGENT
"""A plan has the authority of an agent: it ends no memory of a user."""


def ends_of(items: Iterable[Item]) -> tuple[EndMemory, ...]:
    """Return the memories that the items end."""
    return tuple(item for item in items if isinstance(item, EndMemory))


def barred(scope: Scope, substrate: MemorySubstrate) -> str:
    """Return why plans end no memories in the scope: `other_service`, or `brain`, whose copies follow memories; else empty."""
    if substrate.feed(scope).is_timed:
        return "other_service"
    return "brain" if is_brain(scope.owner_id) else ""


async def apply(
    connection: Connection, scope: Scope, ends: tuple[EndMemory, ...], *, job_id: UUID | None, now: datetime
) -> tuple[int, Counter[str]]:
    """End the memories that may end. Return the number of edges written, and the number of refused ends by reason.

    The caller holds the owner's feed. Pairs that already have a live edge are skipped.
    """
    standing = await _standing(connection, scope, sorted({memory_id for one in ends for memory_id in one.pair}))
    known = await supersessions.ends_between(connection, scope, [one.pair for one in ends])
    undone = {(edge.memory_id, edge.superseded_id) for edge in known if edge.undone_at is not None}
    live = {(edge.memory_id, edge.superseded_id) for edge in known if edge.undone_at is None}
    written, refused = 0, Counter[str]()
    for one in ends:
        if one.pair in live:
            continue
        reason = refusal(one, standing, undone, most_trusted=MOST_TRUSTED.trust_rank)
        if not reason:
            cause = SupersessionCause(SupersessionReason(one.reason), one.evidence, job_id, MOST_TRUSTED)
            try:
                await supersede(connection, scope, one.newer.memory_id, [one.older.memory_id], cause, now=now)
                written += 1
            except SupersessionRefused:
                reason = "supersession_in_circle"
        refused.update([reason] if reason else [])
    return written, refused


async def _standing(connection: Connection, scope: Scope, memory_ids: list[str]) -> dict[str, EndStanding]:
    """Lock the memories and return their stored facts, without memories that a compile no longer reads."""
    held = await memories.lock(connection, scope, memory_ids)
    read = {one.memory_id: one.text_hash for one in await feed.by_ids(connection, scope, memory_ids)}
    return {
        memory_id: EndStanding(
            AuthorityTier.parse(one.authority).trust_rank, one.validity.valid_from or one.occurred_at, read[memory_id]
        )
        for memory_id, one in held.items()
        if memory_id in read
    }
