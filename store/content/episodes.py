"""Episodes of threads: their closed sessions, with their summaries and the memories that they were compressed into.

Every function takes a connection inside a transaction of the scope that is passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from store.content.summaries import OlderTurn
from store.db import queries
from store.db.queries import Connection
from store.errors import AlreadyExists
from store.scope import Scope

_sql = queries.load(__file__)
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)
_LAST_TEXT = "\U0010ffff"
_EDGE_COLUMNS = ("memory_ids", "episode_ids", "created_at", "places", "job_ids")


@dataclass(frozen=True, slots=True)
class Episode:
    """A closed session of a thread: its summary, its turns in order of time, and the times of the first and the last turn.

    `summary_id` is the memory that it was compressed into, if any.
    """

    episode_id: str
    thread_id: str
    text: str
    turn_ids: tuple[str, ...]
    authority: str
    started_at: datetime
    ended_at: datetime
    created_at: datetime
    updated_at: datetime
    summary_id: str = ""


@dataclass(frozen=True, slots=True)
class EpisodeSupersession:
    """An edge from a summary memory to an episode compressed into it. `place` counts the summary's sources from 1."""

    memory_id: str
    episode_id: str
    created_at: datetime
    place: int
    job_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class SaidTurn:
    """The id and the time of a turn."""

    turn_id: UUID
    said_at: datetime


async def lock_thread(connection: Connection, scope: Scope, thread_id: str) -> bool:
    """Lock the thread's row until the transaction ends, and return whether it exists: its episodes are made one at a time."""
    return await _sql.lock_thread(connection, **scope.key, thread_id=thread_id) is not None


async def said_turns(connection: Connection, scope: Scope, thread_id: str) -> list[SaidTurn]:
    """Return the thread's turns without their texts, in order of time."""
    rows = await _sql.said_turns(connection, **scope.key, thread_id=thread_id)
    return [SaidTurn(row["turn_id"], row["said_at"]) for row in rows]


async def texts_of(connection: Connection, scope: Scope, thread_id: str, turn_ids: Sequence[UUID]) -> list[OlderTurn]:
    """Return these turns of the thread with their texts, in order of time."""
    rows = await _sql.texts_of_turns(connection, **scope.key, thread_id=thread_id, turn_ids=list(turn_ids))
    return [OlderTurn(row["turn_id"], row["position"], row["role"], row["speaker"], row["text"]) for row in rows]


async def closings(connection: Connection, scope: Scope, thread_id: str) -> list[datetime]:
    """Return the instants at which a caller closed the thread's episode, in order."""
    return [row["closed_at"] for row in await _sql.list_closings(connection, **scope.key, thread_id=thread_id)]


async def close(connection: Connection, scope: Scope, thread_id: str, *, at: datetime) -> None:
    """Record that a caller closed the thread's episode."""
    await _sql.insert_closing(connection, **scope.key, thread_id=thread_id, closed_at=at)


async def of_thread(connection: Connection, scope: Scope, thread_id: str) -> list[Episode]:
    """Return the thread's episodes, in order of time."""
    return [_episode(row) for row in await _sql.episodes_of_thread(connection, **scope.key, thread_id=thread_id)]


async def holding(connection: Connection, scope: Scope, turn_ids: Sequence[str]) -> list[Episode]:
    """Return the episodes that contain one of the turns, locked until the transaction ends."""
    return [_episode(row) for row in await _sql.episodes_holding(connection, **scope.key, turn_ids=list(turn_ids))]


async def put(connection: Connection, scope: Scope, episode: Episode) -> None:
    """Write an episode, replacing one with the same id; the time of creation stays."""
    fields = {name: getattr(episode, name) for name in episode.__slots__ if name != "summary_id"}
    await _sql.put_episode(connection, **scope.key, **fields | {"turn_ids": list(episode.turn_ids)})


async def delete(connection: Connection, scope: Scope, episode_ids: Sequence[str]) -> None:
    """Delete episodes, with the edges to them."""
    await _sql.delete_episodes(connection, **scope.key, episode_ids=list(episode_ids))


async def lock(connection: Connection, scope: Scope, episode_ids: Sequence[str]) -> dict[str, Episode]:
    """Lock episodes until the transaction ends, and return those that exist by id."""
    rows = await _sql.lock_episodes(connection, **scope.key, episode_ids=list(episode_ids))
    return {row["episode_id"]: _episode(row) for row in rows}


async def page(
    connection: Connection,
    scope: Scope,
    *,
    limit: int,
    thread_id: str = "",
    before: tuple[datetime, str] | None = None,
) -> list[Episode]:
    """Return a page of the owner's episodes (or a thread's), the one that ended last first."""
    before_at, before_id = before or (_END_OF_TIME, _LAST_TEXT)
    place = {"before": before_at, "before_id": before_id, "limit": limit}
    if thread_id:
        rows = await _sql.list_episodes_of_thread(connection, **scope.key, **place, thread_id=thread_id)
    else:
        rows = await _sql.list_episodes(connection, **scope.key, **place)
    return [_episode(row) for row in rows]


async def supersede(connection: Connection, scope: Scope, edges: Sequence[EpisodeSupersession]) -> None:
    """Insert edges."""
    columns = [list(column) for column in zip(*map(astuple, edges), strict=True)]
    values = dict(zip(_EDGE_COLUMNS, columns, strict=True))
    if await _sql.insert_episode_edges(connection, **scope.key, **values) != len(edges):
        raise AlreadyExists("episode_supersessions_pkey")


async def superseded(connection: Connection, scope: Scope, episode_ids: Sequence[str]) -> list[EpisodeSupersession]:
    """Return the edges to the episodes, in the order of their sources."""
    rows = await _sql.episode_edges_to(connection, **scope.key, episode_ids=list(episode_ids))
    return [EpisodeSupersession(**dict(row)) for row in rows]


async def of_summary(connection: Connection, scope: Scope, memory_id: str) -> list[Episode]:
    """Return the episodes compressed into a summary memory, in the order of its sources."""
    return [_episode(row) for row in await _sql.episodes_of_summary(connection, **scope.key, memory_id=memory_id)]


def _episode(row: Any) -> Episode:
    known = dict(row)
    return Episode(**{**known, "turn_ids": tuple(known["turn_ids"])})
