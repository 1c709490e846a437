"""The wiki source: summaries and the best sections of compiled pages, each with the memories it cites. A section is shortened to
the lines that hold the question's words.

Beside what words and vectors find are the pages to which typed edges lead from those that the message names; they compete by
their relevance like the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count, repeat
from uuid import UUID

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn import paths
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.items import Item, Ref, Source, items_of
from sidecar.turn.leads import telling_lead
from sidecar.turn.paths import MessageWords, Walked
from sidecar.turn.rank import CandidateKind, Candidates
from store.content.recalling import Recalled, RecallQuery
from store.db.postgres import Pool, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import edge_walks, pages
from store.wiki.pages import Passage
from store.wiki.ways import EdgeWay

_MOST_EACH = 40
_SECTIONS_EACH = 2

_Ways = Mapping[UUID, tuple[EdgeWay, Walked]]


class WikiSource:
    """Searches an owner's pages by title, alias, body and vectors, and follows at most `hops` typed edges, 0 for none. A section
    covers the memories that it cites."""

    def __init__(self, pool: Pool, *, hops: int = edge_walks.MAX_HOPS) -> None:
        self._pool = pool
        self._hops = min(hops, edge_walks.MAX_HOPS)

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` sections and page summaries: of pages that edges lead to, sections and summaries in turn, the best
        of each first.

        Raises SourceSkipped for a query with `known_at`.
        """
        if query.known_at is not None:
            raise SourceSkipped("pages tell what is known now, and known_at asks for earlier")
        if not query.words and not query.meaning:
            return SourceAnswer()
        wanted = query.wanted(min(_MOST_EACH, limits.top_k))
        words = MessageWords(query.text)
        async with scoped(self._pool, scope, read_only=True) as connection:
            limits.begin()
            sections, summaries = await pages.recall(connection, scope, wanted)
            ways = await self._ways(connection, scope, words, query)
            led_to = await pages.passages_of(connection, scope, list(ways), wanted, each=_SECTIONS_EACH)
        # What edges lead to goes first: what words or vectors find of it may be far down their lists.
        led = {(one.page.page_id, one.slug) for one in led_to.texts}
        lists = (
            _counted_as(led_to, sections),
            *(
                found.only([(one.page.page_id, one.slug) not in led for one in found.texts])
                for found in (sections, summaries)
            ),
        )
        places = _in_turn(*(len(one.texts) for one in lists))
        evidence = reduce(Evidence.beside, [evidence_of(one, wanted, query.parts) for one in lists]).of(places)
        walked = [
            one for recalled in lists for one in _walked(_counted_as(recalled, sections), wanted, words, ways, query)
        ]
        passages = [passage for recalled in lists for passage in recalled.texts]
        chosen = _Chosen([passages[place] for place in places], evidence, [walked[place] for place in places], ways)
        return _answer(chosen, query, limits)

    async def _ways(self, connection: Connection, scope: Scope, words: MessageWords, query: SourceQuery) -> _Ways:
        """Return the best way over typed edges to each page that the message's names and words of relation lead to."""
        periods = query.reading.periods if query.reading else ()
        walk_query = paths.walk_query(words, periods, now=query.as_of or query.now) if self._hops else None
        if walk_query is None:
            return {}
        found = await edge_walks.walk_from_names(connection, scope, walk_query, hops=self._hops)
        return {way.page_ids[-1]: (way, walked) for way, walked in paths.best_ways(words, found)}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Passages in order, with their evidence and how edges lead to them."""

    passages: Sequence[Passage]
    evidence: Evidence
    walked: Sequence[Walked | None]
    ways: _Ways


def _answer(chosen: _Chosen, query: SourceQuery, limits: SourceLimits) -> SourceAnswer:
    passages = chosen.passages
    leads = [telling_lead(one.text, limits.lead_lines, query.words) if one.slug else "" for one in passages]
    coverage = chosen.evidence.coverage[0].tolist()
    ways = [chosen.ways[one.page.page_id][0] if one.page.page_id in chosen.ways else None for one in passages]
    items = _items(passages, coverage, leads, ways)
    texts = [f"{passage.page.title}: {item.text}" for passage, item in zip(passages, items, strict=True)]
    ids = [item.id for item in items]
    walked = chosen.walked if any(chosen.walked) else ()
    candidates = Candidates(CandidateKind.PAGE, ids, texts, chosen.evidence, walked=walked)
    return SourceAnswer(items, notes=query.notes, candidates=candidates).first(limits.top_k)


def _counted_as(recalled: Recalled[Passage], counted: Recalled[Passage]) -> Recalled[Passage]:
    """Return the texts with the frequencies of words of another search for the same words."""
    return replace(recalled, frequencies=counted.frequencies, total=counted.total)


def _walked(
    recalled: Recalled[Passage], wanted: RecallQuery, words: MessageWords, ways: _Ways, query: SourceQuery
) -> list[Walked | None]:
    """Return how edges lead to each text, with the share of the message's words that the text and the way to it hold."""
    led = [ways.get(one.page.page_id) for one in recalled.texts]
    if not any(led):
        return [None] * len(led)
    folded = [fold(word) for word in wanted.words]
    explained = {page_id: _bits(folded, paths.words_of(words, way)) for page_id, (way, _) in ways.items()}
    matched = [
        bits | explained.get(one.page.page_id, 0) for one, bits in zip(recalled.texts, recalled.matched, strict=True)
    ]
    joint = replace(recalled, matched=tuple(matched), cosines=((),) * len(matched))
    shares = evidence_of(joint, wanted, query.parts).coverage[0].round(4).tolist()
    return [one and one[1]._replace(coverage=share) for one, share in zip(led, shares, strict=True)]


def _bits(words: Sequence[str], held: frozenset[str]) -> int:
    return sum(1 << place for place, word in enumerate(words) if word in held)


def _in_turn(*counts: int) -> list[int]:
    """Return the indexes of several concatenated lists, interleaved: every list's first item before any second."""
    ranks = [rank for count in counts for rank in range(count)]
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def _items(
    passages: Sequence[Passage], coverage: Sequence[float], leads: Sequence[str], ways: Sequence[EdgeWay | None]
) -> tuple[Item, ...]:
    page_ids = [str(one.page.page_id) for one in passages]
    headings = [f"{one.heading}: " if one.slug else "" for one in passages]
    return items_of(
        id=[
            f"page:{page_id}#{one.slug}" if one.slug else f"page:{page_id}"
            for page_id, one in zip(page_ids, passages, strict=True)
        ],
        source=repeat(Source.WIKI),
        text=[heading + one.text for heading, one in zip(headings, passages, strict=True)],
        rank=count(),
        relevance=coverage,
        header=[one.page.title for one in passages],
        lead=[lead and heading + lead for heading, lead in zip(headings, leads, strict=True)],
        provenance=[
            _provenance(page_id, one.page.title, one.memory_ids, way)
            for page_id, one, way in zip(page_ids, passages, ways, strict=True)
        ],
        stands_for=[tuple([f"memory:{one}" for one in found.memory_ids]) if found.slug else () for found in passages],
        at=[one.page.last_compiled_at for one in passages],
        signature=[one.signature for one in passages],
        position=[one.position for one in passages],
        group=page_ids,
    )


def _provenance(page_id: str, title: str, memory_ids: tuple[str, ...], way: EdgeWay | None) -> tuple[Ref, ...]:
    """Return the page, the way over typed edges by which it was reached, if any, and the memories that it cites."""
    led = (Ref("path", page_id, paths.in_words(way)),) if way else ()
    return (Ref("page", page_id, title), *led, *[Ref("memory", memory_id) for memory_id in memory_ids])
