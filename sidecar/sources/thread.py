"""The thread: its newest turns, the summary of its older ones, and older turns that answer the question."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

from sidecar.sources import Answer, Limits, Query
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.items import HistorySummary, Item, Ref, Source
from sidecar.turn.rank import Candidate, Kind
from store import threads
from store.postgres import Pool, scoped
from store.recalling import Match
from store.scope import Scope
from store.threads import StoredTurn

_LEAST_EACH, _MOST_EACH = 60, 250
_TOKENS_A_TURN = 20  # as few as short turns take: the budget must find enough of them


class ThreadSource:
    """Reads the thread's record. A turn that searching finds is offered verbatim, under the day on which it was said."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return the history window, the rolling summary, and up to `top_k` older turns that may answer."""
        if not query.thread_id:
            return Answer()
        window = threads.Window(limits.window_tokens, limits.window_turns, query.client_turn_id)
        words = _words(query)
        async with scoped(self._pool, scope, read_only=True) as connection:
            recent = await threads.history(connection, scope, query.thread_id, window)
            summary = await threads.summary(connection, scope, query.thread_id)
            wanted = query.wanted(words, _each(limits))
            found = await threads.recall(connection, scope, query.thread_id, wanted)
        evidence = evidence_of(found, query.parts, words, lambda turn: (turn.said_at.date(), turn.position))
        pairs = [
            (match.text, told) for match, told in zip(found.matches, evidence, strict=True) if _is_older(match, query)
        ]
        return Answer(
            items=tuple(_item(turn, told, rank) for rank, (turn, told) in enumerate(pairs[: limits.top_k])),
            history=tuple(recent),
            summary=_summary(summary),
            notes=query.notes,
        )


def _words(query: Query) -> tuple[str, ...]:
    """Return the words to search by: who speaks is on record, so that names of speakers tell nothing here."""
    names = query.reading.name_words if query.reading else frozenset()
    return tuple(word for word in query.words if word not in names)


def _each(limits: Limits) -> int:
    """Return how many turns each way of searching may bring: as many as the window could hold, within bounds."""
    return min(limits.top_k, _MOST_EACH, max(_LEAST_EACH, limits.window_tokens // _TOKENS_A_TURN))


def _is_older(match: Match[StoredTurn], query: Query) -> bool:
    is_current = match.text.client_turn_id == query.client_turn_id and bool(query.client_turn_id)
    return bool(match.text.text) and not is_current


def _summary(summary: threads.ThreadSummary | None) -> HistorySummary | None:
    return None if summary is None else HistorySummary(summary.text, summary.through_position, summary.turn_ids)


@lru_cache(maxsize=1_000)
def _header(day: date) -> str:
    return f"Earlier in this thread, {day}"


def _item(turn: StoredTurn, evidence: tuple[Evidence, ...], rank: int) -> Item:
    day, turn_id = turn.said_at.date(), str(turn.turn_id)
    return Item(
        id=f"turn:{turn_id}",
        source=Source.THREAD,
        text=f"{turn.speaker or turn.role}: {turn.text}",
        rank=rank,
        relevance=evidence[0].coverage,
        header=_header(day),
        provenance=(Ref("turn", turn_id, f"turn {turn.position}"),),
        at=turn.said_at,
        signature=turn.signature,
        position=turn.position,
        candidate=Candidate(Kind.TURN, turn.text, evidence, speaker=turn.speaker, day=day),
    )
