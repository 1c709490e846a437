"""Compression of candidate memories into one summary memory, itself a candidate.

The sources stay. Edges of the reason "compressed" say which summary stands for them. Every function takes a connection inside a
transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from compiler.decay.summary import DecaySource, DecaySummary, summarise
from compiler.errors import CompressionRefused
from store.content import memories, supersessions
from store.content.memories import ORIGIN, Memory, NewMemory
from store.content.supersessions import Supersession, SupersessionReason
from store.content.tiers import MemoryStatus
from store.db.queries import Connection
from store.scope import Scope

SUMMARY = "summary"
"""The `memory_type` of a summary."""

MAX_SOURCES = 200


async def compress_candidate_memories(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], summary_id: str, *, now: datetime
) -> Memory:
    """Compress candidates into one summary with the given new id, and return it. A source that is given again counts once.

    Sources that were compressed together already, in this order, return the summary that they have. Raises CompressionRefused,
    and writes nothing, for fewer than two sources, more than 200, and a source that does not exist, is not a candidate, or is
    in another summary.
    """
    return await compress_candidate_memories_with_job(connection, scope, memory_ids, summary_id, None, now=now)


async def compress_candidate_memories_with_job(
    connection: Connection,
    scope: Scope,
    memory_ids: Sequence[str],
    summary_id: str,
    job_id: UUID | None,
    *,
    now: datetime,
) -> Memory:
    """Compress candidates as `compress_candidate_memories` does; the edges name the decay job."""
    distinct = list(dict.fromkeys(memory_ids))
    if not 2 <= len(distinct) <= MAX_SOURCES:
        raise CompressionRefused(f"{len(distinct)} sources were given; give 2 to {MAX_SOURCES} different ones")
    held = await memories.lock(connection, scope, distinct)
    if missing := [one for one in distinct if one not in held]:
        raise CompressionRefused(f"the owner has no memory {missing[0]!r}")
    if others := [one for one in distinct if held[one].status is not MemoryStatus.CANDIDATE]:
        raise CompressionRefused(f"memory {others[0]!r} is {held[others[0]].status}; only candidates are compressed")
    if known := await supersessions.live_to(connection, scope, distinct, SupersessionReason.COMPRESSED):
        if [edge.superseded_id for edge in known] == distinct and len({edge.memory_id for edge in known}) == 1:
            return (await memories.lock(connection, scope, [known[0].memory_id]))[known[0].memory_id]
        raise CompressionRefused(f"memory {known[0].superseded_id!r} is in the summary {known[0].memory_id!r} already")
    row = _new_memory(summary_id, summarise([_source(held[one]) for one in distinct]))
    await memories.retain(connection, scope, [row], now=now)
    edges = [
        Supersession(summary_id, one, now, SupersessionReason.COMPRESSED, place, job_id)
        for place, one in enumerate(distinct, 1)
    ]
    await supersessions.insert(connection, scope, edges)
    written = await memories.lock(connection, scope, [summary_id])
    return written[summary_id]


async def remake_summaries(
    connection: Connection, scope: Scope, forgotten_ids: Sequence[str], *, now: datetime
) -> tuple[list[Memory], list[Memory]]:
    """Make every summary that rests on the memories anew without them, and return the old rows: those remade, those to forget.

    Called before the memories are deleted. A summary with fewer than two sources left is to be forgotten too, and counts as
    forgotten for the summaries that rest on it; the caller deletes it. A remade one keeps its id.
    """
    gone, remade, emptied = set(forgotten_ids), dict[str, Memory](), dict[str, Memory]()
    changed = list(forgotten_ids)
    while changed:
        edges = await supersessions.live_to(connection, scope, changed, SupersessionReason.COMPRESSED)
        summary_ids = sorted({edge.memory_id for edge in edges} - gone)
        held = await memories.lock(connection, scope, summary_ids)
        changed = []
        for summary_id in summary_ids:
            sources = await _sources_of(connection, scope, summary_id, without=gone)
            changed.append(summary_id)
            if len(sources) < 2:
                gone.add(summary_id)
                emptied[summary_id] = held[summary_id]
                remade.pop(summary_id, None)
                continue
            remade.setdefault(summary_id, held[summary_id])
            row = _new_memory(summary_id, summarise([_source(one) for one in sources]))
            await memories.retain(connection, scope, [row], now=now)
    return list(remade.values()), list(emptied.values())


async def _sources_of(connection: Connection, scope: Scope, summary_id: str, *, without: set[str]) -> list[Memory]:
    edges = await supersessions.live_from(connection, scope, [summary_id], SupersessionReason.COMPRESSED)
    wanted = [edge.superseded_id for edge in edges if edge.superseded_id not in without]
    held = await memories.lock(connection, scope, wanted)
    return [held[one] for one in wanted if one in held]


def _source(memory: Memory) -> DecaySource:
    return DecaySource(
        id=memory.memory_id,
        claim=memory.text,
        confidence=memory.confidence,
        authority=memory.authority,
        occurred_at=memory.occurred_at,
        domains=memory.domains,
        episodes=memory.source_episodes,
        events=memory.source_events,
        turn_ids=memory.turn_ids,
        origin=str(memory.metadata.get(ORIGIN, "")),
    )


def _new_memory(memory_id: str, summary: DecaySummary) -> NewMemory:
    return NewMemory(
        text=summary.claim,
        memory_id=memory_id,
        occurred_at=summary.occurred_at,
        metadata={ORIGIN: summary.origin} if summary.origin else {},
        turn_ids=summary.turn_ids,
        memory_type=SUMMARY,
        status=MemoryStatus.CANDIDATE,
        confidence=summary.confidence,
        authority=summary.authority,
        domains=summary.domains,
        source_episodes=summary.episodes,
        source_events=summary.events,
    )
