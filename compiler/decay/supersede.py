"""Supersession: a memory that corrects or contradicts others ends them, and an undo makes them current again.

An ended memory is not deleted: it is valid until the start of the memory that superseded it. Every function takes a connection
inside a transaction of the scope that is passed.

Edges come from an operator, from an edit, or from a model's plan (`compiler/job/endings.py`); no rule finds contradictions yet.
Typed edges of the wiki that an ended memory states are made again from its text when the compile reads it again. Further effects
of a supersession belong in `follow`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from compiler.errors import SupersessionRefused
from compiler.passes import forgetting
from compiler.releases import releasing
from store.content import feed, memories, standing, supersessions
from store.content.memories import Memory, NewMemory
from store.content.supersessions import Supersession, SupersessionReason
from store.content.tiers import AuthorityTier, MemoryStatus, least_trusted
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import edge_ends

MAX_SUPERSEDED = 200


@dataclass(frozen=True, slots=True)
class SupersessionCause:
    """Why memories are superseded: corrected or contradicted, with the evidence, and the job if one did it.

    `most_trusted` is the authority of the statement: it ends no memory of a higher tier.
    """

    reason: SupersessionReason
    evidence: str = ""
    job_id: UUID | None = None
    most_trusted: AuthorityTier = AuthorityTier.DERIVED


async def supersede(
    connection: Connection,
    scope: Scope,
    memory_id: str,
    superseded_ids: Sequence[str],
    cause: SupersessionCause,
    *,
    now: datetime,
) -> bool:
    """Supersede memories by another one, and return whether the wiki must be compiled. Earlier supersessions by it stay.

    Each superseded memory is valid until the other's `valid_from`, else its `occurred_at`. Raises SupersessionRefused, and writes
    nothing, for none or more than 200, and for a memory that does not exist, leads back to this one, or is above the cause's
    tier.
    """
    distinct = list(dict.fromkeys(superseded_ids))
    if not 1 <= len(distinct) <= MAX_SUPERSEDED:
        raise SupersessionRefused(f"the number of memories is {len(distinct)}; give 1 to {MAX_SUPERSEDED}")
    await feed.hold(connection, scope)
    held = await memories.lock(connection, scope, [memory_id, *distinct])
    if missing := [one for one in (memory_id, *distinct) if one not in held]:
        raise SupersessionRefused(f"the owner has no memory {missing[0]!r}")
    if memory_id in distinct:
        raise SupersessionRefused(f"memory {memory_id!r} cannot supersede itself")
    if above := [one for one in distinct if AuthorityTier.parse(held[one].authority) > cause.most_trusted]:
        authority = f"{held[above[0]].authority}, above the caller's {cause.most_trusted.name.title()}"
        raise SupersessionRefused(f"memory {above[0]!r} has the authority {authority}; an operator may supersede it")
    for one in distinct:
        if await supersessions.leads_to(connection, scope, one, [memory_id]):
            raise SupersessionRefused(f"memory {one!r} supersedes {memory_id!r}; restore {memory_id!r} first")
    known = {edge.superseded_id for edge in await supersessions.live_ends(connection, scope, memory_id)}
    edges = [
        Supersession(memory_id, one, now, cause.reason, place, cause.job_id, cause.evidence)
        for place, one in enumerate(distinct, 1)
        if one not in known
    ]
    if edges:
        await supersessions.insert(connection, scope, edges)
    return await follow(connection, scope, distinct, now=now)


async def restore(
    connection: Connection, scope: Scope, memory_id: str, *, from_id: str | None = None, now: datetime
) -> bool:
    """Undo the supersession of a memory, by one memory or by all, and return whether the wiki must be compiled.

    The edges stay, with the instant of the undo. An end that the memory's writer stated stays too.
    """
    await feed.hold(connection, scope)
    await supersessions.undo(connection, scope, memory_id, memory_id=from_id, now=now)
    return await follow(connection, scope, [memory_id], now=now)


async def follow(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> bool:
    """Make the state of the memories follow from their edges, and return whether the wiki must be compiled.

    The typed edges that they state end and return with them. Memories behind an accepted summary are withdrawn from the wiki:
    pages cite the summary, never both. Copies of ended memories are withdrawn from the tenant's Brain.
    """
    settled = await standing.settle(connection, scope, memory_ids, now=now)
    await edge_ends.settle_stated_by(connection, scope, [one.memory_id for one in settled])
    accepted = [one for one in settled if one.status is MemoryStatus.ACCEPTED]
    if covered := [one.memory_id for one in accepted if one.is_compressed]:
        await forgetting.withdraw(connection, scope, covered, now=now)
    await releasing.follow(connection, scope, memory_ids, now=now)
    return bool(accepted)


def edit_of(edit: NewMemory, superseded: Iterable[Memory]) -> NewMemory:
    """Return the edit with no more trust than the memories that it supersedes.

    Its authority is the least trusted of all, its confidence at most that of a superseded summary, and it is a candidate if one
    of them is: rewording a memory neither raises its authority nor accepts it.
    """
    replaced = list(superseded)
    doubts = [one.confidence for one in replaced if one.source_events]
    is_candidate = any(one.status is MemoryStatus.CANDIDATE for one in replaced)
    return replace(
        edit,
        authority=least_trusted(
            [edit.authority or AuthorityTier.AGENT.name.title(), *(one.authority for one in replaced)]
        ),
        confidence=min([1.0 if edit.confidence is None else edit.confidence, *doubts]),
        status=MemoryStatus.CANDIDATE if is_candidate else edit.status,
    )
