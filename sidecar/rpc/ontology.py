"""The ontology service: a tenant's ontology, its versions, and the change sets that make the next one. For admins.

Converts between messages and values; the use cases are in `sidecar.services.ontology`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson

from sidecar.rpc.messages import ontology_messages as written
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import Int4, ListCall
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology.drafting import WantedChange
from sidecar.services.ontology.governance import MAX_VERSION, Governance
from sidecar.services.ontology.scanning import Scans
from sidecar.services.ontology.term_reading import choice
from sidecar.services.ontology.views import ChangeSetView
from sidecar.services.validation import check_count, read_int, read_uuid
from sidecar.v1 import ontology_pb2 as pb
from store.ontology.change_sets import ItemDecision, ItemRuling

SERVICE = pb.DESCRIPTOR.services_by_name["OntologyService"]
LONG_CALLS = frozenset({"ScanOntology"})

_MAX_JSON_CHARS = 20_000
_MAX_CHANGES = 500


class OntologyService:
    """Governs tenants' ontologies."""

    def __init__(self, governance: Governance, scans: Scans) -> None:
        self._governance = governance
        self._scans = scans

    async def get_ontology(self, request: pb.GetOntologyRequest, call: Call) -> pb.GetOntologyResponse:
        """Return the ontology of a version. Raises NotFound."""
        tenant_id = call.admin_tenant(request)
        return written.ontology(await self._governance.ontology(tenant_id, _version("version", request.version)))

    async def list_ontology_versions(
        self, request: pb.ListOntologyVersionsRequest, call: Call
    ) -> pb.ListOntologyVersionsResponse:
        """Return a page of the versions, newest first."""
        tenant_id = call.admin_tenant(request)
        listing = ListCall("ListOntologyVersions", (str(tenant_id),), (Int4,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._governance.history(tenant_id, limit=page.limit, **page.starting("before"))
        shown, token = listing.cut(rows, page, lambda one: (one.version,), written.version)
        return pb.ListOntologyVersionsResponse(versions=shown, next_page_token=token)

    async def compare_ontology_versions(
        self, request: pb.CompareOntologyVersionsRequest, call: Call
    ) -> pb.CompareOntologyVersionsResponse:
        """Return the differences of two versions. Raises NotFound."""
        tenant_id = call.admin_tenant(request)
        ends = _version("before", request.before), _version("after", request.after)
        differences = await self._governance.compare(tenant_id, *ends)
        return pb.CompareOntologyVersionsResponse(differences=map(written.difference, differences))

    async def draft_ontology_changes(
        self, request: pb.DraftOntologyChangesRequest, call: Call
    ) -> pb.DraftOntologyChangesResponse:
        """Draft changes, the terms of an exported ontology, or the packaged ontology."""
        tenant_id = call.admin_tenant(request)
        names = [name for name in ("changes", "content", "seed") if getattr(request, name)]
        if len(names) != 1:
            problem = f"is set together with {names[0]}" if names else "is empty, as are all other fields"
            raise InvalidArgument(names[1] if names else "changes", problem, "send one of changes, content and seed")
        return pb.DraftOntologyChangesResponse(
            change_set=written.change_set_view(await self._draft(tenant_id, request, call.identity.subject))
        )

    async def scan_ontology(self, request: pb.ScanOntologyRequest, call: Call) -> pb.ScanOntologyResponse:
        """Scan for terms that the ontology lacks, and propose them."""
        report = await self._scans.scan(call.admin_tenant(request))
        return pb.ScanOntologyResponse(
            change_set=written.change_set_view(report.change_set) if report.change_set else None,
            new_items=report.new_items,
            known_items=report.known_items,
            rejected_items=report.rejected_items,
            owners=report.owners,
            looked_at=report.looked_at,
        )

    async def list_ontology_change_sets(
        self, request: pb.ListOntologyChangeSetsRequest, call: Call
    ) -> pb.ListOntologyChangeSetsResponse:
        """Return a page of the change sets, newest first."""
        tenant_id = call.admin_tenant(request)
        listing = ListCall("ListOntologyChangeSets", (str(tenant_id), request.status), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._governance.listed(
            tenant_id, status=request.status, limit=page.limit, **page.starting("after")
        )
        shown, token = listing.cut(
            rows, page, lambda one: (one.change_set.drafted_at, one.change_set.change_set_id), written.change_set_line
        )
        return pb.ListOntologyChangeSetsResponse(change_sets=shown, next_page_token=token)

    async def get_ontology_change_set(
        self, request: pb.GetOntologyChangeSetRequest, call: Call
    ) -> pb.GetOntologyChangeSetResponse:
        """Return a change set for review. Raises NotFound."""
        tenant_id = call.admin_tenant(request)
        view = await self._governance.view(tenant_id, read_uuid("change_set_id", request.change_set_id))
        return pb.GetOntologyChangeSetResponse(change_set=written.change_set_view(view))

    async def review_ontology_item(
        self, request: pb.ReviewOntologyItemRequest, call: Call
    ) -> pb.ReviewOntologyItemResponse:
        """Accept, reject or edit an item. Raises NotFound, VersionConflict, FailedPrecondition."""
        tenant_id = call.admin_tenant(request)
        ruling = ItemRuling(
            read_uuid("item_id", request.item_id),
            choice("decision", request.decision, ItemDecision),
            _object("edited_json", request.edited_json) if request.edited_json else None,
        )
        view = await self._governance.rule(
            tenant_id,
            read_uuid("change_set_id", request.change_set_id),
            ruling,
            author=call.identity.subject,
            revision=_version("expected_revision", request.expected_revision),
        )
        return pb.ReviewOntologyItemResponse(change_set=written.change_set_view(view))

    async def approve_ontology_change_set(
        self, request: pb.ApproveOntologyChangeSetRequest, call: Call
    ) -> pb.ApproveOntologyChangeSetResponse:
        """Approve a change set. Raises NotFound, VersionConflict, FailedPrecondition, InvalidArgument."""
        tenant_id = call.admin_tenant(request)
        version = await self._governance.approve(
            tenant_id,
            read_uuid("change_set_id", request.change_set_id),
            author=call.identity.subject,
            revision=_version("expected_revision", request.expected_revision),
        )
        return pb.ApproveOntologyChangeSetResponse(version=written.version(version))

    async def reject_ontology_change_set(
        self, request: pb.RejectOntologyChangeSetRequest, call: Call
    ) -> pb.RejectOntologyChangeSetResponse:
        """Reject a change set. Raises NotFound, FailedPrecondition."""
        tenant_id = call.admin_tenant(request)
        change_set_id = read_uuid("change_set_id", request.change_set_id)
        view = await self._governance.reject(tenant_id, change_set_id, author=call.identity.subject)
        return pb.RejectOntologyChangeSetResponse(change_set=written.change_set_view(view))

    async def roll_back_ontology(self, request: pb.RollBackOntologyRequest, call: Call) -> pb.RollBackOntologyResponse:
        """Make a new version equal to an older one. Raises NotFound, FailedPrecondition."""
        tenant_id = call.admin_tenant(request)
        version = _version("version", request.version)
        new_version = await self._governance.roll_back(tenant_id, version, author=call.identity.subject)
        return pb.RollBackOntologyResponse(version=written.version(new_version))

    async def export_ontology(self, request: pb.ExportOntologyRequest, call: Call) -> pb.ExportOntologyResponse:
        """Return a version as text. Raises NotFound."""
        tenant_id = call.admin_tenant(request)
        version = _version("version", request.version)
        return pb.ExportOntologyResponse(content=await self._governance.export_text(tenant_id, version, request.format))

    async def list_ontology_jobs(self, request: pb.ListOntologyJobsRequest, call: Call) -> pb.ListOntologyJobsResponse:
        """Return a page of the reprocess jobs, newest first."""
        tenant_id = call.admin_tenant(request)
        listing = ListCall("ListOntologyJobs", (str(tenant_id),), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._governance.jobs(tenant_id, limit=page.limit, **page.starting("after"))
        shown, token = listing.cut(rows, page, lambda one: (one.created_at, one.job_id), written.job)
        return pb.ListOntologyJobsResponse(jobs=shown, next_page_token=token)

    async def _draft(self, tenant_id: UUID, request: pb.DraftOntologyChangesRequest, author: str) -> ChangeSetView:
        if request.seed:
            return await self._governance.draft_seed(tenant_id)
        if request.content:
            return await self._governance.import_text(tenant_id, request.content, author=author)
        check_count("changes", request.changes, least=1, most=_MAX_CHANGES)
        changes = [_change(one, f"changes[{place}]") for place, one in enumerate(request.changes)]
        change_set_id = read_uuid("change_set_id", request.change_set_id) if request.change_set_id else None
        return await self._governance.draft(
            tenant_id, request.title, changes, author=author, change_set_id=change_set_id
        )


def _change(change: pb.OntologyChange, field: str) -> WantedChange:
    term = _object(f"{field}.term_json", change.term_json) if change.term_json else {}
    return WantedChange(change.kind, change.action, term, change.key, change.rationale)


def _object(field: str, text: str) -> Mapping[str, Any]:
    """Return the object of a JSON text of at most 20,000 characters. Raises InvalidArgument."""
    if len(text) > _MAX_JSON_CHARS:
        raise InvalidArgument(field, f"has {len(text)} characters", f"send at most {_MAX_JSON_CHARS}")
    try:
        value = orjson.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise InvalidArgument(field, "is not a JSON object", 'send one such as {"name": "Ferry"}')
    return value


def _version(field: str, value: int) -> int:
    return read_int(field, value, least=0, most=MAX_VERSION)
