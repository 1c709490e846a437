"""Vectors of stored texts: which texts have none of the embedder in use, and writing them.

A place is where texts are written together: a thread, an owner's memories or wiki, a knowledge base. Whoever writes texts marks
their place in the same transaction; whoever has embedded all of a place takes the mark back, unless it was written to meanwhile.
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
_NOBODY = UUID(int=0)
_PAGE = 500


class TextKind(StrEnum):
    """What sort of texts a place holds."""

    TURNS = "turns"
    MEMORIES = "memories"
    CHUNKS = "chunks"
    WIKI = "wiki"


@dataclass(frozen=True, slots=True)
class EmbeddingPlace:
    """Where texts are written together. `ref` is the thread's or base's id; a base has no owner.

    `change_no` tells whether it was written to since it was read.
    """

    kind: TextKind
    tenant_id: UUID
    owner_id: UUID | None
    ref: str = ""
    change_no: int = 0

    def opened(self, pool: Pool) -> Transaction:
        """Return a transaction that sees the place's rows."""
        if self.owner_id is None:
            return tenant_scoped(pool, self.tenant_id, role=DatabaseRole.WORKER)
        return scoped(pool, Scope(self.tenant_id, self.owner_id), role=DatabaseRole.WORKER)

    @property
    def subject(self) -> str:
        """The place within its scope, as one word: what a job is about."""
        return f"{self.kind.value}:{self.ref}"

    @property
    def scope(self) -> Scope:
        """The scope of a job about the place; that of a base is nobody's."""
        return Scope(self.tenant_id, self.owner_id or _NOBODY)

    @property
    def parameters(self) -> dict[str, object]:
        """The place as queries take it."""
        if self.owner_id is None:
            return {"tenant_id": self.tenant_id, "base_id": UUID(self.ref)}
        key: dict[str, object] = {"tenant_id": self.tenant_id, "owner_id": self.owner_id}
        return key | {"ref": self.ref} if self.kind is TextKind.TURNS else key


@dataclass(frozen=True, slots=True)
class Pending:
    """A text without a vector: which item of which sort it is, and the hash of the text where that can change."""

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


def place_of(scope: Scope, subject: str) -> EmbeddingPlace:
    """Return the place that a job of the scope is about."""
    kind, _, ref = subject.partition(":")
    return EmbeddingPlace(TextKind(kind), scope.tenant_id, None if kind == TextKind.CHUNKS else scope.owner_id, ref)


async def mark(connection: Connection, scope: Scope, kind: TextKind, *, ref: str = "", now: datetime) -> None:
    """Note that texts of the owner's place were written."""
    key = {"tenant_id": scope.tenant_id, "owner_id": scope.owner_id}
    await _sql.mark_place(connection, **key, kind=kind.value, ref=ref, now=now)


async def mark_base(connection: Connection, tenant_id: UUID, base_id: UUID, *, now: datetime) -> None:
    """Note that chunks of the base were written."""
    await _sql.mark_base(connection, tenant_id=tenant_id, base_id=base_id, now=now)


async def mark_again(connection: Connection, place: EmbeddingPlace, *, now: datetime) -> None:
    """Note that the place waits to be embedded, as if it had been written to."""
    if place.owner_id is None:
        await mark_base(connection, place.tenant_id, UUID(place.ref), now=now)
    else:
        await mark(connection, Scope(place.tenant_id, place.owner_id), place.kind, ref=place.ref, now=now)


async def unmark(connection: Connection, place: EmbeddingPlace) -> bool:
    """Take the mark back, and return whether nothing was written meanwhile."""
    key = place.parameters | {"change_no": place.change_no}
    if place.owner_id is None:
        return bool(await _sql.unmark_base(connection, **key))
    return bool(await _sql.unmark_place(connection, **key | {"kind": place.kind.value, "ref": place.ref}))


async def waiting(pool: Pool, *, limit: int) -> list[EmbeddingPlace]:
    """Return the places that wait to be embedded, of all tenants, those that wait longest first."""
    async with installation(pool, role=DatabaseRole.WORKER, read_only=True) as connection:
        rows = await _sql.waiting_places(connection, limit=limit)
    return [
        EmbeddingPlace(TextKind(row["kind"]), row["tenant_id"], row["owner_id"], row["ref"], row["change_no"])
        for row in rows
    ]


async def every_place(pool: Pool) -> AsyncIterator[EmbeddingPlace]:
    """Yield every place that holds texts, of all tenants, page by page."""
    for kind in TextKind:
        last = EmbeddingPlace(kind, _NOBODY, _NOBODY)
        while True:
            async with installation(pool, role=DatabaseRole.WORKER, read_only=True) as connection:
                rows = await _sql.places_with_texts(
                    connection,
                    kind=kind.value,
                    after_tenant=last.tenant_id,
                    after_owner=last.owner_id or _NOBODY,
                    after_ref=last.ref,
                    limit=_PAGE,
                )
            for row in rows:
                last = EmbeddingPlace(kind, row["tenant_id"], row["owner_id"], row["ref"])
                yield last
            if len(rows) < _PAGE:
                break


async def pending(connection: Connection, place: EmbeddingPlace, embedder_no: int, *, limit: int) -> list[Pending]:
    """Return texts of the place without a vector of this embedder, at most `limit`."""
    found: list[Pending] = []
    for sort in _SORTS[place.kind]:
        left = limit - len(found)
        rows = await _READ[sort](connection, **place.parameters, embedder_no=embedder_no, limit=left)
        found += [Pending(sort, row["item"], row["text"], row.get("text_hash")) for row in rows]
        if len(found) >= limit:
            break
    return found


async def put(
    connection: Connection,
    place: EmbeddingPlace,
    embedder_no: int,
    texts: Sequence[Pending],
    vectors: Sequence[Sequence[float]],
) -> None:
    """Write the vectors of texts of the place; a text that is gone by now gets none."""
    for sort in _SORTS[place.kind]:
        own = [(text, vector) for text, vector in zip(texts, vectors, strict=True) if text.sort == sort]
        if not own:
            continue
        hashes = {"text_hashes": [text.text_hash for text, _ in own]} if own[0][0].text_hash is not None else {}
        await _WRITE[sort](
            connection,
            **place.parameters,
            embedder_no=embedder_no,
            items=[text.item for text, _ in own],
            vectors=[literal(vector) for _, vector in own],
            **hashes,
        )
