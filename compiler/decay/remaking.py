"""Makes a thread's episodes again from its turns, with the summaries that rest on them.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

from compiler.decay.compress import remake_summaries
from compiler.decay.rolling import rolled
from compiler.decay.sessions import closed_sessions, named_sessions
from store.content import episodes, feed
from store.content.episodes import Episode, SaidTurn
from store.content.tiers import AuthorityTier
from store.db.queries import Connection
from store.scope import Scope

_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class RemadeEpisodes:
    """The ids of the remade episodes, and the instant at which the thread's open session ends if no turn follows.

    `next_at` is None if there is no open session, or if its end would be after the latest possible time.
    """

    episode_ids: tuple[str, ...] = ()
    next_at: datetime | None = None


async def remake_episodes(
    connection: Connection, scope: Scope, thread_id: str, *, pause: timedelta, now: datetime
) -> RemadeEpisodes:
    """Remake the thread's episodes whose turns changed, with the summaries that rest on them; an episode keeps its id.

    If late turns merge two episodes, a summary of both has one source left; it stays.
    """
    await feed.hold_there(connection, scope)  # the first lock, as in every write, so that no two transactions deadlock
    if not await episodes.lock_thread(connection, scope, thread_id):
        return RemadeEpisodes()
    turns = await episodes.said_turns(connection, scope, thread_id)
    closings = await episodes.closings(connection, scope, thread_id)
    known = {one.episode_id: one for one in await episodes.of_thread(connection, scope, thread_id)}
    episode_of = {UUID(turn_id): one.episode_id for one in known.values() for turn_id in one.turn_ids}
    sessions = closed_sessions(turns, closings, pause=pause, now=now)
    named = named_sessions(sessions, episode_of)
    changed = [one for one, session in named.items() if one not in known or known[one].turn_ids != _ids(session)]
    gone = [one for one in known if one not in named]
    edges = await episodes.superseded(connection, scope, [*changed, *gone])
    for episode_id in changed:
        created_at = known[episode_id].created_at if episode_id in known else now
        made = await _episode(connection, scope, (thread_id, episode_id), named[episode_id], (created_at, now))
        await episodes.put(connection, scope, made)
    await episodes.delete(connection, scope, gone)
    resting = {edge.memory_id for edge in edges}
    await remake_summaries(connection, scope, (), now=now, resting_ids=resting, least_sources=1)
    is_open = len(turns) > sum(map(len, sessions))
    has_end = is_open and _LAST - turns[-1].said_at > pause
    next_at = turns[-1].said_at + pause if has_end else None
    return RemadeEpisodes(tuple(changed), next_at)


async def forget_turns(
    connection: Connection, scope: Scope, turn_ids: Sequence[UUID], *, now: datetime
) -> frozenset[str]:
    """Remake the episodes with these turns without them, and return the ids of the summaries that rest on the episodes.

    Call it before the turns are emptied or deleted. An episode without other turns is deleted; any other keeps its id. The
    caller remakes the summaries (`remake_summaries`).
    """
    gone = {str(one) for one in turn_ids}
    held = await episodes.holding(connection, scope, sorted(gone))
    edges = await episodes.superseded(connection, scope, [one.episode_id for one in held])
    for one in held:
        remaining = [UUID(turn_id) for turn_id in one.turn_ids if turn_id not in gone]
        if remaining:
            text, _ = rolled("", (), await episodes.texts_of(connection, scope, one.thread_id, remaining))
            kept = replace(one, text=text, turn_ids=tuple(map(str, remaining)), updated_at=now)
            await episodes.put(connection, scope, kept)
        else:
            await episodes.delete(connection, scope, [one.episode_id])
    return frozenset(edge.memory_id for edge in edges)


async def _episode(
    connection: Connection,
    scope: Scope,
    key: tuple[str, str],
    session: Sequence[SaidTurn],
    times: tuple[datetime, datetime],
) -> Episode:
    thread_id, episode_id = key
    turns = await episodes.texts_of(connection, scope, thread_id, [one.turn_id for one in session])
    text, _ = rolled("", (), turns)
    return Episode(
        episode_id=episode_id,
        thread_id=thread_id,
        text=text,
        turn_ids=_ids(session),
        authority=AuthorityTier.AGENT.name.title(),
        started_at=session[0].said_at,
        ended_at=session[-1].said_at,
        created_at=times[0],
        updated_at=times[1],
    )


def _ids(session: Sequence[SaidTurn]) -> tuple[str, ...]:
    return tuple(str(one.turn_id) for one in session)
