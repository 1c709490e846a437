"""The wiki's use cases: reading, searching and drawing an owner's pages, and an operator's changes to them.

Every method opens its own transaction. `compiler.plan.upkeep` decides the effect of a change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from compiler.operations import acts, ruling_views
from compiler.operations.ruling_views import Report
from sidecar.runtime.errors import NotFound
from sidecar.services.compiles import start_compile
from sidecar.services.validation import read_id, read_text
from sidecar.services.wiki.edges import PageEdges
from sidecar.services.wiki.page_lookup import acting, by_key, find, key_of, merge_of, read_page
from store.compile import overview, scopes
from store.compile.jobs import Job, Trigger
from store.db.postgres import Pools, Transaction, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.text.texts import fold
from store.wiki import browse, edges, mentions, neighbourhood, page_search
from store.wiki.browse import AliasRow, Citation, Order, PageRow, PageWhole, SectionRow
from store.wiki.edges import GraphPath
from store.wiki.mentions import MentionRow
from store.wiki.neighbourhood import Child, Counts, Graph, LinkRow
from store.wiki.page_search import Hit

MAX_ALIAS_CHARS = 200
MAX_TITLE_CHARS = 120
MAX_SENTENCE_CHARS = 2_000
MAX_PAGE_EDGES = 200
MAX_QUERY_CHARS = 2_000

_READERS = {Order.NAME: browse.pages_by_name, Order.HUBNESS: browse.pages_by_hubness, Order.TIME: browse.pages_by_time}


@dataclass(frozen=True, slots=True)
class PageView:
    """A complete page with its parent, its first links in both directions, its first children, and the number of each.

    `jobs` has the known compile jobs of the page's history by instant, `merged` the paths of the pages that were merged into
    it, `reports` its sentences that were reported as wrong.
    """

    whole: PageWhole
    parent: PageRow | None
    counts: Counts
    links: Sequence[LinkRow]
    edges: Sequence[GraphPath] = ()
    backlinks: Sequence[LinkRow] = ()
    children: Sequence[Child] = ()
    jobs: dict[datetime, UUID] | None = None
    merged: Sequence[str] = ()
    reports: Sequence[Report] = ()


class Wiki:
    """Reads and corrects an owner's wiki; `now` returns the time of a change.

    A page is named by its id, its path, or a slug or name that only one page has. Methods that take a name raise NotFound,
    and InvalidArgument for `page` if the name is unusable or could mean several pages.
    """

    def __init__(self, pools: Pools, *, now: Callable[[], datetime]) -> None:
        self._pool = pools.background
        self._now = now
        self.edges = PageEdges(pools, now=now)

    async def page(self, scope: Scope, named: str, *, with_texts: bool, most_links: int) -> PageView:
        """Return a complete page, archived or not, with its first outgoing links."""
        named = read_page("page", named)
        async with self._reading(scope) as connection:
            row = await find(connection, scope, named)
            return PageView(
                whole=await browse.whole(connection, scope, row, with_texts=with_texts),
                parent=await _parent(connection, scope, row),
                counts=await neighbourhood.counts(connection, scope, row.page_id),
                links=await neighbourhood.links(connection, scope, row.page_id, limit=most_links),
                edges=await edges.edges_of(connection, scope, row.page_id, limit=MAX_PAGE_EDGES),
            )

    async def page_with_surroundings(self, scope: Scope, page_type: str, slug: str, *, most_links: int) -> PageView:
        """Return the page of that type and slug with source texts, links to and from it, children and jobs. Raises NotFound."""
        async with self._reading(scope) as connection:
            row = await by_key(connection, scope, page_type, slug)
            whole = await browse.whole(connection, scope, row, with_texts=True)
            return PageView(
                whole=whole,
                parent=await _parent(connection, scope, row),
                counts=await neighbourhood.counts(connection, scope, row.page_id),
                links=await neighbourhood.links(connection, scope, row.page_id, limit=most_links),
                edges=await edges.edges_of(connection, scope, row.page_id, limit=MAX_PAGE_EDGES),
                backlinks=await neighbourhood.backlinks(connection, scope, row.page_id, limit=most_links),
                children=await neighbourhood.children(connection, scope, row.page_id, limit=most_links),
                jobs=await overview.jobs_at(connection, scope, [one.at for one in whole.history]),
                reports=[
                    one for one in await ruling_views.reports(connection, scope) if one.ruling.page == key_of(row)
                ],
                merged=await ruling_views.parts(connection, scope, key_of(row)),
            )

    async def page_by_key(self, scope: Scope, page_type: str, slug: str) -> PageRow | None:
        """Return the page of that type and slug, archived or not; None if there is none."""
        async with self._reading(scope) as connection:
            return await browse.page_by_key(connection, scope, page_type, slug)

    async def page_by_id(self, scope: Scope, page_id: UUID) -> PageRow:
        """Return the page with that id, archived or not. Raises NotFound."""
        async with self._reading(scope) as connection:
            row = await browse.page(connection, scope, page_id)
        if row is None:
            raise NotFound("page")
        return row

    async def pages(
        self, scope: Scope, order: Order, *, status: str, page_type: str, limit: int, after: Any = None
    ) -> list[PageRow]:
        """Return up to `limit` pages of that status; `after` has the order's keys of the last page before them."""
        async with self._reading(scope) as connection:
            return await _READERS[order](
                connection, scope, status=status, page_type=page_type, limit=limit, after=after
            )

    async def search(self, scope: Scope, question: str, *, page_type: str) -> list[Hit]:
        """Return the matching pages, best first, at most `page_search.MOST_FOUND`. Raises InvalidArgument for `query`."""
        read_text("query", question, min_chars=1, max_chars=MAX_QUERY_CHARS)
        async with self._reading(scope) as connection:
            return await page_search.search(connection, scope, question, page_type=page_type)

    async def backlinks(self, scope: Scope, named: str, *, limit: int, after: Any = None) -> list[LinkRow]:
        """Return up to `limit` links that lead to a page."""
        named = read_page("page", named)
        async with self._reading(scope) as connection:
            row = await find(connection, scope, named)
            return await neighbourhood.backlinks(connection, scope, row.page_id, limit=limit, after=after)

    async def children(self, scope: Scope, named: str, *, limit: int, after: Any = None) -> list[Child]:
        """Return up to `limit` pages under a page."""
        named = read_page("page", named)
        async with self._reading(scope) as connection:
            row = await find(connection, scope, named)
            return await neighbourhood.children(connection, scope, row.page_id, limit=limit, after=after)

    async def graph(
        self, scope: Scope, named: str, *, depth: int, most_pages: int, known_at: datetime | None = None
    ) -> Graph:
        """Return the pages within `depth` links of a page, or the largest hubs for an empty name. Errors name it `focus`."""
        named = read_page("focus", named) if named else ""
        async with self._reading(scope) as connection:
            focus = (await find(connection, scope, named, field="focus")).page_id if named else None
            return await neighbourhood.graph(
                connection, scope, focus=focus, depth=depth, most_pages=most_pages, known_at=known_at
            )

    async def citations(self, scope: Scope, memory_id: str, *, limit: int, after: Any = None) -> list[Citation]:
        """Return up to `limit` citations of a memory; none if it is not cited or does not exist."""
        async with self._reading(scope) as connection:
            return await browse.citations(connection, scope, memory_id, limit=limit, after=after)

    async def mentions(self, scope: Scope, status: str, *, limit: int, after: Any = None) -> list[MentionRow]:
        """Return up to `limit` held names of that status, newest first."""
        async with self._reading(scope) as connection:
            return await mentions.listed(connection, scope, status=status, limit=limit, after=after)

    async def ignore_mention(self, scope: Scope, mention_id: UUID) -> None:
        """Ignore a held name. Raises NotFound, and FailedPrecondition if it has a page."""
        async with self._acting(scope) as connection:
            if not await acts.ignore_mention(connection, scope, mention_id, now=self._now()):
                raise NotFound("mention")

    async def add_alias(self, scope: Scope, named: str, alias: str) -> tuple[PageRow, AliasRow]:
        """Give a page a name of 1 to 200 characters; return the page and the stored name."""
        named = read_page("page", named)
        read_text("alias", alias, min_chars=1, max_chars=MAX_ALIAS_CHARS)
        async with self._acting(scope) as connection:
            row = await find(connection, scope, named)
            await acts.add_alias(connection, scope, row, alias, now=self._now())
            page = await browse.whole(connection, scope, row)
        return row, next(one for one in page.aliases if one.alias == fold(alias))

    async def rename_page(self, scope: Scope, named: str, title: str) -> PageRow:
        """Give a page a title of 1 to 120 characters, and return it. Raises FailedPrecondition for another page's name."""
        named = read_page("page", named)
        read_text("title", title, min_chars=1, max_chars=MAX_TITLE_CHARS)
        async with self._acting(scope) as connection:
            await scopes.lock(connection, scope, now=self._now())
            row = await find(connection, scope, named)
            await acts.rename_page(connection, scope, row, title, now=self._now())
            return await browse.page(connection, scope, row.page_id) or row

    async def merge_pages(self, scope: Scope, named: str, into: str) -> PageRow:
        """Merge a page into another, and return the other one. Repeating a merge is no error.

        Raises FailedPrecondition for a page and itself, and for archived pages.
        """
        named, into = read_page("page", named), read_page("into", into)
        async with self._acting(scope) as connection:
            await scopes.lock(connection, scope, now=self._now())
            target = await find(connection, scope, into, field="into")
            merged = await merge_of(connection, scope, named)
            if merged is not None and merged.into == key_of(target):
                return target
            row = await find(connection, scope, named)
            await acts.merge_pages(connection, scope, row, target, now=self._now())
            return await browse.page(connection, scope, target.page_id) or target

    async def undo_merge(self, scope: Scope, named: str) -> tuple[str, int, Job]:
        """Undo a page's merge; return its path, the number of memories to read again, and the compile that reads them."""
        named, now = read_page("page", named), self._now()
        async with self._acting(scope) as connection:
            await scopes.lock(connection, scope, now=now)
            merged = await merge_of(connection, scope, named)
            if merged is None:
                raise NotFound("merged page")
            standing = await ruling_views.standing(connection, scope)
            count = await acts.undo_merge(connection, scope, merged, standing, now=now)
            _, job = await start_compile(connection, scope, trigger=Trigger.ADMIN, now=now)
        return merged.page.path, count, job

    async def report_sentence(self, scope: Scope, named: str, sentence: str) -> Report:
        """Remove a wrong sentence from a page for good; reporting it again is no error. Raises FailedPrecondition if the page
        has no such sentence.
        """
        named = read_page("page", named)
        read_text("sentence", sentence, min_chars=1, max_chars=MAX_SENTENCE_CHARS)
        async with self._acting(scope) as connection:
            await scopes.lock(connection, scope, now=self._now())
            row = await find(connection, scope, named)
            whole = await browse.whole(connection, scope, row, with_texts=True)
            cited = (*(source for section in whole.sections for source in section.sources), *whole.other_sources)
            texts = {one.memory_id: one.text for one in cited if one.text}
            ruled_now = await acts.report_sentence(connection, scope, row, sentence, texts, now=self._now())
            return next(one for one in await ruling_views.reports(connection, scope) if one.is_of(ruled_now))

    async def reports(self, scope: Scope, *, limit: int, after: str = "") -> list[Report]:
        """Return up to `limit` reported sentences, by id."""
        async with self._reading(scope) as connection:
            every = sorted(await ruling_views.reports(connection, scope), key=lambda one: one.report_id)
        return [one for one in every if one.report_id > after][:limit]

    async def restore_sentence(self, scope: Scope, report_id: str) -> Report:
        """Put a reported sentence back on its page. Raises NotFound."""
        async with self._acting(scope) as connection:
            await scopes.lock(connection, scope, now=self._now())
            report = next(
                (one for one in await ruling_views.reports(connection, scope) if one.report_id == report_id), None
            )
            if report is None:
                raise NotFound("report")
            await acts.restore_sentence(connection, scope, report.ruling, now=self._now())
        return report

    async def archive_page(self, scope: Scope, named: str) -> PageRow:
        """Archive a page, and return it."""
        named = read_page("page", named)
        async with self._acting(scope) as connection:
            row = await find(connection, scope, named)
            await acts.archive_page(connection, scope, row, now=self._now())
            return await browse.page(connection, scope, row.page_id) or row

    async def delete_page(self, scope: Scope, named: str) -> PageRow | None:
        """Delete a page, and return its last state; None if it does not exist."""
        named = read_page("page", named)
        async with self._acting(scope) as connection:
            try:
                row = await find(connection, scope, named)
            except NotFound:
                return None
            await acts.delete_page(connection, scope, row, now=self._now())
        return row

    async def suppress_promotion(self, scope: Scope, named: str, section_slug: str) -> SectionRow:
        """Keep a section from becoming a page, and return the section. Raises FailedPrecondition."""
        return await self._on_section(acts.suppress_promotion, scope, named, section_slug)

    async def undo_promotion(self, scope: Scope, named: str, section_slug: str) -> SectionRow:
        """Undo a section's promotion, and return the section. Raises FailedPrecondition."""
        return await self._on_section(acts.undo_promotion, scope, named, section_slug)

    async def _on_section(self, act: Callable[..., Any], scope: Scope, named: str, slug: str) -> SectionRow:
        named, slug = read_page("page", named), read_id("section_slug", slug)
        async with self._acting(scope) as connection:
            row = await find(connection, scope, named)
            await act(connection, scope, row, slug, now=self._now())
            page = await browse.whole(connection, scope, row)
        return next(one for one in page.sections if one.slug == slug)

    def _reading(self, scope: Scope) -> Transaction:
        return scoped(self._pool, scope, read_only=True)

    def _acting(self, scope: Scope) -> AbstractAsyncContextManager[Connection]:
        return acting(self._pool, scope)


async def _parent(connection: Connection, scope: Scope, row: PageRow) -> PageRow | None:
    return await browse.page(connection, scope, row.parent_page_id) if row.parent_page_id else None
