"""A turn that read a memory before it was forgotten, and is written down after: its receipt keeps none of the words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from compiler.job.reconciliation import reconcile
from compiler.passes import forgetting
from sidecar.context.receipt_writer import ReceiptWriter
from sidecar.rpc.admin import AdminService
from sidecar.rpc.memory import MemoryService
from sidecar.services.knowledge import Knowledge
from sidecar.services.memories import Memories
from sidecar.services.tenants import Tenants
from sidecar.v1 import admin_pb2, memory_pb2
from store.accounting import receipts
from store.accounting.receipts import NewReceipt
from store.content import memories
from store.content.memories import NewMemory
from store.content.standing import StatusDecision
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped, tenant_scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.tenancy import forgotten, owners, tenants
from store.tenancy.forgotten import Notes
from store.text.texts import text_hash
from tests.support.compiler.compiling import NOW, Clock, compiled, engine_on, fetch, journal, wish, write
from tests.support.rpc.service_calls import an_admin, an_agent
from tests.support.waiting import next_round, until

MARA, NOOR = Scope(UUID(int=1), UUID(int=11)), Scope(UUID(int=1), UUID(int=12))
TAKEN_MS = 400.0
WAITING = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND database = ("
WAITING += "SELECT oid FROM pg_database WHERE datname = current_database())"


@pytest.fixture
def clock() -> Clock:
    """The recorder's clock."""
    return Clock()


@pytest.fixture
async def recorder(pools: Pools, clock: Clock) -> AsyncIterator[ReceiptWriter]:
    """A recorder at work, in a tenant with one memory of either owner."""
    async with tenant_scoped(pools.background, MARA.tenant_id) as connection:
        await tenants.ensure_tenant(connection, MARA.tenant_id, now=NOW)
    for scope in (MARA, NOOR):
        async with scoped(pools.background, scope) as connection:
            await memories.retain(connection, scope, [NewMemory("The vault opens with 4417.", "m1")], now=NOW)
    recorder = ReceiptWriter(pools.background, capacity=500, keep_texts_days=7, clock=clock)
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


def take(recorder: ReceiptWriter, receipt: NewReceipt) -> NewReceipt:
    recorder.record(receipt.scope, receipt.receipt_id, lambda: receipt)
    return receipt


async def forget(pools: Pools, memory_id: str = "m1", *, scope: Scope = MARA, at_s: float = 0.0) -> None:
    clock = Clock(NOW + timedelta(seconds=at_s))
    async with scoped(pools.background, scope) as connection:
        await memories.forget_all(connection, scope, [memory_id])
        notes = await forgetting.forget(connection, scope, [memory_id], now=clock())
    async with scoped(pools.background, scope) as connection:
        await forgotten.date(connection, scope, notes, clock=clock)


async def is_kept(pools: Pools, receipt: NewReceipt) -> bool:
    """Return whether the receipt's text is kept; its heading and labels stand or fall with it."""
    async with scoped(pools.background, receipt.scope, read_only=True) as connection:
        texts = await receipts.texts(connection, receipt.scope, list(receipt.texts), now=NOW)
        stored = await receipts.get(connection, receipt.scope, receipt.receipt_id)
    assert stored is not None
    (item,) = stored.details["sources"][0]["items"]
    labels = {item["header"], *(label for _, _, label in item["provenance"])}
    assert labels == ({"Vaults", "The vault"} if texts else {""})
    return bool(texts)


async def test_memory_forgotten_between_a_turn_and_its_receipt_is_not_kept(
    pools: Pools, recorder: ReceiptWriter
) -> None:
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


async def test_page_rebuilt_between_a_turn_and_its_receipt_is_not_kept(pools: Pools, recorder: ReceiptWriter) -> None:
    page_id = uuid4()
    async with scoped(pools.background, MARA) as connection:
        await forgotten.note(connection, MARA, ["m1"], [page_id])
    late = take(recorder, a_receipt(("page", str(page_id))))
    namesake = take(recorder, a_receipt(("memory", str(page_id))))
    await recorder.wait_written()
    assert [await is_kept(pools, one) for one in (late, namesake)] == [False, True]


@asynccontextmanager
async def open_forgetting(pools: Pools) -> AsyncIterator[Notes]:
    """Forget the memory in a transaction that ends with the block; the notes of it have no date yet."""
    async with scoped(pools.background, MARA) as connection:
        await memories.forget_all(connection, MARA, ["m1"])
        yield await forgetting.forget(connection, MARA, ["m1"], now=NOW)


async def someone_waits(database: str) -> None:
    """Return once a session waits for another's hold."""
    connection = await asyncpg.connect(database)
    try:
        await until(lambda: connection.fetchval(WAITING))
    finally:
        await connection.close()


async def test_receipt_waits_for_a_running_forget(pools: Pools, recorder: ReceiptWriter, database: str) -> None:
    async with open_forgetting(pools):
        late = take(recorder, a_receipt(("memory", "m1")))
        await someone_waits(database)
    await recorder.wait_written()
    assert not await is_kept(pools, late)


async def test_turn_that_begins_during_an_uncommitted_forget_leaves_no_word(
    pools: Pools, database: str, clock: Clock, recorder: ReceiptWriter
) -> None:
    """However long it takes: the turn began a minute after the forgetting, and still read what was there."""
    async with open_forgetting(pools) as notes:
        clock.move(minutes=10)
        inside = take(recorder, a_receipt(("memory", "m1"), ended_s=60.0))
        await someone_waits(database)
    await recorder.wait_written()
    assert not await is_kept(pools, inside)
    async with scoped(pools.background, MARA) as connection:
        await forgotten.date(connection, MARA, notes, clock=clock)
    before, after = (take(recorder, a_receipt(("memory", "m1"), ended_s=600.0 + by_s)) for by_s in (0.0, 2.0))
    await recorder.wait_written()
    assert [await is_kept(pools, one) for one in (before, after)] == [False, True]


async def test_forget_without_a_date_costs_receipts_until_the_next_one_only(
    pools: Pools, clock: Clock, recorder: ReceiptWriter
) -> None:
    async with open_forgetting(pools):
        pass
    clock.move(minutes=10)
    first = take(recorder, a_receipt(("memory", "m1"), ended_s=700.0))
    await recorder.wait_written()
    second = take(recorder, a_receipt(("memory", "m1"), ended_s=700.0))
    await recorder.wait_written()
    assert [await is_kept(pools, one) for one in (first, second)] == [False, True]


@pytest.mark.usefixtures("recorder")
async def test_cached_answer_dates_the_notes_of_a_dead_process(pools: Pools, clock: Clock) -> None:
    async with open_forgetting(pools):
        pass
    told = []
    for _ in range(2):
        async with scoped(pools.background, MARA) as connection:
            told.append(await forgotten.lately(connection, MARA, [("memory", "m1")], now=clock()))
        clock.move(minutes=61)
    assert told == [[("memory", "m1")], []]


@pytest.mark.usefixtures("recorder")
async def test_previous_release_can_compare_a_note_without_a_date(pools: Pools, database: str, clock: Clock) -> None:
    """It goes on under this schema while replicas are replaced, and asks whether a note is of later than a turn."""
    async with open_forgetting(pools):
        pass
    notes = await fetch(database, "SELECT forgotten_at FROM forgotten_refs")
    assert {row["forgotten_at"] > clock() for row in notes} == {True}


async def test_owner_forgotten_slowly_gets_no_receipt(
    pools: Pools, clock: Clock, recorder: ReceiptWriter, database: str
) -> None:
    async with scoped(pools.background, MARA) as connection:
        await owners.forget(connection, MARA)
        clock.move(minutes=10)
        take(recorder, a_receipt(("memory", "m1"), ended_s=60.0))
        await someone_waits(database)
    await recorder.wait_written()
    anew = take(recorder, a_receipt(("memory", "m1"), ended_s=660.0))
    await recorder.wait_written()
    assert await written(database) == {anew.receipt_id}


async def test_forget_waits_for_a_receipt_being_written(pools: Pools, recorder: ReceiptWriter, database: str) -> None:
    early = a_receipt(("memory", "m1"))
    async with scoped(pools.background, MARA) as connection:
        assert await forgotten.admit(connection, MARA, [early], clock=Clock()) == [early]
        await receipts.keep_texts(connection, MARA, early.texts, until=NOW + timedelta(days=1))
        await receipts.insert(connection, [early])
        forgetting_it = asyncio.create_task(forget(pools))
        await someone_waits(database)
    await forgetting_it
    assert not await is_kept(pools, early)


async def test_concurrent_turns_and_forgets_leave_no_word(pools: Pools, recorder: ReceiptWriter) -> None:
    """Whatever comes first: thirty memories are forgotten while two hundred turns that read them are written down."""
    taken: list[NewReceipt] = []

    async def turns() -> None:
        for number in range(200):
            taken.append(take(recorder, a_receipt(("memory", f"n{number % 30}"))))
            await next_round()

    async def all_forgotten() -> None:
        for number in range(30):
            await forget(pools, f"n{number}")

    await asyncio.gather(turns(), all_forgotten())
    await recorder.wait_written()
    assert {await is_kept(pools, one) for one in taken} == {False}


async def test_forgotten_owner_gets_no_receipt_of_a_turn_in_progress(
    pools: Pools, recorder: ReceiptWriter, database: str
) -> None:
    async with scoped(pools.background, MARA) as connection:
        await owners.forget(connection, MARA)
    async with scoped(pools.background, MARA) as connection:
        await forgotten.date_owner(connection, MARA, clock=Clock())
    late = take(recorder, a_receipt(("memory", "m1")))
    anew = take(recorder, a_receipt(("memory", "m1"), ended_s=60.0))
    neighbour = take(recorder, a_receipt(("memory", "m1"), scope=NOOR))
    await recorder.wait_written()
    assert await written(database) == {anew.receipt_id, neighbour.receipt_id}
    assert recorder.was_dropped(MARA, late.receipt_id)
    assert not recorder.was_dropped(MARA, anew.receipt_id)
    assert recorder.dropped_count == 1


async def test_forgotten_owner_without_rows_gets_no_receipt_of_a_turn_in_progress(
    pools: Pools, recorder: ReceiptWriter, database: str
) -> None:
    ann = Scope(tenant_uuid("acme"), owner_uuid("ann"))
    async with tenant_scoped(pools.background, ann.tenant_id) as connection:
        await tenants.ensure_tenant(connection, ann.tenant_id, now=NOW)
    forgotten_counts = await AdminService(Tenants(pools, now=Clock())).forget_owner(
        admin_pb2.ForgetOwnerRequest(owner_id="ann"), an_admin()
    )
    assert not forgotten_counts.row_counts
    late = take(recorder, a_receipt(scope=ann))
    anew = take(recorder, a_receipt(scope=ann, ended_s=60.0))
    await recorder.wait_written()
    assert await written(database) == {anew.receipt_id}
    assert recorder.was_dropped(ann, late.receipt_id)


async def test_clock_margin_applies_only_to_forgets_of_other_processes(
    pools: Pools, recorder: ReceiptWriter, database: str
) -> None:
    await forget(pools)
    own = take(recorder, a_receipt(("memory", "m1"), ended_s=0.5))
    await recorder.wait_written()
    await fetch(database, "UPDATE forgotten_refs SET dated_by = $1", uuid4())
    foreign = [take(recorder, a_receipt(("memory", "m1"), ended_s=ended_s)) for ended_s in (1.3, 1.5)]
    await recorder.wait_written()
    assert await is_kept(pools, own)
    assert [await is_kept(pools, one) for one in foreign] == [False, True]


async def written(database: str) -> set[UUID]:
    """Return the ids of all receipts."""
    return {row["receipt_id"] for row in await fetch(database, "SELECT receipt_id FROM receipts")}


async def test_every_caller_of_forget_gives_its_time(pools: Pools, database: str) -> None:
    ann, clock = Scope(tenant_uuid("acme"), owner_uuid("ann")), Clock()
    await write(pools, journal(12), scope=ann)
    await wish(pools, scope=ann)
    await compiled(pools, engine_on(pools, clock=clock), scope=ann)

    async def dated() -> int:
        counts = "SELECT count(*), count(*) FILTER (WHERE forgotten_at > '9000-01-01') AS undated FROM forgotten_refs"
        (row,) = await fetch(database, counts)
        assert row["undated"] == 0
        return int(row["count"])

    service = MemoryService(Memories(pools, now=clock))
    await service.delete_memory(memory_pb2.DeleteMemoryRequest(memory_id="m00001"), an_agent())
    by_hand = await dated()
    clock.move(minutes=6)
    await compiled(pools, engine_on(pools, clock=clock), scope=ann)
    await dated()
    await fetch(database, "DELETE FROM memories WHERE memory_id = 'm00003'")
    await reconcile(engine_on(pools, clock=clock), pools.background, ann)
    by_sweep = await dated()
    await AdminService(Tenants(pools, now=clock)).forget_owner(admin_pb2.ForgetOwnerRequest(owner_id="ann"), an_admin())
    assert 0 < by_hand < by_sweep < await dated()


async def test_receipts_keep_the_words_of_a_memory_that_is_rejected_until_it_is_forgotten(
    pools: Pools, recorder: ReceiptWriter, database: str
) -> None:
    clock = Clock()
    service, engine = Memories(pools, now=clock), engine_on(pools, clock=clock)
    await write(pools, journal(12))
    await wish(pools)
    await compiled(pools, engine)
    sources = await fetch(database, "SELECT page_id FROM wiki_section_sources WHERE source_ref = 'm00001' LIMIT 1")
    of_memory = take(recorder, a_receipt(("memory", "m00001")))
    of_page = take(recorder, a_receipt(("page", str(sources[0]["page_id"]))))
    await recorder.wait_written()
    await service.set_status(MARA, "m00001", StatusDecision(MemoryStatus.REJECTED, "admin", "wrong"))
    clock.move(minutes=6)
    await compiled(pools, engine)
    assert not await fetch(database, "SELECT 1 FROM wiki_section_sources WHERE source_ref = 'm00001'")
    assert [await is_kept(pools, one) for one in (of_memory, of_page)] == [True, True]
    await service.forget(MARA, "m00001")
    assert not await is_kept(pools, of_memory)


async def test_deleted_document_is_in_no_receipt_even_if_the_first_call_was_cut_off(
    pools: Pools, recorder: ReceiptWriter
) -> None:
    def end(scope: Scope) -> None:
        raise asyncio.CancelledError

    guide_id = await ingest_guide(pools)
    early = [take(recorder, a_receipt(("document", guide_id), scope=scope)) for scope in (MARA, NOOR)]
    await recorder.wait_written()
    with pytest.raises(asyncio.CancelledError):
        await knowledge(pools, end).delete_document(MARA.tenant_id, "guides", "a.md")
    await knowledge(pools).delete_document(MARA.tenant_id, "guides", "a.md")
    assert [await is_kept(pools, one) for one in early] == [False, False]


async def test_document_deleted_during_an_owners_first_turn_is_not_in_its_receipt(
    pools: Pools, recorder: ReceiptWriter
) -> None:
    guide_id = await ingest_guide(pools)
    await knowledge(pools).delete_document(MARA.tenant_id, "guides", "a.md")
    late, anew = (take(recorder, a_receipt(("document", guide_id), ended_s=ended_s)) for ended_s in (0.0, 60.0))
    await recorder.wait_written()
    assert [await is_kept(pools, one) for one in (late, anew)] == [False, True]


def knowledge(pools: Pools, on_forgotten: Callable[[Scope], None] = lambda _: None) -> Knowledge:
    return Knowledge(pools, now=Clock(), count=lambda texts: [1 for _ in texts], on_forgotten=on_forgotten)


async def ingest_guide(pools: Pools) -> str:
    """Ingest a document, and return its id."""
    service, tenant_id = knowledge(pools), MARA.tenant_id
    await service.create_base(tenant_id, "guides", "")
    document, _ = await service.ingest(tenant_id, "guides", "a.md", b"The ferry leaves at nine.", is_large=False)
    return str(document.document_id)


async def test_forget_notes_hold_no_id_and_expire(pools: Pools, recorder: ReceiptWriter, database: str) -> None:
    await forget(pools)
    connection = await asyncpg.connect(database)
    noted = await connection.fetch("SELECT t::text AS row FROM forgotten_refs t")
    assert len(noted) == 2, "the memory, and that anything of the owner's was forgotten"
    for name in ("m1", str(MARA.owner_id)):
        assert not [row for row in noted if name in row["row"]]
    await forget(pools, "m2", at_s=7200.0)
    assert len(await connection.fetch("SELECT 1 FROM forgotten_refs")) == 2
    await connection.close()
