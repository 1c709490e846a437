"""The knowledge service: bases, whom they are assigned to, and the documents read into them.

Only the way between messages and values stands here; reading and chunking are `sidecar/ingest`, run in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from sidecar.ingest import chunked, chunking
from sidecar.ingest.chunked import MAX_DOCUMENT_BYTES
from sidecar.rpc.auth.identity import require_admin, resolve_tenant
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import InvalidArgument, NotFound
from sidecar.services.validation import read_id, read_name, read_text
from sidecar.v1 import knowledge_pb2 as pb
from store.content import documents
from store.content.documents import Assignment, Base, Document, PreparedDocument, PutOutcome
from store.db.postgres import Pools, tenant_scoped
from store.db.queries import Connection
from store.scope import Reach
from store.tenancy import templates, tenants

MAX_PATH_CHARS = 500
MAX_DESCRIPTION_CHARS = 10_000
READERS = 2

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
    """Keeps knowledge bases; `now` tells the time of a write.

    `count` counts the tokens that bound a chunk of a document of up to 1 MiB; larger ones are read in a process that counts
    in o200k_base.
    """

    def __init__(self, pools: Pools, *, now: Callable[[], datetime], count: chunking.CountTokens) -> None:
        self._pools = pools
        self._now = now
        self._count = count
        # Few threads of its own: each holds a document several times over, and one that outlives its call keeps a place
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

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
        require_admin(call.identity)
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        name = read_name("name", request.name)
        description = read_text("description", request.description, max_chars=MAX_DESCRIPTION_CHARS)
        now = self._now()
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            base = await documents.ensure_base(connection, tenant_id, name, description=description, now=now)
        return pb.CreateBaseResponse(base=_write_base(base))

    async def list_bases(self, request: pb.ListBasesRequest, call: Call) -> pb.ListBasesResponse:
        """Return a page of the tenant's bases that the caller reaches, by name."""
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        listing = ListCall("ListBases", (str(tenant_id),), (str,))
        page = listing.read(request.page_size, request.page_token)
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            rows = await documents.list_bases(
                connection, tenant_id, limit=page.limit, reach=call.identity.reach, **page.starting("after")
            )
        written, token = listing.cut(rows, page, lambda base: (base.name,), _write_base)
        return pb.ListBasesResponse(bases=written, next_page_token=token)

    async def ingest(self, request: pb.IngestRequest, call: Call) -> pb.IngestResponse:
        """Read a document into a base; the content it has already is not read again."""
        require_admin(call.identity)
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        name, path = read_name("base", request.base), _read_path(request.path)
        if len(request.content) > MAX_DOCUMENT_BYTES:
            problem = f"has {len(request.content)} bytes"
            raise InvalidArgument("content", problem, f"send at most {MAX_DOCUMENT_BYTES} bytes, or split the document")
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            base = await _base(connection, tenant_id, name)
            known = await documents.get(connection, tenant_id, base.base_id, path)
        digest = await asyncio.to_thread(lambda: sha256(request.content).digest())
        if known is not None and known.content_hash == digest:
            return pb.IngestResponse(document=_write_document(known), outcome=pb.INGEST_OUTCOME_UNCHANGED)
        prepared = await self._prepared(path, request.content, is_large=call.is_large)
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            stored, outcome = await documents.put(connection, tenant_id, base.base_id, prepared, now=self._now())
        return pb.IngestResponse(document=_write_document(stored), outcome=_OUTCOMES[outcome])

    async def _prepared(self, path: str, content: bytes, *, is_large: bool) -> PreparedDocument:
        if is_large:
            return await chunked.read_apart(path, content)
        loop = asyncio.get_running_loop()
        return await documents.prepare(
            await loop.run_in_executor(self._readers, chunked.read, path, content, self._count)
        )

    async def list_documents(self, request: pb.ListDocumentsRequest, call: Call) -> pb.ListDocumentsResponse:
        """Return a page of a base's documents, by path. Raises NotFound for a base that is unknown or out of reach."""
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        name = read_name("base", request.base)
        listing = ListCall("ListDocuments", (str(tenant_id), name), (str,))
        page = listing.read(request.page_size, request.page_token)
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            base_id = (await _base(connection, tenant_id, name, call.identity.reach)).base_id
            rows = await documents.page(connection, tenant_id, base_id, limit=page.limit, **page.starting("after"))
        written, token = listing.cut(rows, page, lambda document: (document.path,), _write_document)
        return pb.ListDocumentsResponse(documents=written, next_page_token=token)

    async def delete_document(self, request: pb.DeleteDocumentRequest, call: Call) -> pb.DeleteDocumentResponse:
        """Remove a document with its chunks; one that is not there is removed already. Raises NotFound for a base."""
        require_admin(call.identity)
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        name, path = read_name("base", request.base), _read_path(request.path)
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            base = await _base(connection, tenant_id, name)
            await documents.delete(connection, tenant_id, base.base_id, path)
        return pb.DeleteDocumentResponse()

    async def assign_base(self, request: pb.AssignBaseRequest, call: Call) -> pb.AssignBaseResponse:
        """Assign a base to a template, agent or space. Raises NotFound for an unknown base."""
        tenant_id, name, assignment = _read_assignment(request, call)
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            base = await _base(connection, tenant_id, name)
            await documents.assign(connection, tenant_id, base.base_id, assignment)
            await templates.notify_changed(connection, tenant_id)
        return pb.AssignBaseResponse()

    async def unassign_base(self, request: pb.UnassignBaseRequest, call: Call) -> pb.UnassignBaseResponse:
        """Take an assignment back, if there is one. Raises NotFound for an unknown base."""
        tenant_id, name, assignment = _read_assignment(request, call)
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            base = await _base(connection, tenant_id, name)
            await documents.unassign(connection, tenant_id, base.base_id, assignment)
            await templates.notify_changed(connection, tenant_id)
        return pb.UnassignBaseResponse()


async def _base(connection: Connection, tenant_id: UUID, name: str, reach: Reach | None = None) -> Base:
    base = await documents.get_base(connection, tenant_id, name)
    among = await documents.within(connection, tenant_id, reach)
    if base is None or (among is not None and base.base_id not in among):
        raise NotFound("knowledge base")
    return base


def _read_assignment(
    request: pb.AssignBaseRequest | pb.UnassignBaseRequest, call: Call
) -> tuple[UUID, str, Assignment]:
    require_admin(call.identity)
    tenant_id = resolve_tenant(call.identity, request.tenant_id)
    name = read_name("base", request.base)
    level = _LEVELS.get(request.level)
    if level is None:
        raise InvalidArgument("level", "is not one that a base is assigned to", "send TEMPLATE, AGENT or SPACE")
    return tenant_id, name, Assignment(level, read_id("ref", request.ref))


def _read_path(path: str) -> str:
    read_text("path", path, min_chars=1, max_chars=MAX_PATH_CHARS)
    if not path.isprintable():
        raise InvalidArgument("path", "holds control characters", "send printable characters")
    return path


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
