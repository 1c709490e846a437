"""A turn that read a memory before it was forgotten, and is written down after: its receipt keeps none of the words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from compiler import forgetting
from sidecar.recorder import Recorder
from store import forgotten, memories, owners, receipts, tenants
from store.memories import NewMemory
from store.postgres import Pools, scoped, tenant_scoped
from store.receipts import NewReceipt
from store.scope import Scope
from store.texts import text_hash
from tests.integration.compiling import NOW, Clock

MARA, NOOR = Scope(UUID(int=1), UUID(int=11)), Scope(UUID(int=1), UUID(int=12))
TAKEN_MS = 400.0
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = ("
WAITING += "SELECT oid FROM pg_database WHERE datname = current_database())"


@pytest.fixture
async def recorder(pools: Pools) -> AsyncIterator[Recorder]:
    """A recorder at work, in a tenant with one memory of either owner."""
    async with tenant_scoped(pools.background, MARA.tenant_id) as connection:
        await tenants.ensure_tenant(connection, MARA.tenant_id, now=NOW)
    for scope in (MARA, NOOR):
        async with scoped(pools.background, scope) as connection:
            await memories.retain(connection, scope, [NewMemory("The vault opens with 4417.", "m1")], now=NOW)
    recorder = Recorder(pools.background, capacity=500, keep_texts_days=7, clock=Clock())
    task = asyncio.create_task(recorder.run())
    yield recorder
    task.cancel()
    await asyncio.wait([task])


def a_receipt(*refs: tuple[str, str], text: str = "", scope: Scope = MARA, ended_s: float = 0.0) -> NewReceipt:
    """Return the receipt of a turn that took 400 ms and kept one text, resting on these."""
    said = text or f"words {uuid4()}"
    item = {"text": text_hash(said).hex(), "lead": "", "header": "Vaults", "id": "x"}
    item["provenance"] = [[kind, ref, "The vault"] for kind, ref in refs]  # type: ignore[assignment]  # a row is JSON
    details: dict[str, Any] = {"sources": [{"source": "memory", "items": [item]}, {"source": "wiki", "items": []}]}
    at = NOW + timedelta(seconds=ended_s)
    return NewReceipt(scope, uuid4(), "a", "t", "gpt-4o", False, TAKEN_MS, details, {text_hash(said): said}, at)


def take(recorder: Recorder, receipt: NewReceipt) -> NewReceipt:
    recorder.record(receipt.scope, receipt.receipt_id, lambda: receipt)
    return receipt


async def forget(pools: Pools, memory_id: str = "m1", *, scope: Scope = MARA, at_s: float = 0.0) -> None:
    now = NOW + timedelta(seconds=at_s)
    async with scoped(pools.background, scope) as connection:
        await memories.forget(connection, scope, memory_id)
        await forgetting.forget(connection, scope, [memory_id], now=now)


async def is_kept(pools: Pools, receipt: NewReceipt) -> bool:
    """Return whether the receipt's text is kept; its heading and labels stand or fall with it."""
    async with scoped(pools.background, receipt.scope, read_only=True) as connection:
        texts = await receipts.texts(connection, receipt.scope.tenant_id, list(receipt.texts), now=NOW)
        stored = await receipts.get(connection, receipt.scope, receipt.receipt_id)
    assert stored is not None
    (item,) = stored.details["sources"][0]["items"]
    labels = {item["header"], *(label for _, _, label in item["provenance"])}
    assert labels == ({"Vaults", "The vault"} if texts else {""})
    return bool(texts)


async def test_what_was_forgotten_between_a_turn_and_its_receipt_is_not_kept(pools: Pools, recorder: Recorder) -> None:
    await forget(pools, at_s=-0.2)  # in the middle of the turn
    late = take(recorder, a_receipt(("memory", "m1")))
    both = take(recorder, a_receipt(("memory", "m0"), ("memory", "m1")))
    others = take(recorder, a_receipt(("memory", "m0")))
    neighbour = take(recorder, a_receipt(("memory", "m1"), scope=NOOR))
    anew = take(recorder, a_receipt(("memory", "m1"), ended_s=60.0))
    await recorder.wait_written()
    assert [await is_kept(pools, one) for one in (late, both, others, neighbour, anew)] == [
        False,
        False,
        True,
        True,
        True,
    ]


async def test_a_page_as_it_stood_before_it_was_made_anew_is_not_kept_either(pools: Pools, recorder: Recorder) -> None:
    page_id = uuid4()
    async with scoped(pools.background, MARA) as connection:
        await forgotten.note(connection, MARA, ["m1"], [page_id], now=NOW)
    late = take(recorder, a_receipt(("page", str(page_id))))
    namesake = take(recorder, a_receipt(("memory", str(page_id))))
    await recorder.wait_written()
    assert [await is_kept(pools, one) for one in (late, namesake)] == [False, True]


@asynccontextmanager
async def open_forgetting(pools: Pools) -> AsyncIterator[None]:
    """Forget the memory in a transaction that ends with the block."""
    async with scoped(pools.background, MARA) as connection:
        await memories.forget(connection, MARA, "m1")
        await forgetting.forget(connection, MARA, ["m1"], now=NOW)
        yield


async def someone_waits(database: str) -> None:
    """Return once a session waits for another's hold."""
    connection = await asyncpg.connect(database)
    try:
        while not await connection.fetchval(WAITING):
            await asyncio.sleep(0.01)
    finally:
        await connection.close()


async def test_a_receipt_waits_for_who_is_forgetting(pools: Pools, recorder: Recorder, database: str) -> None:
    async with open_forgetting(pools):
        late = take(recorder, a_receipt(("memory", "m1")))
        await someone_waits(database)
    await recorder.wait_written()
    assert not await is_kept(pools, late)


async def test_who_forgets_waits_for_a_receipt_that_is_being_written(
    pools: Pools, recorder: Recorder, database: str
) -> None:
    early = a_receipt(("memory", "m1"))
    async with scoped(pools.background, MARA) as connection:
        assert await forgotten.admit(connection, MARA, [early]) == [early]
        await receipts.keep_texts(connection, MARA.tenant_id, early.texts, until=NOW + timedelta(days=1))
        await receipts.insert(connection, [early])
        forgetting_it = asyncio.create_task(forget(pools))
        await someone_waits(database)
    await forgetting_it
    assert not await is_kept(pools, early)


async def test_turns_and_forgetting_at_once_leave_no_word(pools: Pools, recorder: Recorder) -> None:
    """Whatever comes first: thirty memories are forgotten while two hundred turns that read them are written down."""
    taken: list[NewReceipt] = []

    async def turns() -> None:
        for number in range(200):
            taken.append(take(recorder, a_receipt(("memory", f"n{number % 30}"))))
            await asyncio.sleep(0)

    async def all_forgotten() -> None:
        for number in range(30):
            await forget(pools, f"n{number}")

    await asyncio.gather(turns(), all_forgotten())
    await recorder.wait_written()
    assert {await is_kept(pools, one) for one in taken} == {False}


async def test_an_owner_who_is_forgotten_gets_no_receipt_of_a_turn_that_was_under_way(
    pools: Pools, recorder: Recorder, database: str
) -> None:
    async with scoped(pools.background, MARA) as connection:
        await owners.forget(connection, MARA, now=NOW)
    late = take(recorder, a_receipt(("memory", "m1")))
    anew = take(recorder, a_receipt(("memory", "m1"), ended_s=60.0))
    neighbour = take(recorder, a_receipt(("memory", "m1"), scope=NOOR))
    await recorder.wait_written()
    connection = await asyncpg.connect(database)
    written = {row["receipt_id"] for row in await connection.fetch("SELECT receipt_id FROM receipts")}
    await connection.close()
    assert written == {anew.receipt_id, neighbour.receipt_id}
    assert late.receipt_id not in written


async def test_notes_bear_no_id_and_are_let_go(pools: Pools, recorder: Recorder, database: str) -> None:
    await forget(pools)
    connection = await asyncpg.connect(database)
    (first,) = await connection.fetch("SELECT t::text AS row FROM forgotten_refs t")
    assert "m1" not in first["row"]
    assert str(MARA.owner_id) not in first["row"]
    await forget(pools, "m2", at_s=7200.0)
    assert len(await connection.fetch("SELECT 1 FROM forgotten_refs")) == 1
    await connection.close()
