"""Vectors of stored texts: finding texts without a vector of the embedder in use, and writing vectors.

A partition is a set of texts that are written together: a thread, an owner's memories or wiki, or a knowledge base. A writer
marks the partition in its transaction. The embedding job removes the mark once it has embedded all texts, unless the partition
was written to meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.content.recalling import literal
from store.db import queries
from store.db.postgres import DatabaseRole, Pool, Transaction, installation, scoped, tenant_scoped
from store.db.queries import Connection
from store.scope import Scope

_sql = queries.load(__file__)
_NO_OWNER = UUID(int=0)
_PAGE = 500


class TextKind(StrEnum):
    """The kind of texts in a partition."""

    TURNS = "turns"
    MEMORIES = "memories"
    CHUNKS = "chunks"
    WIKI = "wiki"


@dataclass(frozen=True, slots=True)
class TextPartition:
    """A set of texts that are written together. `ref` is the thread's or base's id; a base has no owner.

    `change_no` detects writes since the partition was read.
    """

    kind: TextKind
    tenant_id: UUID
    owner_id: UUID | None
    ref: str = ""
    change_no: int = 0

    def opened(self, pool: Pool) -> Transaction:
        """Return a transaction with access to the partition's rows."""
        if self.owner_id is None:
            return tenant_scoped(pool, self.tenant_id, role=DatabaseRole.WORKER)
        return scoped(pool, Scope(self.tenant_id, self.owner_id), role=DatabaseRole.WORKER)

    @property
    def subject(self) -> str:
        """The partition within its scope, as the subject of a job."""
        return f"{self.kind.value}:{self.ref}"

    @property
    def scope(self) -> Scope:
        """The scope of a job about the partition; for a base, the owner is the nil UUID."""
        return Scope(self.tenant_id, self.owner_id or _NO_OWNER)

    @property
    def parameters(self) -> dict[str, object]:
        """The partition as query parameters."""
        if self.owner_id is None:
            return {"tenant_id": self.tenant_id, "base_id": UUID(self.ref)}
        key: dict[str, object] = {"tenant_id": self.tenant_id, "owner_id": self.owner_id}
        return key | {"ref": self.ref} if self.kind is TextKind.TURNS else key


@dataclass(frozen=True, slots=True)
class Pending:
    """A text without a vector: its kind, its id, and the hash of the text if the text can change."""

    sort: str
    item: Any
    text: str
    text_hash: bytes | None = None


_SORTS = {
    TextKind.TURNS: ("turn",),
    TextKind.MEMORIES: ("memory",),
    TextKind.CHUNKS: ("chunk",),
    TextKind.WIKI: ("section", "summary"),
}
_READ = {
    "turn": _sql.pending_turns,
    "memory": _sql.pending_memories,
    "chunk": _sql.pending_chunks,
    "section": _sql.pending_sections,
    "summary": _sql.pending_summaries,
}
_WRITE = {
    "turn": _sql.put_turn_vectors,
    "memory": _sql.put_memory_vectors,
    "chunk": _sql.put_chunk_vectors,
    "section": _sql.put_section_vectors,
    "summary": _sql.put_summary_vectors,
}


def partition_of(scope: Scope, subject: str) -> TextPartition:
    """Return the partition of a job, from its scope and subject."""
    kind, _, ref = subject.partition(":")
    return TextPartition(TextKind(kind), scope.tenant_id, None if kind == TextKind.CHUNKS else scope.owner_id, ref)


async def mark(connection: Connection, scope: Scope, kind: TextKind, *, ref: str = "", now: datetime) -> None:
    """Mark an owner's partition as written to."""
    await _sql.mark_place(connection, **scope.key, kind=kind.value, ref=ref, now=now)


async def mark_base(connection: Connection, tenant_id: UUID, base_id: UUID, *, now: datetime) -> None:
    """Mark a base as written to."""
    await _sql.mark_base(connection, tenant_id=tenant_id, base_id=base_id, now=now)


async def mark_again(connection: Connection, partition: TextPartition, *, now: datetime) -> None:
    """Mark the partition as if it had been written to, so that it is embedded again."""
    if partition.owner_id is None:
        await mark_base(connection, partition.tenant_id, UUID(partition.ref), now=now)
    else:
        await mark(
            connection, Scope(partition.tenant_id, partition.owner_id), partition.kind, ref=partition.ref, now=now
        )


async def unmark(connection: Connection, partition: TextPartition) -> bool:
    """Remove the mark, and return whether the partition was not written to meanwhile."""
    key = partition.parameters | {"change_no": partition.change_no}
    if partition.owner_id is None:
        return bool(await _sql.unmark_base(connection, **key))
    return bool(await _sql.unmark_place(connection, **key | {"kind": partition.kind.value, "ref": partition.ref}))


async def waiting(pool: Pool, *, limit: int) -> list[TextPartition]:
    """Return the marked partitions of all tenants, the longest waiting first."""
    async with installation(pool, role=DatabaseRole.WORKER, read_only=True) as connection:
        rows = await _sql.waiting_places(connection, limit=limit)
    return [
        TextPartition(TextKind(row["kind"]), row["tenant_id"], row["owner_id"], row["ref"], row["change_no"])
        for row in rows
    ]


async def every_partition(pool: Pool) -> AsyncIterator[TextPartition]:
    """Yield every partition with texts, of all tenants, read in pages."""
    for kind in TextKind:
        last = TextPartition(kind, _NO_OWNER, _NO_OWNER)
        while True:
            async with installation(pool, role=DatabaseRole.WORKER, read_only=True) as connection:
                rows = await _sql.places_with_texts(
                    connection,
                    kind=kind.value,
                    after_tenant=last.tenant_id,
                    after_owner=last.owner_id or _NO_OWNER,
                    after_ref=last.ref,
                    limit=_PAGE,
                )
            for row in rows:
                last = TextPartition(kind, row["tenant_id"], row["owner_id"], row["ref"])
                yield last
            if len(rows) < _PAGE:
                break


async def pending(connection: Connection, partition: TextPartition, embedder_no: int, *, limit: int) -> list[Pending]:
    """Return texts of the partition without a vector of this embedder, at most `limit`."""
    found: list[Pending] = []
    for sort in _SORTS[partition.kind]:
        left = limit - len(found)
        rows = await _READ[sort](connection, **partition.parameters, embedder_no=embedder_no, limit=left)
        found += [Pending(sort, row["item"], row["text"], row.get("text_hash")) for row in rows]
        if len(found) >= limit:
            break
    return found


async def put(
    connection: Connection,
    partition: TextPartition,
    embedder_no: int,
    texts: Sequence[Pending],
    vectors: Sequence[Sequence[float]],
) -> None:
    """Write the vectors of texts of the partition; a text deleted meanwhile gets none."""
    for sort in _SORTS[partition.kind]:
        own = [(text, vector) for text, vector in zip(texts, vectors, strict=True) if text.sort == sort]
        if not own:
            continue
        hashes = {"text_hashes": [text.text_hash for text, _ in own]} if own[0][0].text_hash is not None else {}
        await _WRITE[sort](
            connection,
            **partition.parameters,
            embedder_no=embedder_no,
            items=[text.item for text, _ in own],
            vectors=[literal(vector) for _, vector in own],
            **hashes,
        )
