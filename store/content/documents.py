"""Knowledge bases: assignments, documents, the chunks these are split into, and recall among chunks.

Every function takes a connection inside a tenant transaction. Bases belong to a tenant, never to an owner.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from store.content import embeddings
from store.content.derived import Derived, derive_now
from store.content.recalling import Recalled, RecallQuery, recalled
from store.db import queries
from store.db.pacing import in_slices
from store.db.queries import Connection
from store.errors import AlreadyExists
from store.scope import Reach
from store.text.texts import Signature

_sql = queries.load(__file__)
CHUNKS_AT_ONCE = 500


class PutOutcome(StrEnum):
    """The outcome of putting a document."""

    CREATED = "created"
    UPDATED = "updated"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Base:
    """A knowledge base."""

    base_id: UUID
    name: str
    description: str
    document_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Assignment:
    """The target of an assignment: `level` is template, agent or space, `ref` its id."""

    level: str
    ref: str


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A piece of a document, with the headings above it and, in paged formats, its page number from 1."""

    text: str
    heading: str = ""
    page: int | None = None


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document to put, with its chunks in order. `content_hash` is the SHA-256 of its bytes."""

    path: str
    title: str
    media_type: str
    content_hash: bytes
    chunks: tuple[NewChunk, ...]


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A chunk to put, with the values stored beside its text."""

    chunk: NewChunk
    derived: Derived


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document to put: like `NewDocument`, but with its chunks in batches, each for one statement."""

    path: str
    title: str
    media_type: str
    content_hash: bytes
    chunk_count: int
    batches: Iterable[Sequence[PreparedChunk]]


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document without its chunks."""

    document_id: UUID
    path: str
    title: str
    media_type: str
    content_hash: bytes
    chunk_count: int
    updated_at: datetime


class RecalledChunk(NamedTuple):
    """The columns that recall reads of a chunk and its document. `position` is the chunk's index in the document, from 0.

    A tuple, because many are created per turn.
    """

    chunk_id: UUID
    document_id: UUID
    title: str
    path: str
    heading: str
    page: int | None
    position: int
    text: str
    marks: int | None
    signature: Signature


async def ensure_base(
    connection: Connection, tenant_id: UUID, name: str, *, description: str = "", now: datetime
) -> Base:
    """Return the base of this name, created if missing; an existing base keeps its description."""
    base_id = uuid5(tenant_id, f"base\n{name}")
    await _sql.put_base(connection, tenant_id=tenant_id, base_id=base_id, name=name, description=description, now=now)
    return _base(await _sql.get_base(connection, tenant_id=tenant_id, name=name))


async def get_base(connection: Connection, tenant_id: UUID, name: str) -> Base | None:
    """Return the base of this name, or None."""
    row = await _sql.get_base(connection, tenant_id=tenant_id, name=name)
    return row and _base(row)


async def list_bases(
    connection: Connection, tenant_id: UUID, *, limit: int, after: str = "", reach: Reach | None = None
) -> list[Base]:
    """Return a page of the tenant's bases within reach, in order of name, after the name `after`."""
    among = await within(connection, tenant_id, reach)
    page = {"tenant_id": tenant_id, "after": after, "limit": limit}
    listing = (
        _sql.list_bases(connection, **page) if among is None else _sql.bases_among(connection, **page, among=among)
    )
    return [_base(row) for row in await listing]


async def within(connection: Connection, tenant_id: UUID, reach: Reach | None) -> list[UUID] | None:
    """Return the bases within an agent's reach; None, meaning all bases, for an admin."""
    if reach is None:
        return None
    rows = await _sql.bases_within(
        connection,
        tenant_id=tenant_id,
        agent_id=reach.agent_id,
        spaces=sorted(reach.spaces),
        has_every_space=reach.has_every_space,
    )
    return [row["base_id"] for row in rows]


async def assign(connection: Connection, tenant_id: UUID, base_id: UUID, to: Assignment) -> None:
    """Assign the base. Idempotent."""
    await _sql.assign_base(connection, tenant_id=tenant_id, base_id=base_id, level=to.level, ref=to.ref)


async def unassign(connection: Connection, tenant_id: UUID, base_id: UUID, to: Assignment) -> None:
    """Remove the assignment, if there is one."""
    await _sql.unassign_base(connection, tenant_id=tenant_id, base_id=base_id, level=to.level, ref=to.ref)


async def assigned_bases(
    connection: Connection, tenant_id: UUID, *, template_id: str, agent_id: str, space_id: str = ""
) -> tuple[UUID, ...]:
    """Return the bases that a turn searches: those assigned to its template, agent or space. Without assignments, none."""
    rows = await _sql.assigned_bases(
        connection, tenant_id=tenant_id, template_id=template_id, agent_id=agent_id, space_id=space_id
    )
    return tuple(row["base_id"] for row in rows)


async def prepare(document: NewDocument) -> PreparedDocument:
    """Return the document ready to be put. Takes seconds for a large one, and needs no connection."""
    prepared = await in_slices(
        partial(prepare_chunks, document.title), document.chunks, lambda one: len(one.heading) + len(one.text)
    )
    return PreparedDocument(
        document.path,
        document.title,
        document.media_type,
        document.content_hash,
        len(prepared),
        [prepared[start : start + CHUNKS_AT_ONCE] for start in range(0, len(prepared), CHUNKS_AT_ONCE)],
    )


def prepare_chunks(title: str, chunks: Sequence[NewChunk]) -> list[PreparedChunk]:
    """Return chunks of a document with this title, ready to be put. CPU time grows with their length; run it in a thread."""
    derived = derive_now([(chunk.text, f"{title}\n{chunk.heading}\n{chunk.text}") for chunk in chunks])
    return [PreparedChunk(chunk, beside) for chunk, beside in zip(chunks, derived, strict=True)]


async def put(
    connection: Connection, tenant_id: UUID, base_id: UUID, document: PreparedDocument, *, now: datetime
) -> tuple[Document, PutOutcome]:
    """Write the document and its chunks, replacing those at its path; unchanged content is left untouched."""
    key = {"tenant_id": tenant_id, "base_id": base_id}
    document_id = uuid5(base_id, document.path)
    columns = {
        "path": document.path,
        "title": document.title,
        "media_type": document.media_type,
        "content_hash": document.content_hash,
        "chunk_count": document.chunk_count,
        "now": now,
    }
    outcome = PutOutcome.UNCHANGED
    if await _sql.insert_document(connection, **key, document_id=document_id, **columns):
        outcome = PutOutcome.CREATED
    elif await _sql.replace_document(connection, **key, **columns):
        outcome = PutOutcome.UPDATED
    if outcome is not PutOutcome.UNCHANGED:
        await _sql.delete_chunks(connection, tenant_id=tenant_id, document_id=document_id)
        await _insert(connection, {**key, "document_id": document_id}, document.batches)
        await embeddings.mark_base(connection, tenant_id, base_id, now=now)
    row = await _sql.get_document(connection, **key, path=document.path)
    if row is None:  # another call deleted it just before
        return await put(connection, tenant_id, base_id, document, now=now)
    stored = _document(row)
    return stored, outcome


async def get(connection: Connection, tenant_id: UUID, base_id: UUID, path: str) -> Document | None:
    """Return the document at the path, or None."""
    row = await _sql.get_document(connection, tenant_id=tenant_id, base_id=base_id, path=path)
    return row and _document(row)


async def page(
    connection: Connection, tenant_id: UUID, base_id: UUID, *, limit: int, after: str = ""
) -> list[Document]:
    """Return a page of the base's documents, in order of path, after the path `after`."""
    rows = await _sql.list_documents(connection, tenant_id=tenant_id, base_id=base_id, after=after, limit=limit)
    return [_document(row) for row in rows]


async def delete(connection: Connection, tenant_id: UUID, base_id: UUID, path: str) -> bool:
    """Delete the document at the path with its chunks, and return whether it existed."""
    return bool(await _sql.delete_document(connection, tenant_id=tenant_id, base_id=base_id, path=path))


async def recall(
    connection: Connection, tenant_id: UUID, base_ids: Sequence[UUID], wanted: RecallQuery
) -> Recalled[RecalledChunk]:
    """Return the chunks of the bases that match, with the neighbours of the best ones; best first."""
    rows = await _sql.recall_chunks(connection, tenant_id=tenant_id, base_ids=list(base_ids), **wanted.parameters())
    return recalled(rows, _chunks)


async def _insert(connection: Connection, key: dict[str, UUID], batches: Iterable[Sequence[PreparedChunk]]) -> None:
    """Insert the chunks in bounded statements, so that a large document stays within the statement deadline."""
    position, seen = 0, Counter[bytes]()
    for prepared in batches:
        chunks, derived = [one.chunk for one in prepared], [one.derived for one in prepared]
        written = await _sql.insert_chunks(
            connection,
            **key,
            chunk_ids=_chunk_ids(key["document_id"], derived, seen),
            positions=list(range(position, position + len(chunks))),
            headings=[one.heading for one in chunks],
            pages=[one.page for one in chunks],
            texts=[one.text for one in chunks],
            signatures=[one.signature for one in derived],
            word_counts=[one.word_count for one in derived],
            words=[one.words for one in derived],
            marks=[one.marks for one in derived],
        )
        if written != len(chunks):
            raise AlreadyExists("chunks_pkey")
        position += len(chunks)


def _chunk_ids(document_id: UUID, derived: Sequence[Derived], seen: Counter[bytes]) -> list[UUID]:
    """Return an id for each chunk, made from its text and not its position, so that a chunk that only moved keeps its id.

    `seen` counts the texts earlier in the document; this call adds its own.
    """
    ids = []
    for one in derived:
        ids.append(uuid5(document_id, f"{one.text_hash.hex()} {seen[one.text_hash]}"))
        seen[one.text_hash] += 1
    return ids


def _base(row: Any) -> Base:
    return Base(**row)


def _document(row: Any) -> Document:
    return Document(**row)


def _chunks(*columns: Any) -> Iterable[RecalledChunk]:
    *values, signatures = columns
    return map(RecalledChunk, *values, map(Signature.unpack, signatures))
