"""Updates a thread's rolling summary in the background: a line for each older turn that tells something that lasts, extracted
or written by a model.

It records the turns whose lines it holds, and leaves the newest turns to the history. If too long, it loses the lines that
tell least.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from compiler.plan.text.markdown import first_sentence, one_line
from sidecar.services.threads import KEEP_TURNS
from store.content import summaries, threads
from store.content.summaries import OlderTurn
from store.content.threads import ThreadSummary
from store.db.postgres import DatabaseRole, Pool, scoped
from store.scope import Scope
from store.tenancy import forgotten
from store.text.sentences import sentence_spans
from store.text.texts import query_words

MAX_CHARS = 4_000

_LINE_CHARS = 160
_LEAST_WEIGHT = 3  # "Sure!" and "Sounds good to me" tell less
_AT_ONCE = 500
_WORD = re.compile(r"\w+")


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
        limit, began = self._writer.at_once if self._writer else _AT_ONCE, self._now()
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            before = await threads.summary(connection, scope, thread_id)
            turns = await summaries.turns_to_fold(connection, scope, thread_id, keep_turns=KEEP_TURNS, limit=limit)
        if not turns:
            return False
        text, turn_ids = await self._text(scope, before or ThreadSummary("", 0, ()), turns)
        async with scoped(self._pool, scope, role=DatabaseRole.WORKER) as connection:
            if await forgotten.meanwhile(connection, scope, began, now=self._now()):
                return True  # a turn of these may have been forgotten: read them again
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
        """Return the summary with the turns folded in, and the turns of its lines. Holds no connection meanwhile.

        A model's summary says in its own words what was said, so it stands for no turn.
        """
        if self._writer and (text := await self._writer.written(scope, before.text, turns, most_chars=MAX_CHARS)):
            return text, ()
        return rolled(before.text, before.turn_ids, turns)


def rolled(before: str, turn_ids: Sequence[str], turns: Iterable[OlderTurn]) -> tuple[str, Sequence[str]]:
    """Return the summary with a line for each turn that tells something, and the turns of its last lines, one a line.

    A turn's line is its sentence that tells most. If the summary is too long, the lines that tell least are dropped, the
    oldest of them first. `turn_ids` are those of the last lines of `before`.
    """
    lines = before.splitlines()
    known = list(turn_ids) if len(turn_ids) <= len(lines) else []
    held = [*[""] * (len(lines) - len(known)), *known]
    for turn in turns:
        said = _telling_sentence(turn.text) if turn.role in {"user", "assistant"} else ""
        if said:
            lines.append(f"{turn.speaker or turn.role}: {said}")
            held.append(str(turn.turn_id))
    size = sum(len(line) + 1 for line in lines)
    dropped: set[int] = set()
    for place in sorted(range(len(lines)), key=lambda place: (_weight(lines[place]), place)):
        if size <= MAX_CHARS or len(dropped) == len(lines) - 1:
            break
        size -= len(lines[place]) + 1
        dropped.add(place)
    kept = [place for place in range(len(lines)) if place not in dropped]
    # Lines whose turns are unknown come first, so the known turns are those of the last lines.
    return "\n".join(lines[place] for place in kept), [held[place] for place in kept if held[place]]


def _telling_sentence(text: str) -> str:
    """Return the sentence of a turn that tells most that lasts; empty if none tells anything."""
    line = one_line(text)
    sentences = [line[start:end] for start, end in sentence_spans(line, 0, len(line))]
    best = max(sentences, key=_weight, default="")
    return first_sentence(best, most_chars=_LINE_CHARS) if _weight(best) >= _LEAST_WEIGHT else ""


def _weight(sentence: str) -> float:
    """Return how much a sentence tells that lasts: its names, numbers and telling words. A question tells half as much."""
    words = _WORD.findall(sentence)
    names = sum(word[:1].isupper() and word[1:2].islower() for word in words[1:])
    numbers = sum(word[:1].isdigit() for word in words)
    weight = float(len(query_words(sentence)) + names + 2 * numbers)
    return weight / 2 if sentence.rstrip().endswith(("?", "？")) else weight
