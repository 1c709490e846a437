"""Applies the ends of memories that a plan decided, in the transaction that applies the plan.

Each becomes an edge of supersession that names the job and the newer memory's words. What follows from it is read by the job's
next batch: the ended memory, and with it the pages that it feeds.
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
from store.content import memories, supersessions
from store.content.memories import Memory
from store.content.supersessions import SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.queries import Connection
from store.scope import Scope, is_brain

MOST_TRUSTED = AuthorityTier.AGENT
"""A plan is an agent's word: no memory of a user ends by it."""


def ends_of(items: Iterable[Item]) -> tuple[EndMemory, ...]:
    """Return the memories that the items end."""
    return tuple(item for item in items if isinstance(item, EndMemory))


async def apply(
    connection: Connection, scope: Scope, ends: tuple[EndMemory, ...], *, job_id: UUID | None, now: datetime
) -> tuple[int, Counter[str]]:
    """End the memories that may end, and return how many edges were written, and how many ends were refused, by reason.

    The caller holds the owner's feed. One that ended by the same memory already is left alone. In a Brain none ends: there the
    owners' memories decide, and copies follow them.
    """
    if is_brain(scope.owner_id):
        return 0, Counter(supersession_in_brain=len(ends)) if ends else Counter()
    held = await memories.lock(
        connection, scope, sorted({id_ for one in ends for id_ in (one.memory_id, one.superseded_id)})
    )
    standing = {memory_id: _standing(one) for memory_id, one in held.items() if _is_compiled(one)}
    known = await supersessions.ends_between(connection, scope, [(one.memory_id, one.superseded_id) for one in ends])
    undone = {(edge.memory_id, edge.superseded_id) for edge in known if edge.undone_at is not None}
    live = {(edge.memory_id, edge.superseded_id) for edge in known if edge.undone_at is None}
    written, refused = 0, Counter[str]()
    for one in ends:
        if (one.memory_id, one.superseded_id) in live:
            continue
        reason = refusal(one, standing, undone, most_trusted=MOST_TRUSTED.trust_rank)
        if not reason:
            cause = SupersessionCause(SupersessionReason(one.reason), one.evidence, job_id, MOST_TRUSTED)
            try:
                await supersede(connection, scope, one.memory_id, [one.superseded_id], cause, now=now)
                written += 1
            except SupersessionRefused:
                reason = "supersession_in_circle"
        refused.update([reason] if reason else [])
    return written, refused


def _standing(memory: Memory) -> EndStanding:
    return EndStanding(
        AuthorityTier.parse(memory.authority).trust_rank, memory.validity.valid_from or memory.occurred_at
    )


def _is_compiled(memory: Memory) -> bool:
    return memory.status is MemoryStatus.ACCEPTED and not memory.is_compressed
