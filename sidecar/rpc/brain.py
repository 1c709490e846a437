"""The brain service: agents' lookups in compiled pages, and the content that admins share in a tenant.

Converts between messages and values; the use cases are in `sidecar.services.brain`.
"""

from __future__ import annotations

from uuid import UUID

from compiler.operations.ruling_views import Report
from compiler.plan.edge_types import TypedEdge
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import names_of, read_choice, read_time, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.brain.context import BrainContext, BrainDetail, BrainHit, BrainId, BrainQuery, BrainScope
from sidecar.services.brain.releases import Actor, Brain
from sidecar.services.brain.statements import ids_of
from sidecar.services.validation import read_id, read_uuid
from sidecar.services.wiki.pages import Wiki
from sidecar.v1 import brain_pb2 as pb
from sidecar.v1 import wiki_pb2
from store.scope import brain_of
from store.tenancy.brain import BrainCopy, CopyState, ReleaseRule, SharedDocument
from store.wiki.browse import PageRef, PageRow
from store.wiki.edges import GraphPath

_NO_RULE = UUID(int=0)
_MOST_REPORTS = 200
_STATES = {pb.COPY_STATE_UNSPECIFIED: "", **names_of(pb.CopyState)}

SERVICE = pb.DESCRIPTOR.services_by_name["BrainService"]


class BrainService:
    """Answers queries from compiled pages in two steps, and manages the rules and copies of a tenant's Brain."""

    def __init__(self, context: BrainContext, brain: Brain, wiki: Wiki) -> None:
        self._context = context
        self._brain = brain
        self._wiki = wiki

    async def query_brain_context(
        self, request: pb.QueryBrainContextRequest, call: Call
    ) -> pb.QueryBrainContextResponse:
        """Return a shortlist, details, or both."""
        query = BrainQuery(request.query, tuple(request.detail_ids), request.limit)
        answer = await self._context.query(call.scope(request), query)
        hits = [_hit(index, one) for index, one in enumerate(answer.hits, start=1)]
        failed = map(_scope, answer.failed)
        return pb.QueryBrainContextResponse(hits=hits, details=map(_detail, answer.details), failed_scopes=failed)

    async def propose_rule(self, request: pb.ProposeRuleRequest, call: Call) -> pb.ProposeRuleResponse:
        """Propose a rule, which releases nothing yet, and return it."""
        tenant_id, message = call.admin_tenant(request), request.rule
        rule = ReleaseRule(
            _NO_RULE,
            message.name,
            tuple(message.tags),
            tuple(message.memory_types),
            dict(message.metadata),
            message.least_authority or "agent",
            message.trust_tier,
            message.reason,
            knowledge_base=message.knowledge_base,
            document_path=message.document_path,
        )
        return pb.ProposeRuleResponse(rule=_rule(await self._brain.propose(tenant_id, rule, _actor(call))))

    async def approve_rule(self, request: pb.ApproveRuleRequest, call: Call) -> pb.ApproveRuleResponse:
        """Approve a rule, and return it. Raises NotFound, FailedPrecondition."""
        tenant_id, rule_id = call.admin_tenant(request), read_uuid("rule_id", request.rule_id)
        return pb.ApproveRuleResponse(rule=_rule(await self._brain.approve(tenant_id, rule_id, _actor(call))))

    async def withdraw_rule(self, request: pb.WithdrawRuleRequest, call: Call) -> pb.WithdrawRuleResponse:
        """Withdraw a rule with its copies, and return it. Raises NotFound."""
        tenant_id, rule_id = call.admin_tenant(request), read_uuid("rule_id", request.rule_id)
        return pb.WithdrawRuleResponse(rule=_rule(await self._brain.withdraw_rule(tenant_id, rule_id, _actor(call))))

    async def get_brain(self, request: pb.GetBrainRequest, call: Call) -> pb.GetBrainResponse:
        """Return the Brain's settings, rules and counts."""
        tenant_id = call.admin_tenant(request)
        state = await self._brain.state(tenant_id)
        reports = await self._wiki.reports(brain_of(tenant_id), limit=_MOST_REPORTS)
        return pb.GetBrainResponse(
            is_shown=state.settings.is_shown,
            rules=map(_rule, state.rules),
            released_count=state.copies.get(CopyState.RELEASED, 0),
            held_count=state.copies.get(CopyState.HELD, 0),
            withdrawn_count=state.copies.get(CopyState.WITHDRAWN, 0),
            reports=map(_report, reports),
        )

    async def show_brain(self, request: pb.ShowBrainRequest, call: Call) -> pb.ShowBrainResponse:
        """Show the Brain, or leave it out."""
        await self._brain.show(call.admin_tenant(request), is_shown=request.is_shown)
        return pb.ShowBrainResponse()

    async def list_copies(self, request: pb.ListCopiesRequest, call: Call) -> pb.ListCopiesResponse:
        """Return a page of copies."""
        tenant_id = call.admin_tenant(request)
        state = read_choice("state", request.state, _STATES)
        listing = ListCall("ListCopies", (tenant_id, state), (str,))
        page = listing.read(request.page_size, request.page_token)
        after = page.after[0] if page.after else ""
        rows = await self._brain.copies(tenant_id, state=state, after=after, limit=page.limit)
        documents = await self._brain.documents_of(tenant_id, [one for one, _ in rows])
        written, token = listing.cut(
            rows,
            page,
            lambda one: (one[0].copy_id,),
            lambda one: _copy(*one, documents.get(one[0].document_id or _NO_RULE)),
        )
        return pb.ListCopiesResponse(copies=written, next_page_token=token)

    async def release_copy(self, request: pb.ReleaseCopyRequest, call: Call) -> pb.ReleaseCopyResponse:
        """Release a held or withdrawn copy, and return it. Raises NotFound, FailedPrecondition."""
        tenant_id = call.admin_tenant(request)
        copy = await self._brain.release(tenant_id, request.copy_id, request.reason, _actor(call))
        return pb.ReleaseCopyResponse(copy=_copy(copy, ""))

    async def withdraw_copy(self, request: pb.WithdrawCopyRequest, call: Call) -> pb.WithdrawCopyResponse:
        """Withdraw a copy, and return it. Raises NotFound."""
        copy = await self._brain.withdraw_copy(call.admin_tenant(request), request.copy_id, _actor(call))
        return pb.WithdrawCopyResponse(copy=_copy(copy, ""))

    async def rename_brain_page(self, request: pb.RenameBrainPageRequest, call: Call) -> pb.RenameBrainPageResponse:
        """Give a page another title, and return it. Raises NotFound, FailedPrecondition."""
        brain_scope = brain_of(call.admin_tenant(request))
        row = await self._wiki.rename_page(brain_scope, _named(request.page), request.title)
        return pb.RenameBrainPageResponse(page=_page(row))

    async def merge_brain_pages(self, request: pb.MergeBrainPagesRequest, call: Call) -> pb.MergeBrainPagesResponse:
        """Merge a page into another, or undo that. Raises NotFound, FailedPrecondition."""
        brain_scope = brain_of(call.admin_tenant(request))
        if not request.undo:
            row = await self._wiki.merge_pages(brain_scope, _named(request.page), _named(request.into))
            return pb.MergeBrainPagesResponse(page=_page(row))
        if request.into:
            raise InvalidArgument(
                "into", "is set together with undo", "leave it out: a page is merged into only one other page"
            )
        view = await self._wiki.page(brain_scope, _named(request.page), with_texts=False, most_links=1)
        await self._wiki.undo_merge(brain_scope, _named(request.page))
        return pb.MergeBrainPagesResponse(page=_page(view.whole.page))

    async def report_brain_sentence(
        self, request: pb.ReportBrainSentenceRequest, call: Call
    ) -> pb.ReportBrainSentenceResponse:
        """Remove a wrong sentence from a page, or restore one, and return the report. Raises NotFound, FailedPrecondition."""
        brain_scope = brain_of(call.admin_tenant(request))
        if request.restore_report_id:
            if request.page or request.sentence:
                raise InvalidArgument("restore_report_id", "is set together with a sentence", "send one of the two")
            report = await self._wiki.restore_sentence(
                brain_scope, read_id("restore_report_id", request.restore_report_id)
            )
        else:
            report = await self._wiki.report_sentence(brain_scope, _named(request.page), request.sentence)
        return pb.ReportBrainSentenceResponse(report=_report(report))

    async def write_brain_edge(self, request: pb.WriteBrainEdgeRequest, call: Call) -> pb.WriteBrainEdgeResponse:
        """State a typed edge by hand, or take one back. Raises NotFound, FailedPrecondition."""
        brain_scope = brain_of(call.admin_tenant(request))
        began, ended = (
            read_time(name, getattr(request, name)) if request.HasField(name) else None
            for name in ("valid_from_time", "valid_until_time")
        )
        edge, ends = TypedEdge(request.edge_type, began, ended), (_named(request.page), _named(request.target))
        if request.remove:
            return pb.WriteBrainEdgeResponse(was_removed=await self._wiki.edges.drop(brain_scope, *ends, edge))
        await self._wiki.edges.write(brain_scope, *ends, edge)
        return pb.WriteBrainEdgeResponse()

    async def list_brain_pages(self, request: pb.ListBrainPagesRequest, call: Call) -> pb.ListBrainPagesResponse:
        """Return a page of the Brain's pages."""
        tenant_id = call.admin_tenant(request)
        listing = ListCall("ListBrainPages", (tenant_id,), (str, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._brain.pages(tenant_id, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda row: (row.type, row.slug), _page)
        return pb.ListBrainPagesResponse(pages=written, next_page_token=token)


def _named(page: str) -> str:
    """Return the name of a page without the prefix of Brain ids."""
    return page.strip().removeprefix(f"{BrainScope.BRAIN.value}:")


def _actor(call: Call) -> Actor:
    return Actor(call.identity.subject, call.identity.token_id)


def _rule(rule: ReleaseRule) -> pb.ReleaseRule:
    return pb.ReleaseRule(
        rule_id=str(rule.rule_id),
        name=rule.name,
        tags=rule.tags,
        memory_types=rule.memory_types,
        metadata=dict(rule.metadata or {}),
        least_authority=rule.least_authority,
        trust_tier=rule.trust_tier,
        reason=rule.reason,
        state=pb.RuleState.Value(f"RULE_STATE_{rule.state.name}"),
        proposed_by=rule.proposed_by,
        propose_time=write_time(rule.proposed_at),
        approved_by=rule.approved_by,
        approve_time=write_time(rule.approved_at),
        withdrawn_by=rule.withdrawn_by,
        withdraw_time=write_time(rule.withdrawn_at),
        knowledge_base=rule.knowledge_base,
        document_path=rule.document_path,
    )


def _copy(copy: BrainCopy, text: str, document: SharedDocument | None = None) -> pb.BrainCopy:
    return pb.BrainCopy(
        copy_id=copy.copy_id,
        text=text,
        state=pb.CopyState.Value(f"COPY_STATE_{copy.state.name}"),
        trust_tier=copy.trust_tier,
        rule_id=str(copy.rule_id),
        origin_owner_id="" if copy.document_id else str(copy.origin_owner_id),
        origin_memory_id=copy.origin_memory_id,
        held_by=copy.held_by,
        reason=copy.reason,
        changed_by=copy.changed_by,
        change_time=write_time(copy.changed_at),
        knowledge_base=document.knowledge_base if document else "",
        document_path=document.path if document else "",
    )


def _report(report: Report) -> pb.BrainReport:
    return pb.BrainReport(
        report_id=report.report_id,
        path=report.ruling.page.path,
        sentence=report.ruling.text,
        copy_id=report.memory_id,
        report_time=write_time(report.reported_at),
    )


def _page(row: PageRow) -> pb.BrainPage:
    return pb.BrainPage(
        id=str(BrainId(BrainScope.BRAIN, row.page_id)),
        title=row.title,
        type=wiki_pb2.PageType.Value(f"PAGE_TYPE_{row.type.upper()}"),
        summary=row.summary,
        compile_time=write_time(row.last_compiled_at),
    )


def _hit(index: int, hit: BrainHit) -> pb.BrainHit:
    description = hit.description
    return pb.BrainHit(
        index=index,
        id=str(hit.id),
        title=hit.page.title,
        description=description.text if description else "",
        memory_ids=description.memory_ids if description else (),
        type=wiki_pb2.PageType.Value(f"PAGE_TYPE_{hit.page.type.upper()}"),
        scope=_scope(hit.id.scope),
        score=hit.score,
        trust_tier=hit.trust_tier,
    )


def _detail(detail: BrainDetail) -> pb.BrainDetail:
    if detail.id is None:
        return pb.BrainDetail(id=detail.asked, status=pb.DETAIL_STATUS_INVALID)
    if detail.page is None:
        return pb.BrainDetail(id=detail.asked, status=pb.DETAIL_STATUS_NOT_FOUND)
    at = detail.id.scope
    return pb.BrainDetail(
        id=detail.asked,
        status=pb.DETAIL_STATUS_FOUND,
        title=detail.page.title,
        type=wiki_pb2.PageType.Value(f"PAGE_TYPE_{detail.page.type.upper()}"),
        scope=_scope(at),
        statements=[
            pb.BrainStatement(
                text=one.text, heading=one.heading, memory_ids=one.memory_ids, trust_tier=detail.tier(one.memory_ids)
            )
            for one in detail.statements
        ],
        relations=[_relation(at, one, detail.tier(ids_of(one))) for one in detail.relations],
        pages=[_ref(at, one) for one in detail.pages],
        compile_time=write_time(detail.page.last_compiled_at),
    )


def _relation(at: BrainScope, path: GraphPath, tier: int) -> pb.BrainRelation:
    (edge,), other = path.edges, path.pages[-1]
    return pb.BrainRelation(
        edge_type=edge.type,
        is_inward=edge.to_page_id != other.page_id,
        page=_ref(at, other),
        valid_from_time=write_time(edge.valid_from),
        valid_until_time=write_time(edge.valid_until),
        memory_ids=edge.memory_ids,
        trust_tier=tier,
    )


def _ref(at: BrainScope, page: PageRef) -> pb.BrainRef:
    return pb.BrainRef(id=str(BrainId(at, page.page_id)), title=page.title)


def _scope(at: BrainScope) -> pb.BrainScope.ValueType:
    return pb.BrainScope.Value(f"BRAIN_SCOPE_{at.name}")
