"""The wiki service: an owner's pages to read, search and draw, and an operator's acts on them.

Only the way between messages and values stands here; what an act changes is decided in `compiler`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sidecar.rpc.auth.identity import resolve_scope
from sidecar.rpc.messages import wiki_messages as write
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import Int4, ListCall
from sidecar.rpc.transport.validation import read_choice
from sidecar.rpc.wiki_acts import WikiActs
from sidecar.rpc.wiki_names import find_page, read_page
from sidecar.services.validation import read_id, read_int, read_text
from sidecar.v1 import wiki_pb2 as pb
from store.db.postgres import scoped
from store.scope import Scope
from store.wiki import browse, neighbourhood, page_search
from store.wiki.browse import PageRow
from store.wiki.neighbourhood import MAX_DEPTH, MAX_GRAPH_PAGES

MAX_QUERY_CHARS = 2_000
LINKS_SHOWN = 100

SERVICE = pb.DESCRIPTOR.services_by_name["WikiService"]

_GRAPH_PAGES = 200
_TYPES: Mapping[int, str] = {
    pb.PAGE_TYPE_UNSPECIFIED: "",
    pb.PAGE_TYPE_ENTITY: "entity",
    pb.PAGE_TYPE_TOPIC: "topic",
    pb.PAGE_TYPE_DECISION: "decision",
}
_STATUSES: Mapping[int, str] = {
    pb.PAGE_STATUS_UNSPECIFIED: "active",
    pb.PAGE_STATUS_ACTIVE: "active",
    pb.PAGE_STATUS_ARCHIVED: "archived",
}
_MENTION_STATUSES: Mapping[int, str] = {
    pb.MENTION_STATUS_UNSPECIFIED: "open",
    pb.MENTION_STATUS_OPEN: "open",
    pb.MENTION_STATUS_PROMOTED: "promoted",
    pb.MENTION_STATUS_IGNORED: "ignored",
}


class WikiService(WikiActs):
    """Reads an owner's wiki, and lets an operator put it right."""

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "GetPage": self.get_page,
            "ListPages": self.list_pages,
            "SearchPages": self.search_pages,
            "Backlinks": self.backlinks,
            "Children": self.children,
            "Graph": self.graph,
            "PagesCitingMemory": self.pages_citing_memory,
            "ListMentions": self.list_mentions,
            **super().behaviours,
        }

    async def get_page(self, request: pb.GetPageRequest, call: Call) -> pb.GetPageResponse:
        """Return a page whole. Raises NotFound."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        named = read_page("page", request.page)
        async with self._reading(scope) as connection:
            row = await find_page(connection, scope, named)
            found = await browse.whole(connection, scope, row, with_texts=request.with_source_texts)
            parent = await browse.page(connection, scope, row.parent_page_id) if row.parent_page_id else None
            links = await neighbourhood.links(connection, scope, row.page_id, limit=LINKS_SHOWN)
            around = await neighbourhood.counts(connection, scope, row.page_id)
        return write.whole(found, parent, links, around)

    async def list_pages(self, request: pb.ListPagesRequest, call: Call) -> pb.ListPagesResponse:
        """Return a page of the owner's pages."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        page_type = read_choice("type", request.type, _TYPES)
        status = read_choice("status", request.status, _STATUSES)
        read, kinds, keys_of = read_choice("order", request.order, _ORDERS)
        listing = ListCall("ListPages", (*_of(scope), page_type, status, str(request.order)), kinds)
        page = listing.read(request.page_size, request.page_token)
        async with self._reading(scope) as connection:
            rows = await read(
                connection, scope, status=status, page_type=page_type, limit=page.limit, **page.starting("after")
            )
        written, token = listing.cut(rows, page, keys_of, write.page)
        return pb.ListPagesResponse(pages=written, next_page_token=token)

    async def search_pages(self, request: pb.SearchPagesRequest, call: Call) -> pb.SearchPagesResponse:
        """Return a page of the pages that match, best first."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        question = read_text("query", request.query, min_chars=1, max_chars=MAX_QUERY_CHARS)
        page_type = read_choice("type", request.type, _TYPES)
        listing = ListCall("SearchPages", (*_of(scope), page_type, question), (Int4,))
        page = listing.read(request.page_size, request.page_token)
        async with self._reading(scope) as connection:
            hits = await page_search.search(connection, scope, question, page_type=page_type)
        start = max(0, page.after[0]) if page.after else 0
        ranked = list(enumerate(hits, start=1))[start : start + page.limit]
        written, token = listing.cut(ranked, page, lambda one: (one[0],), lambda one: write.hit(one[1]))
        return pb.SearchPagesResponse(hits=written, next_page_token=token)

    async def backlinks(self, request: pb.BacklinksRequest, call: Call) -> pb.BacklinksResponse:
        """Return a page of the links that lead to a page."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        named = read_page("page", request.page)
        listing = ListCall("Backlinks", (*_of(scope), named), (UUID, str))
        page = listing.read(request.page_size, request.page_token)
        async with self._reading(scope) as connection:
            row = await find_page(connection, scope, named)
            rows = await neighbourhood.backlinks(
                connection, scope, row.page_id, limit=page.limit, **page.starting("after")
            )
        written, token = listing.cut(rows, page, lambda one: (one.page.page_id, one.kind), write.link)
        return pb.BacklinksResponse(links=written, next_page_token=token)

    async def children(self, request: pb.ChildrenRequest, call: Call) -> pb.ChildrenResponse:
        """Return a page of the pages under a page."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        named = read_page("page", request.page)
        listing = ListCall("Children", (*_of(scope), named), (str, str))
        page = listing.read(request.page_size, request.page_token)
        async with self._reading(scope) as connection:
            row = await find_page(connection, scope, named)
            rows = await neighbourhood.children(
                connection, scope, row.page_id, limit=page.limit, **page.starting("after")
            )
        written, token = listing.cut(rows, page, lambda one: (one.page.type, one.page.slug), write.child)
        return pb.ChildrenResponse(children=written, next_page_token=token)

    async def graph(self, request: pb.GraphRequest, call: Call) -> pb.GraphResponse:
        """Return a part of the wiki to draw."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        depth = read_int("depth", request.depth, least=0, most=MAX_DEPTH) or 1
        most_pages = read_int("most_pages", request.most_pages, least=0, most=MAX_GRAPH_PAGES) or _GRAPH_PAGES
        named = read_page("focus", request.focus) if request.focus else ""
        async with self._reading(scope) as connection:
            focus = (await find_page(connection, scope, named, field="focus")).page_id if named else None
            found = await neighbourhood.graph(connection, scope, focus=focus, depth=depth, most_pages=most_pages)
        return write.graph(found)

    async def pages_citing_memory(
        self, request: pb.PagesCitingMemoryRequest, call: Call
    ) -> pb.PagesCitingMemoryResponse:
        """Return a page of the places where a memory is cited; a memory that nobody cites has none."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        memory_id = read_id("memory_id", request.memory_id)
        listing = ListCall("PagesCitingMemory", (*_of(scope), memory_id), (UUID, str, str))
        page = listing.read(request.page_size, request.page_token)
        async with self._reading(scope) as connection:
            rows = await browse.citations(connection, scope, memory_id, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(
            rows, page, lambda one: (one.page.page_id, one.subject, one.subject_ref), write.citation
        )
        return pb.PagesCitingMemoryResponse(citations=written, next_page_token=token)

    async def list_mentions(self, request: pb.ListMentionsRequest, call: Call) -> pb.ListMentionsResponse:
        """Return a page of held names."""
        scope = resolve_scope(call.identity, request.tenant_id, request.owner_id)
        status = read_choice("status", request.status, _MENTION_STATUSES)
        listing = ListCall("ListMentions", (*_of(scope), status), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        async with self._reading(scope) as connection:
            rows = await browse.mentions(connection, scope, status=status, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda one: (one.updated_at, one.mention_id), write.mention)
        return pb.ListMentionsResponse(mentions=written, next_page_token=token)

    def _reading(self, scope: Scope) -> Any:
        return scoped(self._pools.background, scope, read_only=True)


_Reader = Callable[..., Any]
_Order = tuple[_Reader, tuple[type, ...], Callable[[PageRow], tuple[Any, ...]]]
_BY_NAME: _Order = (browse.pages_by_name, (str, str), lambda row: (row.type, row.slug))
_ORDERS: Mapping[int, _Order] = {
    pb.PAGE_ORDER_UNSPECIFIED: _BY_NAME,
    pb.PAGE_ORDER_NAME: _BY_NAME,
    pb.PAGE_ORDER_HUBNESS: (browse.pages_by_hubness, (Int4, UUID), lambda row: (row.hubness_score, row.page_id)),
    pb.PAGE_ORDER_TIME: (browse.pages_by_time, (datetime, UUID), lambda row: (row.last_compiled_at, row.page_id)),
}


def _of(scope: Scope) -> Sequence[str]:
    return str(scope.tenant_id), str(scope.owner_id)
