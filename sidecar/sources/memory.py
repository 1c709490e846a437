"""The memory source: facts and preferences from earlier conversations, from the built-in store."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from itertools import count, repeat

from compiler.decay.summary import DECAY_SUMMARY_TRUNCATION_SUFFIX
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import evidence_of, unknown_words
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from sidecar.turn.message.periods import day_of
from store.content import memories
from store.content.recalling import RecalledMemory
from store.content.tiers import AuthorityTier, MemoryStatus
from store.db.postgres import Pool, scoped
from store.scope import Scope

_MOST_EACH = 80
_UNCONFIRMED_SHARE = 0.5
_COMPRESSED_ODDS = 0.5
_PAST_SHARE = 0.5


class MemorySource:
    """Recalls an owner's memories by the words and the vectors of the question."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return the owner's pinned memories, then up to `top_k` others that may answer, best first."""
        wanted = query.wanted(min(_MOST_EACH, limits.top_k), probe=True)
        async with scoped(self._pool, scope, read_only=True) as connection:
            limits.begin()
            always = await memories.pinned(connection, scope, known_at=query.known_at)
            pinned = tuple(map(_pinned_item, always, count()))
            if not query.words and not query.meaning:
                return SourceAnswer(pinned)
            recalled = await memories.recall(connection, scope, wanted, known_at=query.known_at)
        pinned_ids = {item.id for item in pinned}
        places = [place for place, memory in enumerate(recalled.texts) if _id(memory) not in pinned_ids]
        evidence = evidence_of(recalled, wanted, query.parts).of(places)
        texts = [recalled.texts[place] for place in places]
        days = [day_of(memory.occurred_at, query.now.tzinfo) for memory in texts]
        ranks, lines = count(len(pinned)), repeat(limits.lead_lines)
        texts_by_id = {memory.memory_id: memory.text for memory in texts}
        items = tuple(
            _as_summary(item, memory, texts_by_id)
            for item, memory in zip(
                map(_item, texts, days, evidence.coverage[0].tolist(), ranks, lines), texts, strict=True
            )
        )
        candidates = Candidates(
            kind=CandidateKind.FACT,
            ids=[item.id for item in items],
            texts=[memory.text for memory in texts],
            evidence=evidence,
            days=days,
            trust=[_trust(memory, query.as_of or query.now) for memory in texts],
            odds=[_COMPRESSED_ODDS if memory.is_compressed else 1.0 for memory in texts],
            marks=[memory.marks for memory in texts],
            sensitivity=[recalled.probed[place] for place in places] if recalled.probed else (),
            unknown=unknown_words(recalled, wanted),
        )
        return SourceAnswer((*pinned, *items), notes=query.notes, candidates=candidates).first(limits.top_k)

    async def pinned(self, scope: Scope) -> tuple[Item, ...]:
        """Return the owner's pinned memories, without a search."""
        async with scoped(self._pool, scope, read_only=True) as connection:
            return tuple(map(_pinned_item, await memories.pinned(connection, scope), count()))


def _id(memory: RecalledMemory) -> str:
    return f"memory:{memory.memory_id}"


def _pinned_item(memory: RecalledMemory, rank: int) -> Item:
    day = memory.occurred_at.date()
    header = _header(memory, day) if _marks(memory) else ""
    return _item(memory, day, 1.0, rank, 0)._replace(header=header, lead="", is_pinned=True)


def _trust(memory: RecalledMemory, as_of: datetime) -> float:
    """Return the share of its relevance that a memory keeps.

    A memory that is not accepted keeps half of its confidence. A memory that does not hold at `as_of` keeps half of its share.
    """
    share = 1.0 if memory.status == MemoryStatus.ACCEPTED else _UNCONFIRMED_SHARE * memory.confidence
    return share if memory.validity.holds_at(as_of) else share * _PAST_SHARE


def _header(memory: RecalledMemory, day: date) -> str:
    return ", ".join((f"Remembered, {day}", *_marks(memory)))


def _marks(memory: RecalledMemory) -> tuple[str, ...]:
    """Return a memory's marks for the reader: when it holds, and how doubtful it is; none for an ordinary memory."""
    return tuple(mark for mark in (memory.validity.in_words(), _doubt(memory)) if mark)


def _doubt(memory: RecalledMemory) -> str:
    is_accepted = memory.status == MemoryStatus.ACCEPTED
    tier = AuthorityTier.parse(memory.authority)
    is_low = tier < AuthorityTier.AGENT
    if is_accepted and not is_low and not memory.confidence < 1:
        return ""
    doubt = f"confidence {memory.confidence:.2g}" + (f", authority {tier.name.title()}" if is_low else "")
    return doubt if is_accepted else f"unconfirmed ({doubt})"


def _as_summary(item: Item, memory: RecalledMemory, texts_by_id: Mapping[str, str]) -> Item:
    """Return the item of a summary without a lead; if it was truncated, it stands only for the sources that it holds verbatim.

    `texts_by_id` are the texts recalled with it. The item of any other memory is returned unchanged.
    """
    if not memory.sources:
        return item
    if not memory.text.endswith(DECAY_SUMMARY_TRUNCATION_SUFFIX):
        return item._replace(lead="")
    held = tuple(f"memory:{one}" for one in memory.sources if one in texts_by_id and texts_by_id[one] in memory.text)
    return item._replace(lead="", stands_for=held)


def _item(memory: RecalledMemory, day: date, coverage: float, rank: int, lead_lines: int) -> Item:
    turns = (*memory.turn_ids, *[event for event in memory.events if event not in memory.turn_ids])
    return Item(
        id=_id(memory),
        source=Source.MEMORY,
        text=memory.text,
        rank=rank,
        relevance=coverage,
        header=_header(memory, day),
        lead=lead(memory.text, lead_lines),
        provenance=(
            Ref("memory", memory.memory_id, memory.document_id),
            *[Ref("turn", turn) for turn in turns],
            *[Ref("memory", source) for source in memory.sources],
        ),
        stands_for=(*[f"turn:{turn}" for turn in turns], *[f"memory:{source}" for source in memory.sources]),
        at=memory.occurred_at,
        signature=memory.signature,
        confidence=memory.confidence,
        authority=memory.authority,
    )
