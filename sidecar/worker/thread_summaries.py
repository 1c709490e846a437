"""Updates a thread's rolling summary in the background: a line for each older turn with lasting information, extracted or written
by a model.

The summary records the turns of its lines, and leaves the newest turns to the history. If it is too long, the least informative
lines are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol

from compiler.decay.rolling import MAX_CHARS, rolled
from sidecar.services.threads import KEEP_TURNS
from store.content import summaries, threads
from store.content.summaries import OlderTurn
from store.content.threads import ThreadSummary
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope
from store.tenancy import forgotten

_AT_ONCE = 500


class Writer(Protocol):
    """Writes summaries in its own words."""

    @property
    def at_once(self) -> int:
        """The number of turns per call."""

    async def written(self, scope: Scope, before: str, turns: Sequence[OlderTurn], *, most_chars: int) -> str:
        """Return the summary with the turns added; empty if none can be written now."""


class Summarizer:
    """Folds older turns into their thread's summary; folded turns are not read again.

    Without a writer, or if it returns nothing, summaries are extracted from the turns.
    """

    def __init__(self, pool: Pool, *, now: Callable[[], datetime], writer: Writer | None = None) -> None:
        self._pool = pool
        self._now = now
        self._writer = writer

    async def summarize(self, scope: Scope, thread_id: str) -> None:
        """Fold the thread's older turns until only the newest are left."""
        while await self._fold(scope, thread_id):
            pass

    async def _fold(self, scope: Scope, thread_id: str) -> bool:
        limit, began = self._writer.at_once if self._writer else _AT_ONCE, self._now()
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            before = await threads.summary(connection, scope, thread_id)
            turns = await summaries.turns_to_fold(connection, scope, thread_id, keep_turns=KEEP_TURNS, limit=limit)
        if not turns:
            return False
        text, turn_ids = await self._text(scope, before or ThreadSummary("", 0, ()), turns)
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            if await forgotten.meanwhile(connection, scope, began, now=self._now()):
                return True  # one of these turns may have been forgotten: read them again
            reached = before.through_position if before else 0
            return await summaries.write(
                connection,
                scope,
                thread_id,
                text=text,
                covered=(turns[-1].position, turn_ids, reached),
                now=self._now(),
            )

    async def _text(self, scope: Scope, before: ThreadSummary, turns: Sequence[OlderTurn]) -> tuple[str, Sequence[str]]:
        """Return the summary with the turns folded in, and the turns of its lines. Holds no connection during that.

        A model's summary has its own wording, so it replaces no turn.
        """
        if self._writer and (text := await self._writer.written(scope, before.text, turns, most_chars=MAX_CHARS)):
            return text, ()
        return rolled(before.text, before.turn_ids, turns)
