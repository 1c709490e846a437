"""The memory service on Postgres: requests as agents and admins send them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.rpc.memory import SERVICE, MemoryService
from sidecar.rpc.transport.call import Call, behaviours_of
from sidecar.rpc.transport.paging import MAX_PAGE_BYTES
from sidecar.rpc.transport.validation import write_struct, write_time
from sidecar.runtime.errors import NotFound, ScopeForbidden
from sidecar.services.memories import Memories
from sidecar.v1 import memory_pb2 as pb
from sidecar.v1.context_pb2 import NotifyOutcome
from store.compile import scopes
from store.content import memories
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.compiling import Clock, until_lock_wait
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, now, refused, refused_field


@pytest.fixture
def service(pools: Pools) -> MemoryService:
    return MemoryService(Memories(pools, now=now))


async def retain(service: MemoryService, call: Call, *memories: pb.NewMemory, **scope: str) -> pb.RetainResponse:
    return await service.retain(pb.RetainRequest(memories=memories, **scope), call)


async def list_all(service: MemoryService, call: Call, page_size: int) -> list[pb.Memory]:
    listed: list[pb.Memory] = []
    token = ""
    while True:
        page = await service.list_memories(pb.ListMemoriesRequest(page_size=page_size, page_token=token), call)
        assert len(page.memories) <= page_size
        listed += page.memories
        token = page.next_page_token
        if not token:
            return listed


def test_memory_service_has_every_method_of_the_contract(service: MemoryService) -> None:
    assert set(behaviours_of(SERVICE, service)) == set(SERVICE.methods_by_name)


async def test_page_of_large_memories_fits_a_message_and_has_a_token_for_the_rest(service: MemoryService) -> None:
    large = [pb.NewMemory(memory_id=f"m{at}", text="🐟" * 100_000) for at in range(45)]
    for some in (large[:20], large[20:]):
        await retain(service, an_agent(), *some)
    first = await service.list_memories(pb.ListMemoriesRequest(page_size=1_000), an_agent())
    assert 15 * 2**20 < first.ByteSize() <= MAX_PAGE_BYTES + 100_000
    assert 0 < len(first.memories) < len(large)
    listed = await list_all(service, an_agent(), 1_000)
    assert sorted(one.memory_id for one in listed) == sorted(one.memory_id for one in large)


async def test_memory_survives_a_round_trip(service: MemoryService) -> None:
    sent = pb.NewMemory(
        memory_id="m1",
        text="Ate sardines 🐟.",
        occurred_time=write_time(datetime(2025, 7, 1, 20, 15, tzinfo=UTC)),
        document_id="journal/7",
        metadata=write_struct({"place": {"city": "Lisboa", "lat": 38.7}, "tags": ["food"], "n": 3}),
        turn_ids=["b", "a"],
    )
    answer = await retain(service, an_agent(), sent)
    assert (list(answer.memory_ids), answer.created_count, answer.updated_count) == (["m1"], 1, 0)
    stored = (await service.get_memory(pb.GetMemoryRequest(memory_id="m1"), an_agent())).memory
    for field in ("memory_id", "text", "occurred_time", "document_id", "metadata", "turn_ids"):
        assert getattr(stored, field) == getattr(sent, field)
    assert stored.create_time == stored.update_time == write_time(NOW)
    again = await retain(service, an_agent(), sent)
    assert (again.created_count, again.updated_count) == (0, 0)


async def test_write_reports_the_outcome_of_its_compile_request(service: MemoryService, pools: Pools) -> None:
    async def outcome(text: str) -> str:
        answer = await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text=text))
        return NotifyOutcome.Name(answer.compile_outcome).removeprefix("NOTIFY_OUTCOME_")

    told = [await outcome(text) for text in ("Likes rain.", "Likes rain.", "Likes sun.")]
    async with scoped(pools.background, Scope(tenant_uuid("acme"), owner_uuid("ann"))) as connection:
        await connection.execute("UPDATE tenants SET wiki_compile_enabled = false")
    assert [*told, await outcome("Likes snow.")] == ["ENQUEUED", "UNSPECIFIED", "DEDUPED", "SKIPPED_FLAG_OFF"]


async def test_failure_to_queue_a_compile_fails_no_write(service: MemoryService, database: str) -> None:
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("ALTER TABLE wiki_compile_jobs RENAME TO elsewhere")
    finally:
        await connection.close()
    answer = await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Likes rain."))
    assert answer.compile_outcome == NotifyOutcome.NOTIFY_OUTCOME_FAILED
    assert (await service.get_memory(pb.GetMemoryRequest(memory_id="m1"), an_agent())).memory.text == "Likes rain."


async def test_absent_instant_means_now(service: MemoryService) -> None:
    (memory_id,) = (await retain(service, an_agent(), pb.NewMemory(text="Likes rain."))).memory_ids
    stored = (await service.get_memory(pb.GetMemoryRequest(memory_id=memory_id), an_agent())).memory
    assert stored.occurred_time == write_time(NOW)


async def test_pages_list_every_memory_once(service: MemoryService) -> None:
    given = [
        pb.NewMemory(memory_id=f"m{n:02}", text=f"Note {n}.", occurred_time=Timestamp(seconds=n // 3))
        for n in range(20)
    ]
    await retain(service, an_agent(), *given)
    expected = sorted(given, key=lambda one: (-one.occurred_time.seconds, one.memory_id))
    for page_size in (1, 7, 19, 20, 21):
        listed = await list_all(service, an_agent(), page_size)
        assert [one.memory_id for one in listed] == [one.memory_id for one in expected]


async def test_page_token_is_valid_for_its_owner_only(service: MemoryService) -> None:
    await retain(service, an_agent(), pb.NewMemory(text="One."), pb.NewMemory(text="Two."))
    page = await service.list_memories(pb.ListMemoriesRequest(page_size=1), an_agent())
    foreign = pb.ListMemoriesRequest(page_size=1, page_token=page.next_page_token)
    assert await refused_field(service.list_memories(foreign, an_agent("bob"))) == "page_token"
    assert await refused_field(service.list_memories(foreign, an_agent(tenant="globex"))) == "page_token"
    assert len((await service.list_memories(foreign, an_agent())).memories) == 1


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
async def test_memory_at_either_end_of_time_is_read_as_an_instant(
    service: MemoryService, pools: Pools, moment: datetime
) -> None:
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Long ago.", occurred_time=write_time(moment)))
    scope = Scope(tenant_uuid("acme"), owner_uuid("ann"))
    async with scoped(pools.background, scope) as connection:
        stored = await memories.get(connection, scope, "m1")
    assert stored is not None
    assert stored.occurred_at.utcoffset() == timedelta(0)


async def test_forgotten_memory_is_not_found_and_forgetting_is_idempotent(service: MemoryService) -> None:
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="4711"))
    for _ in range(2):
        await service.delete_memory(pb.DeleteMemoryRequest(memory_id="m1"), an_agent())
    error = await refused(service.get_memory(pb.GetMemoryRequest(memory_id="m1"), an_agent()))
    assert isinstance(error, NotFound)
    assert error.kind == "memory"


async def test_memory_is_forgotten_as_of_the_end_of_waiting_for_locks(pools: Pools, database: str) -> None:
    """A turn reads it until then, and what it read is not kept for being younger than the wish."""
    clock, scope = Clock(NOW), Scope(tenant_uuid("acme"), owner_uuid("ann"))
    service = MemoryService(Memories(pools, now=clock))
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="4711"))
    watching = await asyncpg.connect(database)
    async with scoped(pools.background, scope) as connection:
        await scopes.lock(connection, scope, now=NOW)
        asked = asyncio.create_task(service.delete_memory(pb.DeleteMemoryRequest(memory_id="m1"), an_agent()))
        await until_lock_wait(database)
        clock.move(minutes=5)
    await asked
    noted = await watching.fetchval("SELECT min(forgotten_at) FROM forgotten_refs")
    await watching.close()
    assert noted == NOW + timedelta(minutes=5)


async def test_agents_reach_their_owners_and_admins_their_tenant(service: MemoryService) -> None:
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Ann's."))
    for call, scope in (
        (an_agent("bob"), {"owner_id": "ann"}),
        (an_agent("bob", tenant="globex"), {"tenant_id": "acme"}),
        (an_admin("globex"), {"tenant_id": "acme", "owner_id": "ann"}),
    ):
        for work in _every_call(service, call, scope):
            assert isinstance(await refused(work), ScopeForbidden)
    for call in (an_agent("bob"), an_agent(tenant="globex")):
        await service.delete_memory(pb.DeleteMemoryRequest(memory_id="m1"), call)
        assert isinstance(await refused(service.get_memory(pb.GetMemoryRequest(memory_id="m1"), call)), NotFound)
    assert await refused_field(service.list_memories(pb.ListMemoriesRequest(), an_admin())) == "owner_id"
    listed = await service.list_memories(pb.ListMemoriesRequest(owner_id="ann"), an_admin())
    assert [one.text for one in listed.memories] == ["Ann's."]


async def test_unstorable_memory_is_refused_by_its_path_and_nothing_is_written(service: MemoryService) -> None:
    good = pb.NewMemory(memory_id="good", text="Good.")
    bad: dict[str, pb.NewMemory] = {
        "memories[1].text": pb.NewMemory(text=" "),
        "memories[1].memory_id": pb.NewMemory(text="x", memory_id="a\nb"),
        "memories[1].occurred_time": pb.NewMemory(text="x", occurred_time=Timestamp(seconds=2**60)),
        "memories[1].document_id": pb.NewMemory(text="x", document_id="x" * 201),
        "memories[1].metadata": pb.NewMemory(text="x", metadata=write_struct({"k": "x" * 66_000})),
        "memories[1].turn_ids": pb.NewMemory(text="x", turn_ids=[""]),
    }
    for field, memory in bad.items():
        assert await refused_field(retain(service, an_agent(), good, memory)) == field
    assert await refused_field(retain(service, an_agent(), pb.NewMemory(text="x" * 100_001))) == "memories[0].text"
    assert await refused_field(retain(service, an_agent(), pb.NewMemory(text="a\0"))) == "memories[0].text"
    assert await refused_field(retain(service, an_agent(), *[good] * 1001)) == "memories"
    assert await refused_field(service.list_memories(pb.ListMemoriesRequest(page_size=-1), an_agent())) == "page_size"
    assert await refused_field(service.get_memory(pb.GetMemoryRequest(), an_agent())) == "memory_id"
    assert await list_all(service, an_agent(), 10) == []


async def test_thousand_memories_fit_one_call(service: MemoryService) -> None:
    answer = await retain(service, an_agent(), *(pb.NewMemory(text=f"Note {n}.") for n in range(1000)))
    assert answer.created_count == len(set(answer.memory_ids)) == 1000
    assert len(await list_all(service, an_agent(), 1000)) == 1000


async def test_empty_retain_is_no_error(service: MemoryService) -> None:
    assert await retain(service, an_agent()) == pb.RetainResponse()


def _every_call(service: MemoryService, call: Call, scope: dict[str, Any]) -> list[Any]:
    return [
        retain(service, call, pb.NewMemory(memory_id="m1", text="Bob's."), **scope),
        service.list_memories(pb.ListMemoriesRequest(**scope), call),
        service.get_memory(pb.GetMemoryRequest(memory_id="m1", **scope), call),
        service.delete_memory(pb.DeleteMemoryRequest(memory_id="m1", **scope), call),
    ]


def rule(number: int, words: int = 40) -> pb.NewMemory:
    return pb.NewMemory(memory_id=f"r{number}", text=f"Rule {number}: " + "never say it " * (words // 3), pinned=True)


async def pinned_ids(service: MemoryService) -> list[str]:
    page = await service.list_memories(pb.ListMemoriesRequest(pinned_only=True), an_agent())
    assert all(one.pinned for one in page.memories)
    return sorted(one.memory_id for one in page.memories)


async def test_a_memory_is_pinned_as_it_is_retained_and_stays_so_until_unpinned(service: MemoryService) -> None:
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Answer in Portuguese.", pinned=True))
    await retain(service, an_agent(), pb.NewMemory(memory_id="m2", text="Likes sardines."))
    again = await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Always answer in Portuguese."))
    assert (again.created_count, again.updated_count) == (0, 1)
    assert await pinned_ids(service) == ["m1"]
    listed = {one.memory_id: one.pinned for one in await list_all(service, an_agent(), 10)}
    assert listed == {"m1": True, "m2": False}
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Always answer in Portuguese.", pinned=False))
    assert await pinned_ids(service) == []


async def test_a_stored_memory_is_pinned_and_unpinned_without_another_compile(
    service: MemoryService, pools: Pools
) -> None:
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Anna must not eat nuts."))
    scope = Scope(tenant_uuid("acme"), owner_uuid("ann"))

    async def last_change() -> int:
        async with scoped(pools.background, scope) as connection:
            return int(await connection.fetchval("SELECT change_seq FROM memory_feeds"))

    before = await last_change()
    for is_pinned in (True, True, False):
        answer = await service.update_memory(pb.UpdateMemoryRequest(memory_id="m1", pinned=is_pinned), an_agent())
        assert (answer.memory.text, answer.memory.pinned) == ("Anna must not eat nuts.", is_pinned)
    assert await last_change() == before
    assert isinstance(
        await refused(service.update_memory(pb.UpdateMemoryRequest(memory_id="no", pinned=True), an_agent())), NotFound
    )


async def test_pinned_memories_over_300_tokens_are_refused_and_nothing_is_lost(service: MemoryService) -> None:
    await retain(service, an_agent(), *[rule(number) for number in range(4)])
    error = await refused(retain(service, an_agent(), *[rule(number) for number in range(2, 12)]))
    assert "may take 300 in total" in str(error)
    assert "unpin or shorten one" in str(error)
    assert await pinned_ids(service) == ["r0", "r1", "r2", "r3"]
    assert len(await list_all(service, an_agent(), 50)) == 4
    await retain(service, an_agent(), pb.NewMemory(memory_id="long", text="A long rule. " * 60))
    assert (
        await refused_field(service.update_memory(pb.UpdateMemoryRequest(memory_id="long", pinned=True), an_agent()))
        == "pinned"
    )
    grown = pb.NewMemory(memory_id="r0", text="A long rule. " * 60)
    assert await refused_field(retain(service, an_agent(), grown)) == "memories.pinned"
    assert await pinned_ids(service) == ["r0", "r1", "r2", "r3"]


async def test_pins_of_many_callers_at_once_keep_the_limit(service: MemoryService) -> None:
    some = [pb.NewMemory(memory_id=f"r{n}", text=rule(n).text) for n in range(12)]
    await retain(service, an_agent(), *some)
    asked = [pb.UpdateMemoryRequest(memory_id=one.memory_id, pinned=True) for one in some]
    told = await asyncio.gather(
        *(service.update_memory(request, an_agent()) for request in asked), return_exceptions=True
    )
    assert 0 < len(await pinned_ids(service)) == sum(isinstance(one, pb.UpdateMemoryResponse) for one in told) < 12


async def test_a_forgotten_memory_is_not_pinned_any_more(service: MemoryService) -> None:
    await retain(service, an_agent(), rule(1))
    await service.delete_memory(pb.DeleteMemoryRequest(memory_id="r1"), an_agent())
    assert await pinned_ids(service) == []
    await retain(service, an_agent(), pb.NewMemory(memory_id="r1", text="A rule again."))
    assert await pinned_ids(service) == []


async def test_pinned_memory_over_the_limit_stays_rejected_and_blocks_no_other_write(service: MemoryService) -> None:
    def standing(status: pb.MemoryStatus.ValueType) -> pb.SetMemoryStatusRequest:
        return pb.SetMemoryStatusRequest(memory_id="long", status=status)

    await retain(service, an_agent(), pb.NewMemory(memory_id="long", text="A long rule. " * 100))
    await service.set_memory_status(standing(pb.MEMORY_STATUS_REJECTED), an_agent())
    await service.update_memory(pb.UpdateMemoryRequest(memory_id="long", pinned=True), an_agent())
    for status in (pb.MEMORY_STATUS_ACCEPTED, pb.MEMORY_STATUS_CANDIDATE):
        assert await refused_field(service.set_memory_status(standing(status), an_agent())) == "status"
    await retain(service, an_agent(), rule(1), pb.NewMemory(memory_id="m1", text="Likes rain."))
    await service.update_memory(pb.UpdateMemoryRequest(memory_id="long", pinned=False), an_agent())
    await service.set_memory_status(standing(pb.MEMORY_STATUS_ACCEPTED), an_agent())


async def test_pins_over_the_limit_can_be_taken_back_one_by_one(service: MemoryService, database: str) -> None:
    await retain(service, an_agent(), *(pb.NewMemory(memory_id=f"r{n}", text=rule(n).text) for n in range(20)))
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("UPDATE memories SET pinned_at = created_at")
    finally:
        await connection.close()
    await retain(service, an_agent(), pb.NewMemory(memory_id="m1", text="Likes rain."))
    for number in range(20):
        await service.update_memory(pb.UpdateMemoryRequest(memory_id=f"r{number}", pinned=False), an_agent())
    assert await pinned_ids(service) == []
