"""The wiki: the summaries and best sections of compiled pages, each with the memories it came from."""

from __future__ import annotations

from collections.abc import Iterator

from sidecar.sources import Answer, Limits, Query
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from sidecar.turn.rank import Candidate, Kind
from store import pages
from store.pages import PageHead, Passage
from store.postgres import Pool, scoped
from store.recalling import Recalled
from store.scope import Scope

_MOST_EACH = 40


class WikiSource:
    """Searches an owner's pages by title, alias, body and meaning. A section stands for the memories that it cites."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return up to `top_k` sections and page summaries that may answer, in turn the best of each sort."""
        if not query.words and not query.meaning:
            return Answer()
        wanted = query.wanted(query.words, min(_MOST_EACH, limits.top_k))
        async with scoped(self._pool, scope, read_only=True) as connection:
            sections, summaries = await pages.recall(connection, scope, wanted)
        told = [*_told(sections, query), *_told(summaries, query)]
        told.sort(key=lambda one: one[0])
        items = [
            _item(passage, evidence, rank, limits.lead_lines)
            for rank, (_, passage, evidence) in enumerate(told[: limits.top_k])
        ]
        return Answer(tuple(items), notes=query.notes)


def _told(found: Recalled[Passage], query: Query) -> Iterator[tuple[int, Passage, tuple[Evidence, ...]]]:
    """Yield each passage with its place among its sort and its evidence."""
    evidence = evidence_of(found, query.parts, query.words, lambda one: ((one.page.page_id, one.slug), 0))
    for place, (match, told) in enumerate(zip(found.matches, evidence, strict=True)):
        yield place, match.text, told


def _item(found: Passage, evidence: tuple[Evidence, ...], rank: int, lead_lines: int) -> Item:
    heading = f"{found.heading}: " if found.slug else ""
    beginning = lead(found.text, lead_lines) if found.slug else ""
    page, text = found.page, heading + found.text
    return Item(
        id=f"page:{page.page_id}#{found.slug}" if found.slug else f"page:{page.page_id}",
        source=Source.WIKI,
        text=text,
        rank=rank,
        relevance=evidence[0].coverage,
        header=f"{page.title} (/wiki/{page.type}/{page.slug})",
        lead=beginning and heading + beginning,
        provenance=_provenance(page, found.memory_ids),
        stands_for=tuple(f"memory:{memory_id}" for memory_id in found.memory_ids) if found.slug else (),
        at=page.last_compiled_at,
        signature=found.signature,
        candidate=Candidate(Kind.PASSAGE, f"{page.title}: {text}", evidence),
    )


def _provenance(page: PageHead, memory_ids: tuple[str, ...]) -> tuple[Ref, ...]:
    return (Ref("page", str(page.page_id), page.title), *(Ref("memory", memory_id) for memory_id in memory_ids))
