"""Supersession: a correction or contradiction ends a memory; undo, rejection or forgetting restores it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.rpc.memory import MemoryService
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.memories import Memories
from sidecar.v1 import memory_pb2 as pb
from store.content import feed
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.text.texts import text_hash
from tests.support.compiler.compiling import Clock
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, refused_field

CANDIDATE, ACCEPTED, REJECTED = (pb.MEMORY_STATUS_CANDIDATE, pb.MEMORY_STATUS_ACCEPTED, pb.MEMORY_STATUS_REJECTED)
OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
MARCH = datetime(2026, 3, 3, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def service(pools: Pools, clock: Clock) -> MemoryService:
    return MemoryService(Memories(pools, now=clock))


def at(moment: datetime) -> Timestamp:
    stamp = Timestamp()
    stamp.FromDatetime(moment)
    return stamp


async def retain(service: MemoryService, *new: pb.NewMemory, admin: bool = False) -> None:
    owner = {"owner_id": str(SCOPE.owner_id)} if admin else {}
    await service.retain(pb.RetainRequest(memories=new, **owner), an_admin() if admin else an_agent())


async def moved(service: MemoryService) -> None:
    """Retain a home, and a newer one from 3 March on."""
    await retain(
        service,
        pb.NewMemory(memory_id="lisbon", text="Lives in Lisbon."),
        pb.NewMemory(
            memory_id="porto", text="Lives in Porto.", valid_from_time=at(MARCH), valid_precision=pb.VALID_PRECISION_DAY
        ),
    )


async def supersede(
    service: MemoryService, *older: str, admin: bool = False, **request: object
) -> pb.SupersedeResponse:
    owner = {"owner_id": str(SCOPE.owner_id)} if admin else {}
    sent = pb.SupersedeRequest(superseded_ids=older, **owner, **request)  # type: ignore[arg-type]
    return await service.supersede(sent, an_admin() if admin else an_agent())


async def restore(service: MemoryService, memory_id: str, superseding_id: str = "") -> pb.Memory:
    request = pb.RestoreMemoryRequest(memory_id=memory_id, superseding_id=superseding_id)
    return (await service.restore_memory(request, an_agent())).memory


async def get(service: MemoryService, memory_id: str) -> pb.Memory:
    return (await service.get_memory(pb.GetMemoryRequest(memory_id=memory_id), an_agent())).memory


async def until(service: MemoryService, memory_id: str) -> datetime | None:
    memory = await get(service, memory_id)
    return memory.valid_until_time.ToDatetime(tzinfo=UTC) if memory.HasField("valid_until_time") else None


async def set_status(service: MemoryService, memory_id: str, status: pb.MemoryStatus.ValueType) -> None:
    await service.set_memory_status(pb.SetMemoryStatusRequest(memory_id=memory_id, status=status), an_agent())


async def forget(service: MemoryService, memory_id: str) -> None:
    await service.delete_memory(pb.DeleteMemoryRequest(memory_id=memory_id), an_agent())


async def listed(service: MemoryService, **moments: Timestamp) -> set[str]:
    answer = await service.list_memories(pb.ListMemoriesRequest(**moments), an_agent())  # type: ignore[arg-type]
    return {one.memory_id for one in answer.memories}


async def fed(pools: Pools) -> tuple[dict[str, str], int]:
    async with scoped(pools.background, SCOPE) as connection:
        found, through = await feed.after(connection, SCOPE, 0, limit=100)
    return {one.memory_id: one.validity.marked(one.text) for one in found}, through


async def test_memory_holds_until_the_one_that_corrects_it_begins(service: MemoryService, pools: Pools) -> None:
    await moved(service)
    answer = await supersede(service, "lisbon", memory_id="porto", evidence="said so")
    [lisbon] = answer.superseded
    assert (lisbon.valid_until_time, lisbon.until_precision) == (at(MARCH), pb.VALID_PRECISION_DAY)
    assert not answer.memory.HasField("valid_until_time")
    texts, through = await fed(pools)
    assert texts["lisbon"] == "Lives in Lisbon (until 2026-03-03)."
    assert texts["porto"] == "Lives in Porto (from 2026-03-03)."
    assert through == 3
    await supersede(service, "lisbon", memory_id="porto")
    assert (await fed(pools))[1] == 3
    history = await service.get_memory_history(pb.GetMemoryHistoryRequest(memory_id="lisbon"), an_agent())
    assert [(one.reason, one.evidence) for one in history.supersessions] == [("corrected", "said so")]


async def test_plain_memory_is_fed_with_the_hash_of_its_text_alone(service: MemoryService, pools: Pools) -> None:
    await moved(service)
    async with scoped(pools.background, SCOPE) as connection:
        fed_memories, _ = await feed.after(connection, SCOPE, 0, limit=10)
    hashes = {one.memory_id: one.text_hash for one in fed_memories}
    assert hashes["lisbon"] == text_hash("Lives in Lisbon.")
    assert hashes["porto"] != text_hash("Lives in Porto.")


async def test_undo_and_forgetting_the_newer_memory_make_the_older_current_again(
    service: MemoryService, pools: Pools
) -> None:
    await moved(service)
    await supersede(service, "lisbon", memory_id="porto")
    assert not (await restore(service, "lisbon")).HasField("valid_until_time")
    assert (await fed(pools))[0]["lisbon"] == "Lives in Lisbon."
    await supersede(service, "lisbon", memory_id="porto", reason="contradicted")
    assert await until(service, "lisbon") == MARCH
    await forget(service, "porto")
    assert await until(service, "lisbon") is None
    assert (await fed(pools))[0] == {"lisbon": "Lives in Lisbon."}


async def test_rejected_memory_ends_nothing_and_a_candidate_ends_candidates_only(service: MemoryService) -> None:
    await moved(service)
    await supersede(service, "lisbon", memory_id="porto")
    for status, ended in ((REJECTED, None), (CANDIDATE, None), (ACCEPTED, MARCH)):
        await set_status(service, "porto", status)
        assert await until(service, "lisbon") == ended
    await set_status(service, "porto", CANDIDATE)
    await set_status(service, "lisbon", CANDIDATE)
    assert await until(service, "lisbon") == MARCH


async def test_end_follows_the_newer_memorys_start_and_never_the_order_of_arrival(service: MemoryService) -> None:
    await moved(service)
    await retain(
        service, pb.NewMemory(memory_id="faro", text="Lives in Faro.", valid_from_time=at(MARCH - timedelta(9)))
    )
    await supersede(service, "lisbon", memory_id="porto")
    await supersede(service, "lisbon", memory_id="faro")
    assert await until(service, "lisbon") == MARCH - timedelta(9)
    later = pb.NewMemory(memory_id="faro", text="Lives in Faro.", valid_from_time=at(MARCH + timedelta(9)))
    await retain(service, later)
    assert await until(service, "lisbon") == MARCH
    await restore(service, "lisbon", "porto")
    assert await until(service, "lisbon") == MARCH + timedelta(9)


async def test_writers_own_end_holds_unless_a_memory_ended_it_earlier(service: MemoryService) -> None:
    end = MARCH + timedelta(30)
    await moved(service)
    await retain(service, pb.NewMemory(memory_id="lisbon", text="Lives in Lisbon.", valid_until_time=at(end)))
    assert await until(service, "lisbon") == end
    await supersede(service, "lisbon", memory_id="porto")
    assert await until(service, "lisbon") == MARCH
    await restore(service, "lisbon")
    assert await until(service, "lisbon") == end


async def test_edit_supersedes_memories_without_raising_trust(service: MemoryService) -> None:
    low = pb.NewMemory(memory_id="a", text="Runs 5 km.", authority="Derived", status=CANDIDATE, confidence=0.3)
    await retain(service, low, pb.NewMemory(memory_id="b", text="Runs 8 km.", status=CANDIDATE))
    answer = await supersede(service, "a", "b", edit=pb.NewMemory(text="Runs 9 km.", status=ACCEPTED))
    assert (answer.memory.authority, answer.memory.status) == ("Derived", CANDIDATE)
    assert [one.memory_id for one in answer.superseded] == ["a", "b"]
    again = await supersede(service, "a", "b", edit=pb.NewMemory(text="Runs 9 km.", status=ACCEPTED))
    assert again.memory == answer.memory


async def test_edit_that_takes_the_pinned_memories_over_their_limit_is_refused(service: MemoryService) -> None:
    rule = pb.NewMemory(memory_id="rule", text="Answer in Portuguese.", pinned=True)
    await retain(service, rule, pb.NewMemory(memory_id="older", text="Answer in English."))
    longer = pb.NewMemory(memory_id="rule", text="Answer in Portuguese. " * 100)
    assert await refused_field(supersede(service, "older", edit=longer)) == "edit"
    assert (await get(service, "rule")).text == "Answer in Portuguese."


async def test_agents_word_never_ends_the_users_and_an_operators_may(service: MemoryService) -> None:
    users = pb.NewMemory(memory_id="user", text="Allergic to nuts.", authority="User")
    await retain(service, users, admin=True)
    await retain(service, pb.NewMemory(memory_id="agent", text="Allergic to nothing."))
    for newer in ({"memory_id": "agent"}, {"edit": pb.NewMemory(text="Eats nuts.")}):
        with pytest.raises(FailedPrecondition, match="authority User"):
            await supersede(service, "user", **newer)
    assert await listed(service) == {"user", "agent"}
    await supersede(service, "user", memory_id="agent", admin=True)
    assert await until(service, "user") == NOW


async def test_supersession_that_leads_back_or_nowhere_is_refused(service: MemoryService) -> None:
    await moved(service)
    await retain(service, pb.NewMemory(memory_id="faro", text="Lives in Faro."))
    await supersede(service, "lisbon", memory_id="porto")
    await supersede(service, "porto", memory_id="faro")
    for older, newer in (("faro", "lisbon"), ("porto", "lisbon")):
        with pytest.raises(FailedPrecondition, match="supersedes"):
            await supersede(service, older, memory_id=newer)
    with pytest.raises(FailedPrecondition, match="cannot supersede itself"):
        await supersede(service, "lisbon", memory_id="lisbon")
    with pytest.raises(FailedPrecondition, match="no memory 'unknown'"):
        await supersede(service, "unknown", memory_id="faro")
    with pytest.raises(NotFound):
        await restore(service, "unknown")
    assert await refused_field(supersede(service, "lisbon", memory_id="faro", reason="compressed")) == "reason"
    assert await refused_field(supersede(service, "lisbon")) == "memory_id"


@pytest.mark.parametrize(
    ("precision", "start"),
    [
        (pb.VALID_PRECISION_YEAR, datetime(2026, 1, 1, tzinfo=UTC)),
        (pb.VALID_PRECISION_MONTH, datetime(2026, 3, 1, tzinfo=UTC)),
        (pb.VALID_PRECISION_DAY, MARCH),
        (pb.VALID_PRECISION_UNSPECIFIED, MARCH + timedelta(hours=5)),
    ],
)
async def test_start_is_rounded_down_to_its_precision(
    service: MemoryService, precision: pb.ValidPrecision.ValueType, start: datetime
) -> None:
    given = pb.NewMemory(
        memory_id="m", text="x", valid_from_time=at(MARCH + timedelta(hours=5)), valid_precision=precision
    )
    await retain(service, given)
    stored = await get(service, "m")
    assert stored.valid_from_time == at(start)
    assert stored.valid_precision == (precision or pb.VALID_PRECISION_INSTANT)


async def test_end_before_the_start_is_refused_by_name(service: MemoryService) -> None:
    bad = pb.NewMemory(text="x", valid_from_time=at(MARCH), valid_until_time=at(MARCH))
    assert "valid_until_time" in await refused_field(service.retain(pb.RetainRequest(memories=[bad]), an_agent()))


async def test_lists_filter_by_as_of_and_known_at(service: MemoryService, clock: Clock) -> None:
    await moved(service)
    clock.now += timedelta(hours=1)
    await supersede(service, "lisbon", memory_id="porto")
    clock.now += timedelta(hours=1)
    await restore(service, "lisbon")
    before, during, after = at(NOW), at(NOW + timedelta(minutes=90)), at(NOW + timedelta(hours=3))
    later = at(MARCH + timedelta(1))
    assert await listed(service) == {"lisbon", "porto"}
    assert await listed(service, as_of_time=at(MARCH - timedelta(1))) == {"lisbon"}
    assert await listed(service, as_of_time=later) == {"lisbon", "porto"}
    assert await listed(service, as_of_time=later, known_at_time=before) == {"lisbon", "porto"}
    assert await listed(service, as_of_time=later, known_at_time=during) == {"porto"}
    assert await listed(service, as_of_time=later, known_at_time=after) == {"lisbon", "porto"}
    assert await listed(service, known_at_time=at(NOW - timedelta(1))) == set()


async def test_belief_is_explained_down_to_the_memories_it_rests_on(service: MemoryService) -> None:
    new = [pb.NewMemory(memory_id=name, text=f"{name} text.", status=CANDIDATE) for name in ("c1", "c2", "c3")]
    await retain(service, *new)
    first = (await service.compress_memories(pb.CompressMemoriesRequest(memory_ids=["c1", "c2"]), an_agent())).memory
    top = (
        await service.compress_memories(pb.CompressMemoriesRequest(memory_ids=[first.memory_id, "c3"]), an_agent())
    ).memory
    belief = await service.explain_memory(pb.ExplainMemoryRequest(memory_id=top.memory_id), an_agent())
    assert [one.superseded_id for one in belief.chain] == [first.memory_id, "c3", "c1", "c2"]
    assert {one.memory_id for one in belief.memories} == {first.memory_id, "c1", "c2", "c3"}
    assert belief.memory == top
    with pytest.raises(NotFound):
        await service.explain_memory(pb.ExplainMemoryRequest(memory_id="unknown"), an_agent())
