"""Splits a thread into sessions, and assigns an episode's id to each. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from uuid import UUID, uuid5

from store.content.episodes import SaidTurn

_EPISODES = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a06")


def closed_sessions(
    turns: Sequence[SaidTurn], closings: Sequence[datetime], *, pause: timedelta, now: datetime
) -> list[list[SaidTurn]]:
    """Return the sessions that have ended, in order of time; `turns` and `closings` are in order of time.

    A session ends before a pause of at least `pause`, and at each instant at which a caller closed it.
    """
    if not turns:
        return []
    found = [[turns[0]]]
    for before, turn in pairwise(turns):
        if _is_border(before.said_at, turn.said_at, closings, pause):
            found.append([])
        found[-1].append(turn)
    last = turns[-1].said_at
    is_open = now - last < pause and not any(closed >= last for closed in closings)
    return found[:-1] if is_open else found


def named_sessions(
    sessions: Sequence[Sequence[SaidTurn]], episode_of: Mapping[UUID, str]
) -> dict[str, Sequence[SaidTurn]]:
    """Return the sessions by their episode's id: the id of the first known episode with one of its turns, or a new one.

    `episode_of` maps a turn to its episode. A new id is derived from the session's first turn.
    """
    named: dict[str, Sequence[SaidTurn]] = {}
    known_ids = set(episode_of.values())
    for session in sessions:
        known = (episode_of[turn.turn_id] for turn in session if turn.turn_id in episode_of)
        episode_id = next((one for one in known if one not in named), "")
        tries = 0
        while not episode_id:
            made = str(uuid5(_EPISODES, f"{session[0].turn_id} {tries}"))
            episode_id, tries = ("" if made in known_ids or made in named else made), tries + 1
        named[episode_id] = session
    return named


def _is_border(before: datetime, after: datetime, closings: Sequence[datetime], pause: timedelta) -> bool:
    return after - before >= pause or any(before <= closed < after for closed in closings)
