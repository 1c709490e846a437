"""The wiki service: reading, searching and drawing an owner's pages, and operators' changes to them, which need the admin role.

Converts between messages and values; the use cases are in `sidecar.services.wiki`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import astuple
from datetime import datetime
from typing import Any
from uuid import UUID

from compiler.plan.edge_types import TypedEdge
from sidecar.rpc.messages import wiki_messages as write
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import Int4, ListCall
from sidecar.rpc.transport.validation import names_of, read_choice, read_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import read_id, read_int, read_uuid
from sidecar.services.wiki.page_lookup import read_page
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import wiki_pb2 as pb
from store.wiki.browse import Order, PageRow
from store.wiki.edges import WALK_START, Direction, EdgePattern, EdgeTimes, WalkPart, WalkPosition
from store.wiki.neighbourhood import MAX_DEPTH, MAX_GRAPH_PAGES

LINKS_SHOWN = 100

SERVICE = pb.DESCRIPTOR.services_by_name["WikiService"]

_GRAPH_PAGES = 200
_TYPES = {pb.PAGE_TYPE_UNSPECIFIED: "", **names_of(pb.PageType)}
_STATUSES = {pb.PAGE_STATUS_UNSPECIFIED: "active", **names_of(pb.PageStatus)}
_DIRECTIONS = {pb.EDGE_DIRECTION_UNSPECIFIED: "out", **names_of(pb.EdgeDirection)}
_MENTION_STATUSES = {pb.MENTION_STATUS_UNSPECIFIED: "open", **names_of(pb.MentionStatus)}
_Order = tuple[Order, tuple[type, ...], Callable[[PageRow], tuple[Any, ...]]]
_BY_NAME: _Order = (Order.NAME, (str, str), lambda row: (row.type, row.slug))
_ORDERS: Mapping[int, _Order] = {
    pb.PAGE_ORDER_UNSPECIFIED: _BY_NAME,
    pb.PAGE_ORDER_NAME: _BY_NAME,
    pb.PAGE_ORDER_HUBNESS: (Order.HUBNESS, (Int4, UUID), lambda row: (row.hubness_score, row.page_id)),
    pb.PAGE_ORDER_TIME: (Order.TIME, (datetime, UUID), lambda row: (row.last_compiled_at, row.page_id)),
}


class WikiService:
    """Reads an owner's wiki, and lets an operator correct it."""

    def __init__(self, wiki: Wiki) -> None:
        self._wiki = wiki

    async def get_page(self, request: pb.GetPageRequest, call: Call) -> pb.GetPageResponse:
        """Return a complete page. Raises NotFound."""
        scope = call.scope(request)
        page = await self._wiki.page(scope, request.page, with_texts=request.with_source_texts, most_links=LINKS_SHOWN)
        return write.whole(page.whole, page.parent, page.links, page.counts, page.edges)

    async def list_pages(self, request: pb.ListPagesRequest, call: Call) -> pb.ListPagesResponse:
        """Return a page of the owner's pages."""
        scope = call.scope(request)
        page_type = read_choice("type", request.type, _TYPES)
        status = read_choice("status", request.status, _STATUSES)
        order, kinds, keys_of = read_choice("order", request.order, _ORDERS)
        listing = ListCall("ListPages", (scope, page_type, status, str(request.order)), kinds)
        page = listing.read(request.page_size, request.page_token)
        rows = await self._wiki.pages(
            scope, order, status=status, page_type=page_type, limit=page.limit, **page.starting("after")
        )
        written, token = listing.cut(rows, page, keys_of, write.page)
        return pb.ListPagesResponse(pages=written, next_page_token=token)

    async def search_pages(self, request: pb.SearchPagesRequest, call: Call) -> pb.SearchPagesResponse:
        """Return a page of the matching pages, best first."""
        scope = call.scope(request)
        page_type = read_choice("type", request.type, _TYPES)
        listing = ListCall("SearchPages", (scope, page_type, request.query), (Int4,))
        page = listing.read(request.page_size, request.page_token)
        hits = await self._wiki.search(scope, request.query, page_type=page_type)
        start = max(0, page.after[0]) if page.after else 0
        ranked = list(enumerate(hits, start=1))[start : start + page.limit]
        written, token = listing.cut(ranked, page, lambda one: (one[0],), lambda one: write.hit(one[1]))
        return pb.SearchPagesResponse(hits=written, next_page_token=token)

    async def backlinks(self, request: pb.BacklinksRequest, call: Call) -> pb.BacklinksResponse:
        """Return a page of the links that lead to a page."""
        scope = call.scope(request)
        listing = ListCall("Backlinks", (scope, read_page("page", request.page)), (UUID, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._wiki.backlinks(scope, request.page, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda one: (one.page.page_id, one.kind), write.link)
        return pb.BacklinksResponse(links=written, next_page_token=token)

    async def children(self, request: pb.ChildrenRequest, call: Call) -> pb.ChildrenResponse:
        """Return a page of the pages under a page."""
        scope = call.scope(request)
        listing = ListCall("Children", (scope, read_page("page", request.page)), (str, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._wiki.children(scope, request.page, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda one: (one.page.type, one.page.slug), write.child)
        return pb.ChildrenResponse(children=written, next_page_token=token)

    async def graph(self, request: pb.GraphRequest, call: Call) -> pb.GraphResponse:
        """Return a part of the wiki as a graph."""
        scope = call.scope(request)
        depth = read_int("depth", request.depth, least=0, most=MAX_DEPTH) or 1
        most_pages = read_int("most_pages", request.most_pages, least=0, most=MAX_GRAPH_PAGES) or _GRAPH_PAGES
        known_at = _time("known_at_time", request)
        graph = await self._wiki.graph(scope, request.focus, depth=depth, most_pages=most_pages, known_at=known_at)
        return write.graph(graph)

    async def query_graph(self, request: pb.QueryGraphRequest, call: Call) -> pb.QueryGraphResponse:
        """Return a page of the matching paths of typed edges."""
        scope = call.scope(request)
        pattern = [
            EdgePattern(
                tuple(step.edge_types),
                Direction(read_choice("steps.direction", step.direction, _DIRECTIONS)),
                read_choice("steps.page_type", step.page_type, _TYPES),
            )
            for step in request.steps
        ]
        when = EdgeTimes(_time("as_of_time", request), _time("known_at_time", request))
        listing = ListCall("QueryGraph", (scope, request.page, request.target, tuple(pattern), when), (str, str, Int4))
        page = listing.read(request.page_size, request.page_token)
        walk = await self._wiki.edges.paths(
            scope,
            request.page,
            pattern,
            target=request.target,
            when=when,
            part=WalkPart(WalkPosition(*page.after) if page.after else WALK_START, page.limit),
        )
        written, token = listing.cut(
            list(zip(walk.paths, walk.places, strict=True)),
            page,
            lambda one: astuple(one[1]),
            lambda one: write.path(one[0]),
            goes_on=astuple(walk.goes_on) if walk.goes_on else None,
        )
        return pb.QueryGraphResponse(paths=written, next_page_token=token)

    async def write_edge(self, request: pb.WriteEdgeRequest, call: Call) -> pb.WriteEdgeResponse:
        """State a typed edge, and return its present state."""
        scope = call.admin_scope(request)
        confidence = request.confidence if request.HasField("confidence") else 1.0
        if not 0 < confidence <= 1:
            raise InvalidArgument("confidence", f"is {confidence}", "send a number above 0, up to 1")
        edge = TypedEdge(
            request.edge_type,
            _time("valid_from_time", request),
            _time("valid_until_time", request),
            confidence=confidence,
        )
        path = await self._wiki.edges.write(scope, request.page, request.target, edge)
        return pb.WriteEdgeResponse(edge=write.typed_edges(path)[0])

    async def delete_edge(self, request: pb.DeleteEdgeRequest, call: Call) -> pb.DeleteEdgeResponse:
        """Take back a typed edge that was stated by hand."""
        scope = call.admin_scope(request)
        edge = TypedEdge(request.edge_type, _time("valid_from_time", request))
        return pb.DeleteEdgeResponse(was_there=await self._wiki.edges.drop(scope, request.page, request.target, edge))

    async def pages_citing_memory(
        self, request: pb.PagesCitingMemoryRequest, call: Call
    ) -> pb.PagesCitingMemoryResponse:
        """Return a page of a memory's citations."""
        scope = call.scope(request)
        memory_id = read_id("memory_id", request.memory_id)
        listing = ListCall("PagesCitingMemory", (scope, memory_id), (UUID, str, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._wiki.citations(scope, memory_id, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(
            rows, page, lambda one: (one.page.page_id, one.subject, one.subject_ref), write.citation
        )
        return pb.PagesCitingMemoryResponse(citations=written, next_page_token=token)

    async def list_mentions(self, request: pb.ListMentionsRequest, call: Call) -> pb.ListMentionsResponse:
        """Return a page of held names."""
        scope = call.scope(request)
        status = read_choice("status", request.status, _MENTION_STATUSES)
        listing = ListCall("ListMentions", (scope, status), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._wiki.mentions(scope, status, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda one: (one.updated_at, one.mention_id), write.mention)
        return pb.ListMentionsResponse(mentions=written, next_page_token=token)

    async def ignore_mention(self, request: pb.IgnoreMentionRequest, call: Call) -> pb.IgnoreMentionResponse:
        """Ignore a held name. Raises NotFound."""
        scope = call.admin_scope(request)
        await self._wiki.ignore_mention(scope, read_uuid("mention_id", request.mention_id))
        return pb.IgnoreMentionResponse()

    async def add_alias(self, request: pb.AddAliasRequest, call: Call) -> pb.AddAliasResponse:
        """Add a name to a page, and return it as stored."""
        _, kept = await self._wiki.add_alias(call.admin_scope(request), request.page, request.alias)
        return pb.AddAliasResponse(alias=write.alias(kept))

    async def rename_page(self, request: pb.RenamePageRequest, call: Call) -> pb.RenamePageResponse:
        """Give a page another title, and return the page."""
        row = await self._wiki.rename_page(call.admin_scope(request), request.page, request.title)
        return pb.RenamePageResponse(page=write.page(row))

    async def merge_pages(self, request: pb.MergePagesRequest, call: Call) -> pb.MergePagesResponse:
        """Merge a page into another, and return the other one."""
        row = await self._wiki.merge_pages(call.admin_scope(request), request.page, request.into)
        return pb.MergePagesResponse(page=write.page(row))

    async def undo_merge(self, request: pb.UndoMergeRequest, call: Call) -> pb.UndoMergeResponse:
        """Undo a merge. Raises NotFound for a page that is not merged."""
        path, count, job = await self._wiki.undo_merge(call.admin_scope(request), request.page)
        return pb.UndoMergeResponse(path=path, memory_count=count, job_id=str(job.job_id))

    async def report_sentence(self, request: pb.ReportSentenceRequest, call: Call) -> pb.ReportSentenceResponse:
        """Remove a wrong sentence from a page, and return the report. Every caller with access to the owner may do this."""
        report = await self._wiki.report_sentence(call.scope(request), request.page, request.sentence)
        return pb.ReportSentenceResponse(report=write.report(report))

    async def list_reports(self, request: pb.ListReportsRequest, call: Call) -> pb.ListReportsResponse:
        """Return a page of the reported sentences."""
        scope = call.admin_scope(request)
        listing = ListCall("ListReports", (scope,), (str,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._wiki.reports(scope, limit=page.limit, **({"after": page.after[0]} if page.after else {}))
        written, token = listing.cut(rows, page, lambda one: (one.report_id,), write.report)
        return pb.ListReportsResponse(reports=written, next_page_token=token)

    async def restore_sentence(self, request: pb.RestoreSentenceRequest, call: Call) -> pb.RestoreSentenceResponse:
        """Restore a reported sentence. Raises NotFound."""
        scope = call.admin_scope(request)
        report = await self._wiki.restore_sentence(scope, read_id("report_id", request.report_id))
        return pb.RestoreSentenceResponse(path=report.ruling.page.path)

    async def archive_page(self, request: pb.ArchivePageRequest, call: Call) -> pb.ArchivePageResponse:
        """Archive a page, and return it."""
        row = await self._wiki.archive_page(call.admin_scope(request), request.page)
        return pb.ArchivePageResponse(page=write.page(row))

    async def delete_page(self, request: pb.DeletePageRequest, call: Call) -> pb.DeletePageResponse:
        """Delete a page, and return its last state; None if it does not exist."""
        row = await self._wiki.delete_page(call.admin_scope(request), request.page)
        return pb.DeletePageResponse(page=write.page(row) if row else None)

    async def suppress_promotion(
        self, request: pb.SuppressPromotionRequest, call: Call
    ) -> pb.SuppressPromotionResponse:
        """Keep a section from being promoted, and return it."""
        scope = call.admin_scope(request)
        section = await self._wiki.suppress_promotion(scope, request.page, request.section_slug)
        return pb.SuppressPromotionResponse(section=write.section(section))

    async def undo_promotion(self, request: pb.UndoPromotionRequest, call: Call) -> pb.UndoPromotionResponse:
        """Undo a promotion, and return the section."""
        scope = call.admin_scope(request)
        section = await self._wiki.undo_promotion(scope, request.page, request.section_slug)
        return pb.UndoPromotionResponse(section=write.section(section))


def _time(field: str, request: Any) -> datetime | None:
    return read_time(field, getattr(request, field)) if request.HasField(field) else None
