"""Sources that stand in for the real ones, so that a benchmark measures the sidecar alone."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from uuid import UUID, uuid5

from bench.texts import Writer
from sidecar.context.ports import ContextSource, SourceAnswer, SourceLimits, SourceQuery
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from store.content.threads import StoredTurn
from store.scope import Scope
from store.text.texts import signatures

_IDS = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8aff")
_DAY = datetime(2026, 3, 1, 9, tzinfo=UTC)
_TURN_WORDS = 25
_WORDS = {Source.THREAD: 25, Source.KNOWLEDGE: 130, Source.MEMORY: 25, Source.WIKI: 60}
_REFS = {Source.THREAD: "turn", Source.KNOWLEDGE: "chunk", Source.MEMORY: "memory", Source.WIKI: "page"}


@dataclass(frozen=True, slots=True)
class Instant:
    """A source with one answer, given after `delay_s` seconds if that is above zero."""

    answer: SourceAnswer
    delay_s: float = 0.0

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the same answer every time."""
        if self.delay_s:
            await asyncio.sleep(self.delay_s)
        return replace(self.answer, history=())

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the answer's history every time."""
        return SourceAnswer(history=self.answer.history)


class InTurn:
    """A source that gives its answers in turn, again and again."""

    def __init__(self, answers: Iterable[SourceAnswer]) -> None:
        self._answers = cycle(answers)
        self._answer = SourceAnswer()

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the next answer."""
        self._answer = next(self._answers)
        return replace(self._answer, history=())

    async def recent(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the history of the last answer."""
        return SourceAnswer(history=self._answer.history)


@dataclass(frozen=True, slots=True)
class Hung:
    """A source that never answers."""

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Wait until cancelled."""
        await asyncio.get_running_loop().create_future()
        raise AssertionError("it has no answer")


def sources(
    counts: Mapping[Source, int], *, seed: int = 1, turns: int = 8, delays_s: Mapping[Source, float] | None = None
) -> dict[Source, ContextSource]:
    """Return sources that offer so many items each; the thread also has `turns` recent turns."""
    delays = delays_s or {}
    return {
        source: Instant(answer(source, count, seed=seed, turns=turns), delays.get(source, 0.0))
        for source, count in counts.items()
    }


def answer(source: Source, count: int, *, seed: int = 1, turns: int = 0, is_signed: bool = True) -> SourceAnswer:
    """Return an answer of so many items of the source's usual length, with stored signatures unless `is_signed` is off."""
    writer = Writer(seed * 10 + list(Source).index(source))
    texts = writer.texts(count, _WORDS[source])
    signed = signatures(texts) if is_signed else [None] * count
    items = [
        Item(
            id=f"{_REFS[source]}:{uuid5(_IDS, f'{seed}-{rank}')}",
            source=source,
            text=text,
            rank=rank,
            relevance=1 - rank / (2 * count),
            header=f"{source.value.title()}, part {rank // 3}",
            lead=lead(text, 3) if source in {Source.MEMORY, Source.WIKI} else "",
            provenance=(Ref(_REFS[source], f"{rank}", "where it stands"),),
            at=_DAY + timedelta(hours=rank),
            signature=signature,
        )
        for rank, (text, signature) in enumerate(zip(texts, signed, strict=True))
    ]
    return SourceAnswer(tuple(items), _turns(writer, turns) if source is Source.THREAD else ())


def _turns(writer: Writer, count: int) -> tuple[StoredTurn, ...]:
    return tuple(
        StoredTurn(
            turn_id=uuid5(_IDS, f"turn-{position}"),
            client_turn_id=f"turn-{position}",
            position=position,
            role="user" if position % 2 else "assistant",
            speaker="",
            text=text,
            said_at=_DAY,
            o200k_tokens=40,
            cl100k_tokens=40,
        )
        for position, text in enumerate(writer.texts(count, _TURN_WORDS), start=1001)
    )
