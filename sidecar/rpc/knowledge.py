"""The knowledge service: bases, the templates, agents and spaces that they are assigned to, and their documents.

Converts between messages and values; the use cases are in `sidecar.services.knowledge`.
"""

from __future__ import annotations

from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import names_of, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.knowledge import Knowledge
from sidecar.services.validation import read_name
from sidecar.v1 import knowledge_pb2 as pb
from store.content.documents import Base, Document

SERVICE = pb.DESCRIPTOR.services_by_name["KnowledgeService"]

_LEVELS = names_of(pb.AssigneeLevel)


class KnowledgeService:
    """Manages knowledge bases."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge

    async def create_base(self, request: pb.CreateBaseRequest, call: Call) -> pb.CreateBaseResponse:
        """Create a base, or return the existing one with this name."""
        base = await self._knowledge.create_base(call.admin_tenant(request), request.name, request.description)
        return pb.CreateBaseResponse(base=_write_base(base))

    async def list_bases(self, request: pb.ListBasesRequest, call: Call) -> pb.ListBasesResponse:
        """Return a page of the tenant's bases that the caller reaches, by name."""
        tenant_id = call.tenant(request)
        listing = ListCall("ListBases", (str(tenant_id),), (str,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._knowledge.bases(
            tenant_id, reach=call.identity.reach, limit=page.limit, **page.starting("after")
        )
        written, token = listing.cut(rows, page, lambda base: (base.name,), _write_base)
        return pb.ListBasesResponse(bases=written, next_page_token=token)

    async def ingest(self, request: pb.IngestRequest, call: Call) -> pb.IngestResponse:
        """Ingest a document into a base; unchanged content is not read again."""
        stored, outcome = await self._knowledge.ingest(
            call.admin_tenant(request), request.base, request.path, request.content, is_large=call.is_large
        )
        return pb.IngestResponse(
            document=_write_document(stored), outcome=pb.IngestOutcome.Value(f"INGEST_OUTCOME_{outcome.name}")
        )

    async def list_documents(self, request: pb.ListDocumentsRequest, call: Call) -> pb.ListDocumentsResponse:
        """Return a page of a base's documents, by path. Raises NotFound if the base is unknown or out of reach."""
        tenant_id = call.tenant(request)
        listing = ListCall("ListDocuments", (str(tenant_id), read_name("base", request.base)), (str,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._knowledge.documents(
            tenant_id, request.base, reach=call.identity.reach, limit=page.limit, **page.starting("after")
        )
        written, token = listing.cut(rows, page, lambda document: (document.path,), _write_document)
        return pb.ListDocumentsResponse(documents=written, next_page_token=token)

    async def delete_document(self, request: pb.DeleteDocumentRequest, call: Call) -> pb.DeleteDocumentResponse:
        """Delete a document with its chunks; a missing document counts as deleted. Raises NotFound for an unknown base."""
        await self._knowledge.delete_document(call.admin_tenant(request), request.base, request.path)
        return pb.DeleteDocumentResponse()

    async def assign_base(self, request: pb.AssignBaseRequest, call: Call) -> pb.AssignBaseResponse:
        """Assign a base to a template, agent or space. Raises NotFound for an unknown base."""
        tenant_id = call.admin_tenant(request)
        await self._knowledge.assign_base(tenant_id, request.base, _read_level(request.level), request.ref)
        return pb.AssignBaseResponse()

    async def unassign_base(self, request: pb.UnassignBaseRequest, call: Call) -> pb.UnassignBaseResponse:
        """Remove an assignment, if there is one. Raises NotFound for an unknown base."""
        tenant_id = call.admin_tenant(request)
        await self._knowledge.unassign_base(tenant_id, request.base, _read_level(request.level), request.ref)
        return pb.UnassignBaseResponse()


def _read_level(number: int) -> str:
    level = _LEVELS.get(number)
    if level is None:
        raise InvalidArgument("level", "cannot have a base", "send TEMPLATE, AGENT or SPACE")
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
