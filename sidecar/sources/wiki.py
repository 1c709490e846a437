"""The wiki source: summaries and the best sections of compiled pages, each with the memories it cites. The lead of a section is
the lines that hold the question's words. Links to other pages are replaced by their words, which are all that a model needs.

Pages are found by words, by vectors, and by the typed edges that lead from the pages that the message names. All compete by
relevance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count, repeat
from uuid import UUID

from compiler.plan.text.markdown import unlinked
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.items import Item, Ref, Source, items_of
from sidecar.turn.leads import telling_lead
from sidecar.turn.message import paths
from sidecar.turn.message.paths import MessageWords, Walked
from store.content.recalling import Recalled, RecallQuery
from store.db.postgres import Pool, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import edge_walks, pages
from store.wiki.edge_paths import EdgeWay
from store.wiki.pages import Passage

_MOST_EACH = 40
_SECTIONS_EACH = 2

_Ways = Mapping[UUID, tuple[EdgeWay, Walked]]


class WikiSource:
    """Searches an owner's pages by title, alias, body and vectors, and follows at most `hops` typed edges (0 for none).

    A section covers the memories that it cites.
    """

    def __init__(self, pool: Pool, *, hops: int = edge_walks.MAX_HOPS) -> None:
        self._pool = pool
        self._hops = min(hops, edge_walks.MAX_HOPS)

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` passages: those of pages that edges lead to, sections, and summaries, interleaved, best first.

        Raises SourceSkipped for a query with `known_at`.
        """
        if query.known_at is not None:
            raise SourceSkipped("known_at is set, but pages hold only current knowledge")
        if not query.words and not query.meaning:
            return SourceAnswer()
        wanted = query.wanted(min(_MOST_EACH, limits.top_k))
        words = MessageWords(query.text)
        async with scoped(self._pool, scope, read_only=True) as connection:
            limits.begin()
            sections, summaries = await pages.recall(connection, scope, wanted)
            ways = await self._ways(connection, scope, words, query)
            led_to = await pages.passages_of(connection, scope, list(ways), wanted, each=_SECTIONS_EACH)
        # Passages that edges lead to go first: in the lists found by words or vectors they may be far down.
        reached = {(passage.page.page_id, passage.slug) for passage in led_to.texts}
        lists = (
            _counted_as(led_to, sections),
            *(
                recalled.only([(passage.page.page_id, passage.slug) not in reached for passage in recalled.texts])
                for recalled in (sections, summaries)
            ),
        )
        places = _interleaved(*(len(recalled.texts) for recalled in lists))
        by_list = [evidence_of(recalled, wanted, query.parts) for recalled in lists]
        evidence = reduce(Evidence.beside, by_list).of(places)
        walked = [
            path for recalled in lists for path in _walked(_counted_as(recalled, sections), wanted, words, ways, query)
        ]
        passages = [passage for recalled in lists for passage in recalled.texts]
        chosen = _Chosen([passages[place] for place in places], evidence, [walked[place] for place in places], ways)
        return _answer(chosen, query, limits)

    async def _ways(self, connection: Connection, scope: Scope, words: MessageWords, query: SourceQuery) -> _Ways:
        """Return the best path over typed edges to each page that the message's names and relation words lead to."""
        periods = query.reading.periods if query.reading else ()
        walk_query = paths.walk_query(words, periods, now=query.as_of or query.now) if self._hops else None
        if walk_query is None:
            return {}
        found = await edge_walks.walk_from_names(connection, scope, walk_query, hops=self._hops)
        return {way.page_ids[-1]: (way, walked) for way, walked in paths.best_ways(words, found)}


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Passages in order, with their evidence and the features of the paths that lead to them."""

    passages: Sequence[Passage]
    evidence: Evidence
    walked: Sequence[Walked | None]
    ways: _Ways


def _answer(chosen: _Chosen, query: SourceQuery, limits: SourceLimits) -> SourceAnswer:
    passages = list(map(_unlinked, chosen.passages))
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
    """Return the texts with the word frequencies of another search for the same words."""
    return replace(recalled, frequencies=counted.frequencies, total=counted.total)


def _unlinked(passage: Passage) -> Passage:
    """Return the passage with the words of its links only; without its signature, if that changes the text."""
    text = unlinked(passage.text)
    return passage if text == passage.text else passage._replace(text=text, signature=None)


def _walked(
    recalled: Recalled[Passage], wanted: RecallQuery, words: MessageWords, ways: _Ways, query: SourceQuery
) -> list[Walked | None]:
    """Return the features of the path to each text, with the share of the message's words that the text and its path hold."""
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
    return [way and way[1]._replace(coverage=share) for way, share in zip(led, shares, strict=True)]


def _bits(words: Sequence[str], held: frozenset[str]) -> int:
    return sum(1 << place for place, word in enumerate(words) if word in held)


def _interleaved(*counts: int) -> list[int]:
    """Return the indexes of several concatenated lists, interleaved: the first items of all lists before any second item."""
    ranks = [rank for count in counts for rank in range(count)]
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def _items(
    passages: Sequence[Passage], coverage: Sequence[float], leads: Sequence[str], ways: Sequence[EdgeWay | None]
) -> tuple[Item, ...]:
    page_ids = [str(passage.page.page_id) for passage in passages]
    headings = [f"{passage.heading}: " if passage.slug else "" for passage in passages]
    return items_of(
        id=[
            f"page:{page_id}#{passage.slug}" if passage.slug else f"page:{page_id}"
            for page_id, passage in zip(page_ids, passages, strict=True)
        ],
        source=repeat(Source.WIKI),
        text=[heading + passage.text for heading, passage in zip(headings, passages, strict=True)],
        rank=count(),
        relevance=coverage,
        header=[passage.page.title for passage in passages],
        lead=[lead and heading + lead for heading, lead in zip(headings, leads, strict=True)],
        provenance=[
            _provenance(page_id, passage.page.title, passage.memory_ids, way)
            for page_id, passage, way in zip(page_ids, passages, ways, strict=True)
        ],
        stands_for=[
            tuple([f"memory:{memory_id}" for memory_id in passage.memory_ids]) if passage.slug else ()
            for passage in passages
        ],
        at=[passage.page.last_compiled_at for passage in passages],
        signature=[passage.signature for passage in passages],
        unsigned_chars=map(len, headings),
        position=[passage.position for passage in passages],
        group=page_ids,
    )


def _provenance(page_id: str, title: str, memory_ids: tuple[str, ...], way: EdgeWay | None) -> tuple[Ref, ...]:
    """Return references to the page, the path by which it was reached, if any, and the memories that the passage cites.

    A path is followed by the other pages on it, its steps: a receipt loses its label when one of them is forgotten.
    """
    cited = [Ref("memory", memory_id) for memory_id in memory_ids]
    if way is None:
        return (Ref("page", page_id, title), *cited)
    led = [Ref("step", str(one)) for one in way.page_ids if str(one) != page_id]
    return (Ref("page", page_id, title), Ref("path", page_id, paths.in_words(way)), *led, *cited)
