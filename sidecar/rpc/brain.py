"""The brain service: what an agent looks up in compiled pages.

Converts between messages and values; the use cases are in `sidecar.services.brain`.
"""

from __future__ import annotations

from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.validation import write_time
from sidecar.services.brain.context import BrainContext, BrainDetail, BrainHit, BrainId, BrainQuery, BrainScope
from sidecar.v1 import brain_pb2 as pb
from sidecar.v1 import wiki_pb2
from store.wiki.browse import PageRef
from store.wiki.edges import GraphPath

SERVICE = pb.DESCRIPTOR.services_by_name["BrainService"]


class BrainService:
    """Answers questions from compiled pages in two steps."""

    def __init__(self, context: BrainContext) -> None:
        self._context = context

    async def query_brain_context(
        self, request: pb.QueryBrainContextRequest, call: Call
    ) -> pb.QueryBrainContextResponse:
        """Return a shortlist, details, or both."""
        asked = BrainQuery(request.query, tuple(request.detail_ids), request.limit)
        found = await self._context.query(call.scope(request), asked)
        hits = [_hit(index, one) for index, one in enumerate(found.hits, start=1)]
        return pb.QueryBrainContextResponse(hits=hits, details=map(_detail, found.details))


def _hit(index: int, found: BrainHit) -> pb.BrainHit:
    said = found.description
    return pb.BrainHit(
        index=index,
        id=str(found.id),
        title=found.page.title,
        description=said.text if said else "",
        memory_ids=said.memory_ids if said else (),
        type=wiki_pb2.PageType.Value(f"PAGE_TYPE_{found.page.type.upper()}"),
        scope=_scope(found.id.scope),
        score=found.score,
    )


def _detail(found: BrainDetail) -> pb.BrainDetail:
    if found.id is None:
        return pb.BrainDetail(id=found.asked, status=pb.DETAIL_STATUS_INVALID)
    if found.page is None:
        return pb.BrainDetail(id=found.asked, status=pb.DETAIL_STATUS_NOT_FOUND)
    at = found.id.scope
    return pb.BrainDetail(
        id=found.asked,
        status=pb.DETAIL_STATUS_FOUND,
        title=found.page.title,
        type=wiki_pb2.PageType.Value(f"PAGE_TYPE_{found.page.type.upper()}"),
        scope=_scope(at),
        statements=[
            pb.BrainStatement(text=one.text, heading=one.heading, memory_ids=one.memory_ids) for one in found.statements
        ],
        relations=[_relation(at, one) for one in found.relations],
        pages=[_ref(at, one) for one in found.pages],
        compile_time=write_time(found.page.last_compiled_at),
    )


def _relation(at: BrainScope, path: GraphPath) -> pb.BrainRelation:
    (edge,), other = path.edges, path.pages[-1]
    return pb.BrainRelation(
        edge_type=edge.type,
        is_inward=edge.to_page_id != other.page_id,
        page=_ref(at, other),
        valid_from_time=write_time(edge.valid_from),
        valid_until_time=write_time(edge.valid_until),
        memory_ids=edge.memory_ids,
    )


def _ref(at: BrainScope, page: PageRef) -> pb.BrainRef:
    return pb.BrainRef(id=str(BrainId(at, page.page_id)), title=page.title)


def _scope(at: BrainScope) -> pb.BrainScope.ValueType:
    return pb.BrainScope.Value(f"BRAIN_SCOPE_{at.name}")
