"""The marks beside turns, memories and chunks: written with the text, gone with it, and filled in where they are missing."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from uuid import UUID

import pytest

from store.content import derived, documents, memories, threads
from store.content.documents import NewChunk, NewDocument
from store.content.memories import NewMemory
from store.content.recalling import RecallQuery
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import DatabaseRole, Pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants
from store.text.marks import MARKS, Marks, marks_of
from tests.support.compiler.compiling import fetch

SCOPE, NEIGHBOUR, STRANGER = (Scope(UUID(int=tenant), UUID(int=owner)) for tenant, owner in ((1, 11), (1, 12), (2, 11)))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
SAID = "Did the ferry leave with Ana last week?"
KNOWN = "Yesterday the ferry left, with Ana and Rui on board."
READ = "The ferry leaves at nine."
TEXTS = (
    "SELECT text, marks FROM turns UNION ALL SELECT text, marks FROM memories UNION ALL SELECT text, marks FROM chunks"
)
_WANTED = RecallQuery(("ferry",), 10)


async def put(pools: Pools, scope: Scope) -> None:
    """Write a turn, a memory and a document about a ferry."""
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
        opened = ThreadToOpen("t", "", "key-1")
        await threads.append(connection, scope, opened, [NewTurn("c1", "user", SAID, NOW, 7, 8)], now=NOW)
        await memories.retain(connection, scope, [NewMemory(KNOWN, "m1", NOW)], now=NOW)
    document = NewDocument("a.md", "Ferries", "text/markdown", sha256(READ.encode()).digest(), (NewChunk(READ, ""),))
    prepared = await documents.prepare(document)
    async with tenant_scoped(pools.background, scope.tenant_id) as connection:
        base = await documents.ensure_base(connection, scope.tenant_id, f"of {scope.owner_id}", now=NOW)
        await documents.put(connection, scope.tenant_id, base.base_id, prepared, now=NOW)


async def recalled(pools: Pools, scope: Scope = SCOPE) -> dict[str, int | None]:
    """Return the marks that recall tells of each text about the ferry."""
    async with scoped(pools.turn, scope, read_only=True) as connection:
        found: list[Any] = [*(await threads.recall(connection, scope, "t", _WANTED)).texts]
        found += (await memories.recall(connection, scope, _WANTED)).texts
    async with tenant_scoped(pools.turn, scope.tenant_id, read_only=True) as connection:
        base = await documents.get_base(connection, scope.tenant_id, f"of {scope.owner_id}")
        assert base is not None
        found += (await documents.recall(connection, scope.tenant_id, [base.base_id], _WANTED)).texts
    return {one.text: one.marks for one in found}


@pytest.fixture
async def texts(pools: Pools) -> Pools:
    """Pools on a database with texts of three owners in two tenants."""
    for scope in (SCOPE, NEIGHBOUR, STRANGER):
        await put(pools, scope)
    return pools


async def forget_marks(database: str, marks: str = "NULL") -> None:
    """Leave the rows as a release wrote them that knows no marks, or others."""
    for table in ("turns", "memories", "chunks"):
        await fetch(database, f"UPDATE {table} SET marks = {marks}")


async def test_marks_are_written_with_a_text_and_recalled_with_it(texts: Pools) -> None:
    found = await recalled(texts)
    assert found == {text: marks_of(text) for text in (SAID, KNOWN, READ)}
    assert MARKS[found[SAID]] == Marks(1, 2, 1)


async def test_edited_memory_gets_the_marks_of_its_new_text(texts: Pools) -> None:
    edited = "Does the ferry leave?"
    async with scoped(texts.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory(edited, "m1", NOW)], now=NOW)
    assert (await recalled(texts))[edited] == marks_of(edited) != marks_of(KNOWN)


async def test_forgotten_turn_keeps_nothing_of_its_text(texts: Pools, database: str) -> None:
    async with scoped(texts.background, SCOPE) as connection:
        [row] = await connection.fetch("SELECT turn_id FROM turns")
        await threads.empty_turns(connection, SCOPE, [row["turn_id"]])
    [row] = await fetch(database, "SELECT text, marks FROM turns WHERE owner_id = $1 AND tenant_id = $2", *_ids(SCOPE))
    assert (row["text"], row["marks"]) == ("", marks_of(""))


async def test_missing_marks_are_filled_in_for_every_owner_and_base(texts: Pools, database: str) -> None:
    await forget_marks(database)
    assert set((await recalled(texts)).values()) == {None}
    while await derived.mark_some(texts.background):
        pass
    rows = await fetch(database, TEXTS)
    assert len(rows) == 9
    assert all(row["marks"] == marks_of(row["text"]) for row in rows)
    assert await derived.mark_some(texts.background) == 0


async def test_existing_marks_are_not_rewritten(texts: Pools, database: str) -> None:
    await forget_marks(database, "7")
    assert await derived.mark_some(texts.background) == 0
    assert {row["marks"] for row in await fetch(database, TEXTS)} == {7}


async def test_text_that_is_edited_meanwhile_gets_the_marks_of_its_edit(texts: Pools, database: str) -> None:
    await forget_marks(database)
    edited = "Does the ferry leave?"
    async with scoped(texts.background, SCOPE, role=DatabaseRole.WORKER) as connection:
        await memories.retain(connection, SCOPE, [NewMemory(edited, "m1", NOW)], now=NOW)
        assert await derived.mark_some(texts.background) > 0
    while await derived.mark_some(texts.background):
        pass
    rows = await fetch(database, TEXTS)
    assert edited in {row["text"] for row in rows}
    assert all(row["marks"] == marks_of(row["text"]) for row in rows)


def _ids(scope: Scope) -> tuple[UUID, UUID]:
    return scope.owner_id, scope.tenant_id
