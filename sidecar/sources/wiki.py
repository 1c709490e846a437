"""The wiki source: summaries and the best sections of compiled pages, each with the memories it cites. A section is shortened to
the lines that hold the question's words."""

from __future__ import annotations

from itertools import count

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.evidence import evidence_of
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import telling_lead
from sidecar.turn.rank import CandidateKind, Candidates
from store.db.postgres import Pool, scoped
from store.scope import Scope
from store.wiki import pages
from store.wiki.pages import PageHead, Passage

_MOST_EACH = 40


class WikiSource:
    """Searches an owner's pages by title, alias, body and vectors. A section covers the memories that it cites."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` sections and page summaries, interleaved, the best of each kind first.

        Raises SourceSkipped if what was known earlier is asked for.
        """
        if query.known_at is not None:
            raise SourceSkipped("pages tell what is known now, and known_at asks for earlier")
        if not query.words and not query.meaning:
            return SourceAnswer()
        wanted = query.wanted(min(_MOST_EACH, limits.top_k))
        async with scoped(self._pool, scope, read_only=True) as connection:
            limits.begin()
            sections, summaries = await pages.recall(connection, scope, wanted)
        of_sections, of_summaries = (evidence_of(one, wanted, query.parts) for one in (sections, summaries))
        places = _in_turn(len(sections.texts), len(summaries.texts))
        evidence = of_sections.beside(of_summaries).of(places)
        both = (*sections.texts, *summaries.texts)
        passages = [both[place] for place in places]
        leads = [telling_lead(one.text, limits.lead_lines, query.words) if one.slug else "" for one in passages]
        items = tuple(map(_item, passages, evidence.coverage[0].tolist(), count(), leads))
        texts = [f"{passage.page.title}: {item.text}" for passage, item in zip(passages, items, strict=True)]
        candidates = Candidates(CandidateKind.PAGE, [item.id for item in items], texts, evidence)
        return SourceAnswer(items, notes=query.notes, candidates=candidates).first(limits.top_k)


def _in_turn(*counts: int) -> list[int]:
    """Return the indexes of several concatenated lists, interleaved: every list's first item before any second."""
    ranks = [rank for count in counts for rank in range(count)]
    return sorted(range(len(ranks)), key=ranks.__getitem__)


def _item(found: Passage, coverage: float, rank: int, short: str) -> Item:
    heading = f"{found.heading}: " if found.slug else ""
    page, text = found.page, heading + found.text
    return Item(
        id=f"page:{page.page_id}#{found.slug}" if found.slug else f"page:{page.page_id}",
        source=Source.WIKI,
        text=text,
        rank=rank,
        relevance=coverage,
        header=page.title,
        lead=short and heading + short,
        provenance=_provenance(page, found.memory_ids),
        stands_for=tuple(f"memory:{memory_id}" for memory_id in found.memory_ids) if found.slug else (),
        at=page.last_compiled_at,
        signature=found.signature,
        position=found.position,
        group=str(page.page_id),
    )


def _provenance(page: PageHead, memory_ids: tuple[str, ...]) -> tuple[Ref, ...]:
    return (Ref("page", str(page.page_id), page.title), *(Ref("memory", memory_id) for memory_id in memory_ids))
