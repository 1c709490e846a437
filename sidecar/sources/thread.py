"""The thread source: the thread's newest turns, the summary of its older turns, and older turns that answer the question."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import lru_cache
from itertools import count, repeat

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import TextPositions, evidence_of, unknown_words
from sidecar.turn.items import HistorySummary, Item, Ref, Source, begins_with_name, items_of
from sidecar.turn.message.periods import day_of
from store.content import threads
from store.content.threads import RecalledTurn
from store.db.postgres import Pool, scoped
from store.scope import Scope

_LEAST_EACH, _MOST_EACH = 60, 250
_TOKENS_PER_TURN = 20  # the size of short turns, so that there are enough of them to fill the budget
# Each search returns one turn per 250 tokens of recall. With a thousand turns per search, answers are often late.
_RECALL_TOKENS_PER_TURN = 250
_MOST_IN_ALL = 500


class ThreadSource:
    """Reads the stored thread. A turn found by search is offered verbatim, under the day on which it was said."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the history window and the rolling summary."""
        if not query.thread_id:
            return SourceAnswer()
        window = threads.HistoryWindow(limits.window_tokens, limits.window_turns, query.client_turn_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            turns = await threads.history(connection, scope, query.thread_id, window)
            summary = await threads.summary(connection, scope, query.thread_id)
        return SourceAnswer(history=tuple(turns), summary=_summary(summary))

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` turns of any age that may answer the question."""
        if not query.thread_id:
            return SourceAnswer()
        each = _each(limits)
        wanted = query.wanted(each, without=_names(query), answers=True)
        async with scoped(self._pool, scope, read_only=True) as connection:
            limits.begin()
            recalled = await threads.recall(connection, scope, query.thread_id, wanted)
        # The current message holds all of its own words, which must not count for its neighbours.
        recalled = recalled.only([_is_older(turn, query) for turn in recalled.texts])
        turns, days = recalled.texts, [day_of(turn.said_at, query.now.tzinfo) for turn in recalled.texts]
        evidence = evidence_of(recalled, wanted, query.parts, TextPositions(days, [turn.position for turn in turns]))
        if query.reading and (thread := query.reading.thread):
            # The message was read with these turns, so they resemble the message in its thread without being answers.
            read = [place for place, turn in enumerate(turns) if turn.position >= thread.first_position]
            evidence = evidence.last_as_first(read)
        items = _items(turns, days, evidence.coverage[0].tolist())
        candidates = Candidates(
            kind=CandidateKind.TURN,
            ids=[item.id for item in items],
            texts=[turn.text for turn in turns],
            evidence=evidence,
            speakers=[turn.speaker for turn in turns],
            days=days,
            marks=[turn.marks for turn in turns],
            unknown=unknown_words(recalled, wanted),
        )
        most = min(limits.top_k, max(_MOST_IN_ALL, 2 * each))
        return SourceAnswer(items, notes=query.notes, candidates=candidates).first(most)


def _names(query: SourceQuery) -> frozenset[str]:
    """Return the words of speakers' names, which do not discriminate: turns record their speaker."""
    return query.reading.name_words if query.reading else frozenset()


def _each(limits: SourceLimits) -> int:
    """Return the most turns that each kind of search may return: as many as the window or recall could hold, within bounds."""
    narrow = min(_MOST_EACH, max(_LEAST_EACH, limits.window_tokens // _TOKENS_PER_TURN))
    return min(limits.top_k, max(narrow, limits.recall_tokens // _RECALL_TOKENS_PER_TURN))


def _is_older(turn: RecalledTurn, query: SourceQuery) -> bool:
    is_current = turn.client_turn_id == query.client_turn_id and bool(query.client_turn_id)
    return bool(turn.text) and not is_current


def _summary(summary: threads.ThreadSummary | None) -> HistorySummary | None:
    return None if summary is None else HistorySummary(summary.text, summary.through_position, summary.turn_ids)


@lru_cache(maxsize=1_000)
def _header(day: date) -> str:
    return f"Earlier in this thread, {day}"


def _label(name: str, text: str) -> str:
    return "" if begins_with_name(text, name) else f"{name}: "


def _items(turns: Sequence[RecalledTurn], days: Sequence[date], coverage: Sequence[float]) -> tuple[Item, ...]:
    ids = [str(turn.turn_id) for turn in turns]
    speakers = [_label(turn.speaker or turn.role, turn.text) for turn in turns]
    return items_of(
        id=[f"turn:{turn_id}" for turn_id in ids],
        source=repeat(Source.THREAD),
        text=[speaker + turn.text for speaker, turn in zip(speakers, turns, strict=True)],
        rank=count(),
        relevance=coverage,
        header=map(_header, days),
        provenance=[(Ref("turn", turn_id, f"turn {turn.position}"),) for turn_id, turn in zip(ids, turns, strict=True)],
        at=[turn.said_at for turn in turns],
        signature=[turn.signature for turn in turns],
        unsigned_chars=map(len, speakers),
        position=[turn.position for turn in turns],
    )
