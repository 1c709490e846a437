"""The receipt writer on Postgres: written behind the answer, kept back while the database is away, dropped when full."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID, uuid4

import pytest

from sidecar.context.receipt_writer import ReceiptWriter, sweep_texts
from store.accounting import receipts
from store.accounting.receipts import NewReceipt, StoredReceipt
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import text_hash
from tests.support.store.locking import locked
from tests.support.store.notes import OURS, as_admin
from tests.support.waiting import until, until_equal

MARA, NOOR = Scope(UUID(int=1), UUID(int=11)), Scope(UUID(int=1), UUID(int=12))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Day:
    """A clock whose hands are set."""

    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
async def clock(pools: Pools) -> Day:
    async with tenant_scoped(pools.background, MARA.tenant_id) as connection:
        await tenants.ensure_tenant(connection, MARA.tenant_id, now=NOW)
    return Day()


def recorder_of(pools: Pools, clock: Day, *, capacity: int = 100) -> ReceiptWriter:
    return ReceiptWriter(pools.background, capacity=capacity, keep_texts_days=7, clock=clock)


@asynccontextmanager
async def writing(recorder: ReceiptWriter) -> AsyncIterator[None]:
    """Let the writer run."""
    task = asyncio.create_task(recorder.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


def a_receipt(scope: Scope = MARA, text: str = "a text", model_id: str = "gpt-4o") -> NewReceipt:
    named = {text_hash(text): text}
    return NewReceipt(scope, uuid4(), "planner", "t", model_id, False, 1.5, {"said": text}, named, NOW)


def take(recorder: ReceiptWriter, receipt: NewReceipt, make: Callable[[], NewReceipt] | None = None) -> NewReceipt:
    recorder.record(receipt.scope, receipt.receipt_id, make or (lambda: receipt))
    return receipt


async def stored(pools: Pools, receipt: NewReceipt, scope: Scope | None = None) -> StoredReceipt | None:
    async with scoped(pools.turn, scope or receipt.scope, read_only=True) as connection:
        return await receipts.get(connection, scope or receipt.scope, receipt.receipt_id)


async def kept_texts(pools: Pools, *said: str, now: datetime = NOW) -> set[str]:
    async with scoped(pools.turn, MARA, read_only=True) as connection:
        kept = await receipts.texts(connection, MARA, [text_hash(text) for text in said], now=now)
    return set(kept.values())


async def test_receipts_of_many_owners_are_written_with_their_texts(pools: Pools, clock: Day) -> None:
    recorder = recorder_of(pools, clock, capacity=140)
    taken = [take(recorder, a_receipt(scope, f"text {n}")) for n in range(70) for scope in (MARA, NOOR)]
    async with writing(recorder):
        await recorder.wait_written()
    for receipt in taken:
        found = await stored(pools, receipt)
        assert found is not None
        assert (found.details, found.duration_ms) == (receipt.details, 1.5)
        assert await stored(pools, receipt, NOOR if receipt.scope == MARA else MARA) is None
    assert await kept_texts(pools, "text 0", "text 69", "never said") == {"text 0", "text 69"}
    assert recorder.dropped_count == 0


async def test_waiting_for_one_receipt_waits_for_no_other(pools: Pools, clock: Day, database: str) -> None:
    recorder = recorder_of(pools, clock)
    receipt = take(recorder, a_receipt())
    assert recorder.settling(MARA, uuid4()) is None
    assert recorder.settling(NOOR, receipt.receipt_id) is None, "another owner learns nothing of it"
    settling = recorder.settling(MARA, receipt.receipt_id)
    assert settling is not None
    async with writing(recorder):
        await settling
        assert await stored(pools, receipt) is not None
    assert recorder.settling(MARA, receipt.receipt_id) is None


async def test_full_queue_drops_receipts_and_logs_which(pools: Pools, clock: Day) -> None:
    recorder = recorder_of(pools, clock, capacity=2)
    kept, also_kept, dropped = (take(recorder, a_receipt()) for _ in range(3))
    async with writing(recorder):
        await recorder.wait_written()
    assert [await stored(pools, one) is None for one in (kept, also_kept, dropped)] == [False, False, True]
    assert recorder.was_dropped(MARA, dropped.receipt_id)
    assert not recorder.was_dropped(MARA, kept.receipt_id)
    assert not recorder.was_dropped(NOOR, dropped.receipt_id)
    assert recorder.dropped_count == 1


async def test_receipts_wait_while_the_database_is_away(
    database: str, clock: Day, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    address = urlsplit(database)
    socket_dir, door = Path(parse_qs(address.query)["host"][0]), tmp_path / ".s.PGSQL.5432"
    door.symlink_to(socket_dir / door.name)
    by_the_door = database.replace(str(socket_dir), str(tmp_path))
    pools = await open_pools(by_the_door, PoolsConfig(turn_connections=1, background_connections=1))
    recorder = recorder_of(pools, clock)
    door.unlink()
    await as_admin(database, f"SELECT count(pg_terminate_backend(pid)) {OURS} AND pid <> pg_backend_pid()")
    async with writing(recorder):
        receipt = take(recorder, a_receipt())
        while "receipts_wait" not in caplog.messages:
            await as_admin(database, "SELECT 1")
        door.symlink_to(socket_dir / door.name)
        await recorder.wait_written()
    assert await stored(pools, receipt) is not None
    assert recorder.dropped_count == 0
    await pools.close()


async def test_receipts_wait_while_their_table_is_locked(
    database: str, clock: Day, caplog: pytest.LogCaptureFixture
) -> None:
    config = PoolsConfig(turn_connections=1, background_connections=1, query_deadline_s=0.5)
    pools = await open_pools(database, config)
    recorder = recorder_of(pools, clock)
    async with writing(recorder):
        async with locked(database, "receipts"):
            receipt = take(recorder, a_receipt())
            await until(lambda: "receipts_wait" in caplog.messages, patience_s=60.0)
        await recorder.wait_written()
    assert await stored(pools, receipt) is not None
    assert recorder.dropped_count == 0
    await pools.close()


async def test_unstorable_receipt_is_dropped_alone(pools: Pools, clock: Day) -> None:
    recorder = recorder_of(pools, clock)
    good, bad, other = a_receipt(), a_receipt(model_id="NUL \0"), a_receipt(NOOR)
    async with writing(recorder):
        for receipt in (good, bad, other):
            take(recorder, receipt)
        await recorder.wait_written()
    assert await stored(pools, other) is not None
    assert await stored(pools, good) is not None
    assert recorder.was_dropped(MARA, bad.receipt_id)
    assert recorder.dropped_count == 1


async def test_receipt_that_cannot_be_made_is_dropped_alone_with_a_reason(
    pools: Pools, clock: Day, caplog: pytest.LogCaptureFixture
) -> None:
    recorder = recorder_of(pools, clock)

    def failing() -> NewReceipt:
        raise KeyError("sources")

    before, broken, after = (
        take(recorder, a_receipt()),
        take(recorder, a_receipt(), failing),
        take(recorder, a_receipt()),
    )
    async with writing(recorder):
        await recorder.wait_written()
        assert recorder.settling(MARA, broken.receipt_id) is None
    assert [await stored(pools, one) is None for one in (before, broken, after)] == [False, True, False]
    assert recorder.was_dropped(MARA, broken.receipt_id)
    assert recorder.dropped_count == 1
    (said,) = [record for record in caplog.records if record.message == "receipt_not_made"]
    assert said.error == "KeyError"  # type: ignore[attr-defined]  # a field of the event
    assert said.exc_info is not None


async def test_text_deleted_elsewhere_is_stored_again_with_the_next_receipt(pools: Pools, clock: Day) -> None:
    recorder = recorder_of(pools, clock)
    async with writing(recorder):
        take(recorder, a_receipt())
        await recorder.wait_written()
        async with scoped(pools.background, MARA) as connection:
            await receipts.forget_texts(connection, MARA, [text_hash("a text")])
        assert not await kept_texts(pools, "a text")
        take(recorder, a_receipt(NOOR))
        await recorder.wait_written()
        assert not await kept_texts(pools, "a text")
        take(recorder, a_receipt())
        await recorder.wait_written()
    assert await kept_texts(pools, "a text") == {"a text"}


async def test_text_is_kept_seven_days_after_its_last_receipt(pools: Pools, clock: Day) -> None:
    recorder = recorder_of(pools, clock)
    async with writing(recorder):
        take(recorder, a_receipt())
        await recorder.wait_written()
        clock.now = NOW + timedelta(days=5)
        take(recorder, a_receipt())
        await recorder.wait_written()
    assert await kept_texts(pools, "a text", now=NOW + timedelta(days=11)) == {"a text"}
    assert not await kept_texts(pools, "a text", now=NOW + timedelta(days=12, hours=1))


async def test_expired_texts_are_swept_repeatedly(pools: Pools, clock: Day, database: str) -> None:
    recorder = recorder_of(pools, clock)
    async with writing(recorder):
        take(recorder, a_receipt(text="old"))
        await recorder.wait_written()
        clock.now = NOW + timedelta(days=8)
        take(recorder, a_receipt(text="new"))
        take(recorder, a_receipt(NOOR, text="new"))
        await recorder.wait_written()
    sweeping = asyncio.create_task(sweep_texts(pools.background, clock=clock, every_s=0))
    await _until_texts(database, ["new"])
    clock.now = NOW + timedelta(days=20)
    await _until_texts(database, [])
    assert not sweeping.done(), "it goes on"
    sweeping.cancel()
    await asyncio.wait([sweeping])
    assert sweeping.cancelled()


async def test_many_expired_texts_of_an_owner_go_in_pieces_without_a_pause(
    pools: Pools, clock: Day, database: str
) -> None:
    await as_admin(
        database,
        f"""INSERT INTO receipt_texts (tenant_id, owner_id, text_hash, text, kept_until)
            SELECT '{MARA.tenant_id}', '{MARA.owner_id}', int4send(number), 'old', '{NOW - timedelta(days=1)}'
            FROM generate_series(1, 1700) number""",
    )
    async with scoped(pools.background, MARA) as connection:
        assert await receipts.delete_expired_texts(connection, MARA, now=NOW) == 500
    sweeping = asyncio.create_task(sweep_texts(pools.background, clock=clock, every_s=3600))
    await _until_texts(database, [])
    sweeping.cancel()
    await asyncio.wait([sweeping])


async def _until_texts(database: str, wanted: list[str]) -> None:
    texts = "SELECT coalesce(array_agg(DISTINCT text), '{}') FROM receipt_texts"
    await until_equal(lambda: as_admin(database, texts), wanted)
