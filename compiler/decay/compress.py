"""Compression of candidate memories, or of episodes, into one summary memory, itself a candidate.

The sources stay. Edges name the summary that replaces them. Every function takes a connection inside a transaction of the scope
that is passed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from compiler.decay.summary import DecaySource, DecaySummary, summarise
from compiler.errors import CompressionRefused
from store.content import episodes, feed, memories, standing, supersessions
from store.content.episodes import Episode, EpisodeSupersession
from store.content.memories import ORIGIN, Memory, NewMemory
from store.content.supersessions import Supersession, SupersessionReason
from store.content.tiers import MemoryStatus
from store.db.queries import Connection
from store.scope import Scope

SUMMARY = "summary"
"""The `memory_type` of a summary."""

MAX_SOURCES = 200


@dataclass(frozen=True, slots=True)
class ModelWords:
    """A summary written by a model, with the claims of the sources that the model was shown, in order."""

    claim: str
    shown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SummaryToMake:
    """The new summary's id, the instant, the job that makes it (if any), and the text of a model (if one wrote it)."""

    summary_id: str
    now: datetime
    job_id: UUID | None = None
    words: ModelWords | None = None


Read = Callable[[Connection, Scope, Sequence[str]], Awaitable[tuple[list[DecaySource], str]]]
"""Locks the sources and returns them with the id of the summary of exactly these, or ""; or raises CompressionRefused."""


async def compress_candidate_memories(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], summary_id: str, *, now: datetime
) -> Memory:
    """Compress candidates into one summary with the given new id, and return it. A repeated source counts once.

    If exactly these sources were compressed before, in this order, their existing summary is returned. Raises CompressionRefused,
    and writes nothing, for fewer than two sources, more than 200, and a source that does not exist, is not a candidate, or is
    in another summary.
    """
    return await compress_candidate_memories_with_job(connection, scope, memory_ids, SummaryToMake(summary_id, now))


async def compress_candidate_memories_with_job(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], made: SummaryToMake
) -> Memory:
    """Compress candidates as `compress_candidate_memories` does; the edges name the decay job."""
    sources, summary, is_new = await _compressed(connection, scope, memory_ids, made, read_candidates)
    if is_new:
        edges = [
            Supersession(made.summary_id, one.id, made.now, SupersessionReason.COMPRESSED, place, made.job_id)
            for place, one in enumerate(sources, 1)
        ]
        await supersessions.insert(connection, scope, edges)
        await standing.settle(connection, scope, [one.id for one in sources], now=made.now)
    return summary


async def compress_episodes(
    connection: Connection, scope: Scope, episode_ids: Sequence[str], summary_id: str, *, now: datetime
) -> Memory:
    """Compress episodes into one summary memory with the given new id, and return it, as `compress_candidate_memories` does."""
    return await compress_episodes_with_job(connection, scope, episode_ids, SummaryToMake(summary_id, now))


async def compress_episodes_with_job(
    connection: Connection, scope: Scope, episode_ids: Sequence[str], made: SummaryToMake
) -> Memory:
    """Compress episodes as `compress_episodes` does; the edges name the decay job."""
    sources, summary, is_new = await _compressed(connection, scope, episode_ids, made, read_episodes)
    if is_new:
        edges = [
            EpisodeSupersession(made.summary_id, one.id, made.now, place, made.job_id)
            for place, one in enumerate(sources, 1)
        ]
        await episodes.supersede(connection, scope, edges)
    return summary


async def read_candidates(
    connection: Connection, scope: Scope, memory_ids: Sequence[str]
) -> tuple[list[DecaySource], str]:
    """Lock candidates and return them as sources, with the id of the summary of just these, or "". Raises CompressionRefused."""
    distinct = _distinct(memory_ids)
    held = await memories.lock(connection, scope, distinct)
    if missing := [one for one in distinct if one not in held]:
        raise CompressionRefused(f"the owner has no memory {missing[0]!r}")
    if others := [one for one in distinct if held[one].status is not MemoryStatus.CANDIDATE]:
        raise CompressionRefused(f"memory {others[0]!r} is {held[others[0]].status}; only candidates can be compressed")
    known = await supersessions.live_to(connection, scope, distinct, SupersessionReason.COMPRESSED)
    edges = [(edge.memory_id, edge.superseded_id) for edge in known]
    return [_source(held[one]) for one in distinct], _known_summary("memory", distinct, edges)


async def read_episodes(
    connection: Connection, scope: Scope, episode_ids: Sequence[str]
) -> tuple[list[DecaySource], str]:
    """Lock episodes and return them as sources, with the id of the summary of exactly these, or "". Raises CompressionRefused."""
    distinct = _distinct(episode_ids)
    held = await episodes.lock(connection, scope, distinct)
    if missing := [one for one in distinct if one not in held]:
        raise CompressionRefused(f"the owner has no episode {missing[0]!r}")
    if empty := [one for one in distinct if not held[one].text]:
        raise CompressionRefused(f"episode {empty[0]!r} has no text to summarise")
    known = await episodes.superseded(connection, scope, distinct)
    edges = [(edge.memory_id, edge.episode_id) for edge in known]
    return [_episode_source(held[one]) for one in distinct], _known_summary("episode", distinct, edges)


async def _compressed(
    connection: Connection, scope: Scope, ids: Sequence[str], made: SummaryToMake, read: Read
) -> tuple[list[DecaySource], Memory, bool]:
    """Return the sources, their summary, and whether it is new."""
    await feed.hold(connection, scope)  # the first lock, as in every write, so that no two transactions deadlock
    sources, known_id = await read(connection, scope, ids)
    if not known_id:
        if made.words and made.words.shown != tuple(one.claim for one in sources):
            raise CompressionRefused("a source changed while the model wrote the summary")
        row = _new_memory(made.summary_id, summarise(sources, made.words.claim if made.words else None))
        await memories.retain(connection, scope, [row], now=made.now)
    summary_id = known_id or made.summary_id
    return sources, (await memories.lock(connection, scope, [summary_id]))[summary_id], not known_id


def _distinct(ids: Sequence[str]) -> list[str]:
    distinct = list(dict.fromkeys(ids))
    if not 2 <= len(distinct) <= MAX_SOURCES:
        raise CompressionRefused(f"the number of sources is {len(distinct)}; give 2 to {MAX_SOURCES} different ones")
    return distinct


def _known_summary(kind: str, wanted: Sequence[str], edges: Sequence[tuple[str, str]]) -> str:
    """Return the id of the summary of exactly the wanted sources, in their order; "" if none of them is in a summary."""
    if not edges:
        return ""
    if [source_id for _, source_id in edges] == list(wanted) and len({summary_id for summary_id, _ in edges}) == 1:
        return edges[0][0]
    raise CompressionRefused(f"{kind} {edges[0][1]!r} is already in the summary {edges[0][0]!r}")


async def remake_summaries(
    connection: Connection,
    scope: Scope,
    forgotten_ids: Sequence[str],
    *,
    now: datetime,
    resting_ids: Iterable[str] = (),
    least_sources: int = 2,
) -> tuple[list[Memory], list[Memory]]:
    """Remake every summary that rests on the memories without them. Return the earlier rows: of remade ones, of those to forget.

    Call it before the memories are deleted. A summary with fewer than `least_sources` remaining sources must be forgotten too,
    and counts as forgotten for the summaries that rest on it; the caller deletes it. A remade summary keeps its id, and consists
    of its sources' texts even if a model wrote it before. `resting_ids` are summaries whose episodes changed.
    """
    gone, remade, emptied = set(forgotten_ids), dict[str, Memory](), dict[str, Memory]()
    changed, more = list(forgotten_ids), set(resting_ids)
    while changed or more:
        edges = await supersessions.live_to(connection, scope, changed, SupersessionReason.COMPRESSED)
        summary_ids = sorted(({edge.memory_id for edge in edges} | more) - gone)
        held = await memories.lock(connection, scope, summary_ids)
        changed, more = [], set()
        for summary_id in summary_ids:
            sources = await _sources_of(connection, scope, summary_id, without=gone)
            changed.append(summary_id)
            if len(sources) < least_sources:
                gone.add(summary_id)
                emptied[summary_id] = held[summary_id]
                remade.pop(summary_id, None)
                continue
            remade.setdefault(summary_id, held[summary_id])
            row = _new_memory(summary_id, summarise(sources, least_sources=least_sources))
            await memories.retain(connection, scope, [row], now=now)
    return list(remade.values()), list(emptied.values())


async def remake_above(
    connection: Connection, scope: Scope, edited_ids: Sequence[str], *, now: datetime
) -> tuple[str, ...]:
    """Make every summary that rests on the edited memories again from their new texts, and return the ids of these summaries.

    No summary then has a text that its source no longer has, or more trust than its sources.
    """
    edges = await supersessions.live_to(connection, scope, edited_ids, SupersessionReason.COMPRESSED)
    if not edges:
        return ()
    resting = {edge.memory_id for edge in edges}
    remade, _ = await remake_summaries(connection, scope, (), now=now, resting_ids=resting, least_sources=1)
    return tuple(one.memory_id for one in remade)


async def _sources_of(connection: Connection, scope: Scope, summary_id: str, *, without: set[str]) -> list[DecaySource]:
    edges = await supersessions.live_from(connection, scope, [summary_id], SupersessionReason.COMPRESSED)
    wanted = [edge.superseded_id for edge in edges if edge.superseded_id not in without]
    held = await memories.lock(connection, scope, wanted)
    sources = await episodes.of_summary(connection, scope, summary_id)
    return [_source(held[one]) for one in wanted if one in held] + [_episode_source(one) for one in sources if one.text]


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


def _episode_source(episode: Episode) -> DecaySource:
    return DecaySource(
        id=episode.episode_id,
        claim=episode.text,
        confidence=1.0,
        authority=episode.authority,
        occurred_at=episode.ended_at,
        episodes=(episode.episode_id,),
        events=episode.turn_ids,
        turn_ids=episode.turn_ids,
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
