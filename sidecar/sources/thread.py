"""The thread: its newest turns, the summary of its older ones, and older turns that answer the question."""

from __future__ import annotations

from sidecar.sources import Answer, Limits, Query
from sidecar.turn.items import HistorySummary, Item, Ref, Source
from store import threads
from store.postgres import Pool, scoped
from store.scope import Scope


class ThreadSource:
    """Reads the thread's record. A turn that searching finds is offered verbatim, under the day on which it was said."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return the history window, the rolling summary, and up to `top_k` older turns that match."""
        if not query.thread_id:
            return Answer()
        window = threads.Window(limits.window_tokens, limits.window_turns, query.client_turn_id)
        async with scoped(self._pool, scope, read_only=True) as connection:
            recent = await threads.history(connection, scope, query.thread_id, window)
            summary = await threads.summary(connection, scope, query.thread_id)
            found = await threads.search(connection, scope, query.thread_id, query.words, limit=limits.top_k)
        older = [one for one in found if one.turn.client_turn_id != query.client_turn_id or not query.client_turn_id]
        return Answer(
            items=tuple(_item(one, rank) for rank, one in enumerate(older)),
            history=tuple(recent),
            summary=_summary(summary),
        )


def _summary(summary: threads.ThreadSummary | None) -> HistorySummary | None:
    return None if summary is None else HistorySummary(summary.text, summary.through_position, summary.turn_ids)


def _item(found: threads.FoundTurn, rank: int) -> Item:
    turn = found.turn
    return Item(
        id=f"turn:{turn.turn_id}",
        source=Source.THREAD,
        text=f"{turn.speaker or turn.role}: {turn.text}",
        rank=rank,
        relevance=found.coverage,
        header=f"Earlier in this thread, {turn.said_at.date()}",
        provenance=(Ref("turn", str(turn.turn_id), f"turn {turn.position}"),),
        at=turn.said_at,
        signature=turn.signature,
    )
