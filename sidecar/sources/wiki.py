"""The wiki: the summaries and best sections of compiled pages, each with the memories it came from."""

from __future__ import annotations

from dataclasses import replace

from sidecar.sources import Answer, Limits, Query
from sidecar.turn.items import Item, Ref, Source
from sidecar.turn.leads import lead
from store import pages
from store.postgres import Pool, scoped
from store.scope import Scope


class WikiSource:
    """Searches an owner's pages by title, alias and body. A section stands for the memories that it cites."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def find(self, query: Query, scope: Scope, limits: Limits) -> Answer:
        """Return up to `top_k` sections and page summaries, best first."""
        if not query.words:
            return Answer()
        async with scoped(self._pool, scope, read_only=True) as connection:
            found = await pages.search(connection, scope, query.words, limit=limits.top_k)
        passages = [_summary(one) for one in found.pages if one.page.summary]
        passages += [_section(one, limits.lead_lines) for one in found.sections]
        passages.sort(key=lambda item: (-item.relevance, item.id))
        return Answer(tuple(replace(item, rank=rank) for rank, item in enumerate(passages[: limits.top_k])))


def _section(found: pages.FoundSection, lead_lines: int) -> Item:
    heading = f"{found.heading}: "
    beginning = lead(found.body_md, lead_lines)
    return Item(
        id=f"page:{found.page.page_id}#{found.slug}",
        source=Source.WIKI,
        text=heading + found.body_md,
        rank=0,
        relevance=found.coverage,
        header=_header(found.page),
        lead=beginning and heading + beginning,
        provenance=_provenance(found.page, found.memory_ids),
        stands_for=tuple(f"memory:{memory_id}" for memory_id in found.memory_ids),
        at=found.page.last_compiled_at,
        signature=found.signature,
    )


def _summary(found: pages.FoundPage) -> Item:
    return Item(
        id=f"page:{found.page.page_id}",
        source=Source.WIKI,
        text=found.page.summary,
        rank=0,
        relevance=found.coverage,
        header=_header(found.page),
        provenance=_provenance(found.page, found.memory_ids),
        at=found.page.last_compiled_at,
        signature=found.signature,
    )


def _header(page: pages.PageHead) -> str:
    return f"{page.title} (/wiki/{page.type}/{page.slug})"


def _provenance(page: pages.PageHead, memory_ids: tuple[str, ...]) -> tuple[Ref, ...]:
    return (Ref("page", str(page.page_id), page.title), *(Ref("memory", memory_id) for memory_id in memory_ids))
