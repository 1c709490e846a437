"""A job's cache of pages it has read and written, so that the next batch does not read them again.

The fence keeps it valid: a plan is applied only at the revision it was made for. A page read at a revision, or written
by the apply that raised it, is current until another writer raises it; then the plan is refused and the cache cleared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from compiler.plan.contract import Page, PageKey
from compiler.state.row_mapping import Stored, linked_ids, stored
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates

_MOST_PAGES = 1_000


@dataclass(frozen=True, slots=True)
class Kept:
    """A page in its present state, and the ids of itself and of the pages it names."""

    page: Page
    ids: Mapping[PageKey, UUID]


@dataclass(slots=True)
class PageCache:
    """Pages by id, about a thousand at most. The caller must clear it when the wiki's revision changes under it."""

    kept: dict[UUID, Kept] = field(default_factory=dict)
    ids: dict[PageKey, UUID] = field(default_factory=dict)

    async def load(self, connection: Connection, scope: Scope, page_ids: Iterable[UUID]) -> Stored:
        """Return the pages with these ids; only those not cached are read."""
        wanted = sorted(set(page_ids))
        found = {page_id: self.kept[page_id] for page_id in wanted if page_id in self.kept}
        missing = [page_id for page_id in wanted if page_id not in found]
        if missing:
            read = await load(connection, scope, missing)
            found.update((read.ids[key], Kept(page, _named_ids(page, read.ids))) for key, page in read.pages.items())
            self._keep({page_id: found[page_id] for page_id in missing if page_id in found})
        ids = {key: page_id for one in found.values() for key, page_id in one.ids.items()}
        return Stored({one.page.key: one.page for one in found.values()}, ids)

    def take(self, stood: Stored, pages: Mapping[PageKey, Page], ids: Mapping[PageKey, UUID]) -> None:
        """Cache the pages that an apply changed.

        Pages that list other pages are read again, because the store settles their lists. If pages were removed, all
        are read again.
        """
        if stood.pages.keys() - pages.keys():
            self.clear()
            return
        taken: dict[UUID, Kept] = {}
        for key, page in pages.items():
            before = stood.pages.get(key)
            if before is page:
                continue
            self.kept.pop(ids[key], None)
            if not _lists(page) and not (before and _lists(before)):
                taken[ids[key]] = Kept(page, _named_ids(page, ids))
        self._keep(taken)

    def clear(self) -> None:
        """Forget everything: another writer changed the wiki."""
        self.kept, self.ids = {}, {}

    def _keep(self, found: Mapping[UUID, Kept]) -> None:
        if len(self.kept) + len(found) > _MOST_PAGES:
            self.clear()
        self.kept.update(found)
        self.ids.update((one.page.key, page_id) for page_id, one in found.items())


async def load(connection: Connection, scope: Scope, page_ids: Iterable[UUID]) -> Stored:
    """Return the pages with these ids, read from the store."""
    rows = await candidates.pages(connection, scope, sorted(set(page_ids)))
    missing = linked_ids(rows) - {row["page_id"] for row in rows.pages}
    return stored(rows, await candidates.identities_of(connection, scope, sorted(missing)))


def _lists(page: Page) -> bool:
    return any(one.children or one.aggregation is not None for one in page.sections)


def _named_ids(page: Page, ids: Mapping[PageKey, UUID]) -> dict[PageKey, UUID]:
    named = {page.key, *((page.parent,) if page.parent else ())}
    for section in page.sections:
        named.update(section.children)
        if section.aggregation is not None:
            named.update(section.aggregation.linked_pages)
            named.update((section.aggregation.promoted_page,) if section.aggregation.promoted_page else ())
    return {key: ids[key] for key in named if key in ids}
