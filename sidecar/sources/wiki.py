"""The wiki: the summaries and best sections of compiled pages, each with the memories it came from."""

from __future__ import annotations

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
        return Answer(tuple(_item(one, rank, limits.lead_lines) for rank, one in enumerate(found)))


def _item(found: pages.FoundPassage, rank: int, lead_lines: int) -> Item:
    path = f"/wiki/{found.type}/{found.slug}"
    section = f"#{found.section_slug}" if found.section_slug else ""
    return Item(
        id=f"page:{found.page_id}{section}",
        source=Source.WIKI,
        text=f"{found.heading}: {found.text}" if found.heading else found.text,
        rank=rank,
        relevance=found.coverage,
        header=f"{found.title} ({path})",
        lead=lead(found.text, lead_lines),
        provenance=(Ref("page", str(found.page_id), path), *(Ref("memory", ref) for ref in found.memory_ids)),
        stands_for=tuple(f"memory:{ref}" for ref in found.memory_ids),
        at=found.last_compiled_at,
        signature=found.signature,
    )
