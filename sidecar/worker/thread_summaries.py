"""Updates a thread's rolling summary in the background: one line per older turn, extracted or written by a model.

It records the turns it covers, and leaves the newest turns to the history. If too long, it loses its oldest lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from compiler.plan.text.markdown import first_sentence, one_line
from sidecar.services.threads import KEEP_TURNS
from store.content import summaries, threads
from store.content.summaries import OlderTurn
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope

MAX_CHARS = 4_000

_LINE_CHARS = 160
_AT_ONCE = 500


class Writer(Protocol):
    """Writes summaries in its own words."""

    @property
    def at_once(self) -> int:
        """The number of turns it takes per call."""

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
        limit = self._writer.at_once if self._writer else _AT_ONCE
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            before = await threads.summary(connection, scope, thread_id)
            turns = await summaries.turns_to_fold(connection, scope, thread_id, keep_turns=KEEP_TURNS, limit=limit)
        if not turns:
            return False
        text = await self._text(scope, before.text if before else "", turns)
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            turn_ids = [*(before.turn_ids if before else ()), *(str(turn.turn_id) for turn in turns)]
            reached = before.through_position if before else 0
            return await summaries.write(
                connection,
                scope,
                thread_id,
                text=text,
                covered=(turns[-1].position, turn_ids, reached),
                now=self._now(),
            )

    async def _text(self, scope: Scope, before: str, turns: Sequence[OlderTurn]) -> str:
        """Return the summary with the turns folded in. Holds no connection meanwhile."""
        written = await self._writer.written(scope, before, turns, most_chars=MAX_CHARS) if self._writer else ""
        return written or rolled(before, turns)


def rolled(before: str, turns: Iterable[OlderTurn]) -> str:
    """Return the summary with the turns' first sentences added, one line each; if too long, the oldest lines are dropped."""
    lines = before.splitlines()
    for turn in turns:
        said = first_sentence(one_line(turn.text), most_chars=_LINE_CHARS)
        if said and turn.role in {"user", "assistant"}:
            lines.append(f"{turn.speaker or turn.role}: {said}")
    while len(lines) > 1 and sum(len(line) + 1 for line in lines) > MAX_CHARS:
        lines.pop(0)
    return "\n".join(lines)
