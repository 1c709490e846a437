"""Threads: appends, lists and locates turns, and queues summaries and episodes.

Every method of the service opens its own transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any
from uuid import UUID

from sidecar.context.fence_keys import FenceKeys
from sidecar.context.token_counting import TokenMeters
from sidecar.runtime.errors import InvalidArgument, NotFound
from sidecar.services.validation import check_count, read_id, read_text
from sidecar.turn.fences.fence import strip_fences
from store.compile import background, overview
from store.content import threads
from store.content.threads import Appended, NewTurn, StoredTurn, ThreadHead
from store.db.pacing import in_slices
from store.db.postgres import Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import tenants

MAX_TURNS = 1_000
MAX_TITLE_CHARS = 500
MAX_SPEAKER_CHARS = 200
MAX_TURN_CHARS = 2_000_000
MAX_PARTS = 1_000
MAX_ARGUMENT_BYTES = 1024 * 1024
ROLES = ("user", "assistant", "tool", "system")

KIND = "thread_summary"
EPISODES_KIND = "episodes"
KEEP_TURNS = 20
STEP_TURNS = 20


class Threads:
    """Stores an owner's threads; `now` returns the time of a write.

    An owner's turns and memories have at most `quota_bytes` bytes, 0 for no limit. A session ends, and becomes an episode,
    after `episode_pause` without turns.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        meters: TokenMeters,
        fences: FenceKeys,
        quota_bytes: int = 0,
        episode_pause: timedelta = timedelta(minutes=30),
    ) -> None:
        self._episode_pause = episode_pause
        self._pool = pools.background
        self._now = now
        self._meters = meters
        self._fences = fences
        self._quota_bytes = quota_bytes

    async def append(self, scope: Scope, thread_id: str, title: str, turns: Sequence[NewTurn]) -> Appended:
        """Append up to 1,000 turns, checked with `check_turn`, to the thread; existing turns are not changed.

        Fences in the texts are removed, and tokens are counted here.
        """
        check_count("turns", turns, most=MAX_TURNS)
        thread = threads.ThreadToOpen(
            thread_id=read_id("thread_id", thread_id),
            title=read_text("title", title, max_chars=MAX_TITLE_CHARS),
            fence_key_id=self._fences.newest_key_id,
        )
        prepared = await threads.prepare(await in_slices(self._counted, turns, attrgetter("chars")))
        now = self._now()
        async with scoped(self._pool, scope) as connection:
            await tenants.ensure_tenant(connection, scope.tenant_id, now=now)
            appended = await threads.write(connection, scope, thread, prepared, now=now, quota_bytes=self._quota_bytes)
            if appended.new_count:
                grown = (appended.turn_count - appended.new_count, appended.turn_count)
                await queue_summary(connection, scope, thread_id, turn_counts=grown, now=now)
                await self._queue_episodes(connection, scope, thread_id, turns, now)
        return appended

    async def page(self, scope: Scope, *, limit: int, before: tuple[datetime, str] | None = None) -> list[ThreadHead]:
        """Return up to `limit` threads, the one with the newest turn first."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await threads.list_threads(connection, scope, limit=limit, before=before)

    async def turns(self, scope: Scope, thread_id: str, *, limit: int, after: int = 0) -> list[StoredTurn]:
        """Return up to `limit` turns of a thread in their original wording, after a position, oldest first."""
        read_id("thread_id", thread_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            return await threads.list_turns(connection, scope, thread_id, limit=limit, after=after)

    async def place_of_turn(self, scope: Scope, turn_id: UUID) -> tuple[str, int]:
        """Return the thread of a turn and the turn's position in it. Raises NotFound."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            place = await overview.place_of_turn(connection, scope, turn_id)
        if place is None:
            raise NotFound("turn")
        return place

    async def _queue_episodes(
        self, connection: Connection, scope: Scope, thread_id: str, turns: Sequence[NewTurn], now: datetime
    ) -> None:
        """Queue a check of the thread's sessions for the end of the newest one; at once if it has ended, as in an import."""
        newest = max(turn.said_at for turn in turns)
        not_before = max(min(newest, now) + self._episode_pause, now)
        await background.enqueue(connection, scope, EPISODES_KIND, thread_id, now=now, not_before=not_before)

    def _counted(self, turns: Sequence[NewTurn]) -> list[NewTurn]:
        clean = [
            replace(turn, text=strip_fences(turn.text), parts=tuple(_without_fences(part) for part in turn.parts))
            for turn in turns
        ]
        return self._meters.counted(clean)


def check_turn(field: str, turn: NewTurn) -> None:
    """Raise InvalidArgument, naming the path under `field`, for a turn that `append` does not accept.

    The caller has limited the number of its parts to `MAX_PARTS`.
    """
    if turn.role not in ROLES:
        raise InvalidArgument(f"{field}.role", f"is {turn.role[:40]!r}", f"send one of {', '.join(ROLES)}")
    for place, part in enumerate(turn.parts):
        _check_part(f"{field}.parts[{place}]", part)
    read_text(f"{field}.text", turn.text, max_chars=MAX_TURN_CHARS)
    if not turn.text.strip() and not turn.parts:
        raise InvalidArgument(field, "has no content", "send a text, a tool call or a tool result")
    read_id(f"{field}.client_turn_id", turn.client_turn_id)
    read_text(f"{field}.speaker", turn.speaker, max_chars=MAX_SPEAKER_CHARS)


async def queue_summary(
    connection: Connection, scope: Scope, thread_id: str, *, turn_counts: tuple[int, int], now: datetime
) -> None:
    """Queue a summary if the number of turns crossed a step; `turn_counts` are the numbers before and after."""
    before, after = turn_counts
    if after > KEEP_TURNS and before // STEP_TURNS != after // STEP_TURNS:
        await background.enqueue(connection, scope, KIND, thread_id, now=now)


def _check_part(field: str, part: dict[str, Any]) -> None:
    if part["type"] == "tool_call":
        read_id(f"{field}.tool_call.id", part["id"])
        read_id(f"{field}.tool_call.name", part["name"])
    else:
        read_id(f"{field}.tool_result.call_id", part["id"])
        read_text(f"{field}.tool_result.content", part["content"], max_chars=MAX_TURN_CHARS)


def _without_fences(part: dict[str, Any]) -> dict[str, Any]:
    return part | {"content": strip_fences(part["content"])} if part["type"] == "tool_result" else part
