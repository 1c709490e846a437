"""Knowledge bases: their documents, and the templates, agents and spaces that they are assigned to.

Every method opens its own transaction. `sidecar.ingest` reads and chunks documents, off the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from compiler.releases import sharing
from sidecar.ingest.chunking import chunk_reader, chunking
from sidecar.ingest.chunking.chunk_reader import MAX_DOCUMENT_BYTES
from sidecar.runtime.errors import InvalidArgument, NotFound
from sidecar.services.brain.settling import settle
from sidecar.services.validation import read_id, read_name, read_text
from store.compile import overview
from store.compile.overview import ChunkThere
from store.content import documents
from store.content.documents import Assignment, Base, Document, PreparedDocument, PutOutcome
from store.db import purging
from store.db.postgres import Pools, tenant_scoped
from store.db.queries import Connection
from store.scope import Reach, Scope
from store.tenancy import templates, tenants

MAX_PATH_CHARS = 500
MAX_DESCRIPTION_CHARS = 10_000
READERS = 2


class Knowledge:
    """Stores a tenant's bases. `on_forgotten` is called with the Brain's scope once a document was deleted.

    `count` counts the tokens of chunks of documents of up to 1 MiB; larger documents are read in a process that counts in
    o200k_base. Methods that name a base raise NotFound if it is unknown or outside the caller's `reach`.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        count: chunking.CountTokens,
        on_forgotten: Callable[[Scope], None] = lambda _: None,
    ) -> None:
        self._pool = pools.background
        self._on_forgotten = on_forgotten
        self._now = now
        self._count = count
        # Few threads of its own: each holds several copies of a document, and one that outlives its call keeps its slot
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="reader")

    async def create_base(self, tenant_id: UUID, name: str, description: str) -> Base:
        """Create a base, or return the existing one with this name."""
        read_name("name", name)
        read_text("description", description, max_chars=MAX_DESCRIPTION_CHARS)
        now = self._now()
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            return await documents.ensure_base(connection, tenant_id, name, description=description, now=now)

    async def bases(self, tenant_id: UUID, *, reach: Reach | None, limit: int, after: str = "") -> list[Base]:
        """Return up to `limit` bases in reach, by name."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await documents.list_bases(connection, tenant_id, limit=limit, reach=reach, after=after)

    async def ingest(
        self, tenant_id: UUID, base: str, path: str, content: bytes, *, is_large: bool
    ) -> tuple[Document, PutOutcome]:
        """Ingest a document into a base; unchanged content is not read again. A large one is read in a child process."""
        read_name("base", base)
        _check_path(path)
        if len(content) > MAX_DOCUMENT_BYTES:
            problem = f"has {len(content)} bytes"
            raise InvalidArgument("content", problem, f"send at most {MAX_DOCUMENT_BYTES} bytes, or split the document")
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            base_id = (await _base(connection, tenant_id, base)).base_id
            known = await documents.get(connection, tenant_id, base_id, path)
        digest = await asyncio.to_thread(lambda: sha256(content).digest())
        if known is not None and known.content_hash == digest:
            return known, PutOutcome.UNCHANGED
        prepared = await self._prepared(path, content, is_large=is_large)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            stored, outcome = await documents.put(connection, tenant_id, base_id, prepared, now=self._now())
            left = await sharing.follow_document(connection, tenant_id, stored.document_id, now=self._now())
        if left:
            await self._settle(tenant_id)
        return stored, outcome

    async def _prepared(self, path: str, content: bytes, *, is_large: bool) -> PreparedDocument:
        if is_large:
            return await chunk_reader.read_apart(path, content)
        loop = asyncio.get_running_loop()
        return await documents.prepare(
            await loop.run_in_executor(self._readers, chunk_reader.read, path, content, self._count)
        )

    async def documents(
        self, tenant_id: UUID, base: str, *, reach: Reach | None, limit: int, after: str = ""
    ) -> list[Document]:
        """Return up to `limit` documents of a base, by path."""
        read_name("base", base)
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            base_id = (await _base(connection, tenant_id, base, reach)).base_id
            return await documents.page(connection, tenant_id, base_id, limit=limit, after=after)

    async def chunk_with_neighbours(
        self, tenant_id: UUID, chunk_id: UUID, *, reach: Reach | None
    ) -> Sequence[ChunkThere]:
        """Return a chunk with its neighbours. Raises NotFound if it is deleted or out of reach."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            among = await documents.within(connection, tenant_id, reach)
            rows = await overview.chunk_around(connection, tenant_id, chunk_id, among=among)
        if not rows:
            raise NotFound("piece of a document")
        return rows

    async def delete_document(self, tenant_id: UUID, base: str, path: str) -> None:
        """Delete a document with its chunks, its copies in the Brain, and its texts in the receipts of all owners.

        A missing document counts as deleted.
        """
        read_name("base", base)
        _check_path(path)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            found = await _base(connection, tenant_id, base)
            document = await documents.get(connection, tenant_id, found.base_id, path)
            if document is not None:
                await documents.delete(connection, tenant_id, found.base_id, path)
                await purging.request(connection, now=self._now())
                await sharing.forget_document(connection, tenant_id, document.document_id, now=self._now())
        await self._settle(tenant_id)  # also if a call before was cut off here

    async def _settle(self, tenant_id: UUID) -> None:
        """Remove a deleted document and the Brain's withdrawn copies from every owner's receipts and from cached answers."""
        await settle(self._pool, tenant_id, now=self._now, on_forgotten=self._on_forgotten)

    async def assign_base(self, tenant_id: UUID, base: str, level: str, ref: str) -> None:
        """Assign a base to the template, agent or space named `ref`, from the next turn on."""
        await self._assigning(documents.assign, tenant_id, base, Assignment(level, read_id("ref", ref)))

    async def unassign_base(self, tenant_id: UUID, base: str, level: str, ref: str) -> None:
        """Remove an assignment, if there is one."""
        await self._assigning(documents.unassign, tenant_id, base, Assignment(level, read_id("ref", ref)))

    async def _assigning(
        self, write: Callable[..., Awaitable[object]], tenant_id: UUID, base: str, assignment: Assignment
    ) -> None:
        read_name("base", base)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            found = await _base(connection, tenant_id, base)
            await write(connection, tenant_id, found.base_id, assignment)
            await templates.notify_changed(connection, tenant_id)


async def _base(connection: Connection, tenant_id: UUID, name: str, reach: Reach | None = None) -> Base:
    base = await documents.get_base(connection, tenant_id, name)
    among = await documents.within(connection, tenant_id, reach)
    if base is None or (among is not None and base.base_id not in among):
        raise NotFound("knowledge base")
    return base


def _check_path(path: str) -> None:
    read_text("path", path, min_chars=1, max_chars=MAX_PATH_CHARS)
    if not path.isprintable():
        raise InvalidArgument("path", "contains control characters", "send printable characters")
