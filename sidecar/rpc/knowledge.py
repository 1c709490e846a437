"""The knowledge service: bases, the templates, agents and spaces they are assigned to, and the documents read into them.

Only the way between messages and values stands here; the use cases are in `sidecar.services.knowledge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from uuid import UUID

from sidecar.rpc.auth.identity import require_admin, resolve_tenant
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.knowledge import Knowledge
from sidecar.services.validation import read_name
from sidecar.v1 import knowledge_pb2 as pb
from store.content.documents import Base, Document, PutOutcome

SERVICE = pb.DESCRIPTOR.services_by_name["KnowledgeService"]

_LEVELS: Mapping[int, str] = {
    pb.ASSIGNEE_LEVEL_TEMPLATE: "template",
    pb.ASSIGNEE_LEVEL_AGENT: "agent",
    pb.ASSIGNEE_LEVEL_SPACE: "space",
}
_OUTCOMES: Mapping[PutOutcome, pb.IngestOutcome.ValueType] = {
    PutOutcome.CREATED: pb.INGEST_OUTCOME_CREATED,
    PutOutcome.UPDATED: pb.INGEST_OUTCOME_UPDATED,
    PutOutcome.UNCHANGED: pb.INGEST_OUTCOME_UNCHANGED,
}


class KnowledgeService:
    """Keeps knowledge bases."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "CreateBase": self.create_base,
            "ListBases": self.list_bases,
            "Ingest": self.ingest,
            "ListDocuments": self.list_documents,
            "DeleteDocument": self.delete_document,
            "AssignBase": self.assign_base,
            "UnassignBase": self.unassign_base,
        }

    async def create_base(self, request: pb.CreateBaseRequest, call: Call) -> pb.CreateBaseResponse:
        """Make a base, or return the one of this name as it is."""
        base = await self._knowledge.create_base(_admin_tenant(request, call), request.name, request.description)
        return pb.CreateBaseResponse(base=_write_base(base))

    async def list_bases(self, request: pb.ListBasesRequest, call: Call) -> pb.ListBasesResponse:
        """Return a page of the tenant's bases that the caller reaches, by name."""
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        listing = ListCall("ListBases", (str(tenant_id),), (str,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._knowledge.bases(
            tenant_id, reach=call.identity.reach, limit=page.limit, **page.starting("after")
        )
        written, token = listing.cut(rows, page, lambda base: (base.name,), _write_base)
        return pb.ListBasesResponse(bases=written, next_page_token=token)

    async def ingest(self, request: pb.IngestRequest, call: Call) -> pb.IngestResponse:
        """Read a document into a base; the content it has already is not read again."""
        stored, outcome = await self._knowledge.ingest(
            _admin_tenant(request, call), request.base, request.path, request.content, is_large=call.is_large
        )
        return pb.IngestResponse(document=_write_document(stored), outcome=_OUTCOMES[outcome])

    async def list_documents(self, request: pb.ListDocumentsRequest, call: Call) -> pb.ListDocumentsResponse:
        """Return a page of a base's documents, by path. Raises NotFound for a base that is unknown or out of reach."""
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        listing = ListCall("ListDocuments", (str(tenant_id), read_name("base", request.base)), (str,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._knowledge.documents(
            tenant_id, request.base, reach=call.identity.reach, limit=page.limit, **page.starting("after")
        )
        written, token = listing.cut(rows, page, lambda document: (document.path,), _write_document)
        return pb.ListDocumentsResponse(documents=written, next_page_token=token)

    async def delete_document(self, request: pb.DeleteDocumentRequest, call: Call) -> pb.DeleteDocumentResponse:
        """Remove a document with its chunks; one that is not there is removed already. Raises NotFound for a base."""
        await self._knowledge.delete_document(_admin_tenant(request, call), request.base, request.path)
        return pb.DeleteDocumentResponse()

    async def assign_base(self, request: pb.AssignBaseRequest, call: Call) -> pb.AssignBaseResponse:
        """Assign a base to a template, agent or space. Raises NotFound for an unknown base."""
        tenant_id = _admin_tenant(request, call)
        await self._knowledge.assign_base(tenant_id, request.base, _read_level(request.level), request.ref)
        return pb.AssignBaseResponse()

    async def unassign_base(self, request: pb.UnassignBaseRequest, call: Call) -> pb.UnassignBaseResponse:
        """Take an assignment back, if there is one. Raises NotFound for an unknown base."""
        tenant_id = _admin_tenant(request, call)
        await self._knowledge.unassign_base(tenant_id, request.base, _read_level(request.level), request.ref)
        return pb.UnassignBaseResponse()


_ForAdmins = (
    pb.CreateBaseRequest | pb.IngestRequest | pb.DeleteDocumentRequest | pb.AssignBaseRequest | pb.UnassignBaseRequest
)


def _admin_tenant(request: _ForAdmins, call: Call) -> UUID:
    require_admin(call.identity)
    return resolve_tenant(call.identity, request.tenant_id)


def _read_level(number: int) -> str:
    level = _LEVELS.get(number)
    if level is None:
        raise InvalidArgument("level", "is not one that a base is assigned to", "send TEMPLATE, AGENT or SPACE")
    return level


def _write_base(base: Base) -> pb.KnowledgeBase:
    return pb.KnowledgeBase(
        name=base.name,
        description=base.description,
        document_count=base.document_count,
        create_time=write_time(base.created_at),
    )


def _write_document(document: Document) -> pb.Document:
    return pb.Document(
        document_id=str(document.document_id),
        path=document.path,
        title=document.title,
        media_type=document.media_type,
        chunk_count=document.chunk_count,
        content_sha256=document.content_hash.hex(),
        update_time=write_time(document.updated_at),
    )
