"""Recall of memories that ended, are in doubt or stand behind a summary."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.rpc.memory import MemoryService
from sidecar.services.memories import Memories
from sidecar.sources.memory import MemorySource
from sidecar.sources.wiki import WikiSource
from sidecar.turn.fitting.dedupe import relate
from sidecar.turn.items import Item, Source, SourceReport, Status
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.judging import judge
from sidecar.v1 import memory_pb2 as pb
from store.db.postgres import Pools
from store.scope import Scope
from tests.support.compiler.compiling import Clock
from tests.support.rpc.service_calls import NOW, an_agent

CANDIDATE, ACCEPTED = pb.MEMORY_STATUS_CANDIDATE, pb.MEMORY_STATUS_ACCEPTED
OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
MARCH = datetime(2026, 3, 3, tzinfo=UTC)
QUERY = SourceQuery("home city", ("home", "city"), "", "planner", "default", "", "", NOW)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def service(pools: Pools, clock: Clock) -> MemoryService:
    return MemoryService(Memories(pools, now=clock))


async def retain(service: MemoryService, *new: pb.NewMemory) -> None:
    await service.retain(pb.RetainRequest(memories=new), an_agent())


async def find(pools: Pools, query: SourceQuery = QUERY) -> SourceAnswer:
    return await MemorySource(pools.turn).find(query, SCOPE, SourceLimits(top_k=20, lead_lines=1))


async def recalled(pools: Pools, query: SourceQuery = QUERY) -> list[Item]:
    """Return the memories as they are ranked for the turn."""
    answer = await find(pools, query)
    report = SourceReport(Source.MEMORY, Status.OK, answer.items, candidates=answer.candidates)
    [judged] = judge([report], read(query.text, today=query.now.date())).reports
    return list(judged.items)


async def headers(pools: Pools, query: SourceQuery = QUERY) -> dict[str, str]:
    return {item.id.removeprefix("memory:"): item.header for item in (await find(pools, query)).items}


async def trust(pools: Pools, query: SourceQuery) -> dict[str, float]:
    candidates = (await find(pools, query)).candidates
    assert candidates is not None
    return {one.removeprefix("memory:"): share for one, share in zip(candidates.ids, candidates.trust, strict=True)}


async def odds(pools: Pools, query: SourceQuery) -> dict[str, float]:
    candidates = (await find(pools, query)).candidates
    assert candidates is not None
    return {one.removeprefix("memory:"): share for one, share in zip(candidates.ids, candidates.odds, strict=True)}


async def moved(service: MemoryService) -> None:
    lisbon = pb.NewMemory(memory_id="lisbon", text="Their home city is Lisbon.")
    porto = pb.NewMemory(memory_id="porto", text="Their home city is Porto.", valid_precision=pb.VALID_PRECISION_DAY)
    porto.valid_from_time.FromDatetime(MARCH)
    await retain(service, lisbon, porto)
    await service.supersede(pb.SupersedeRequest(superseded_ids=["lisbon"], memory_id="porto"), an_agent())


async def test_ended_memory_has_its_end_and_ranks_below_current_ones(service: MemoryService, pools: Pools) -> None:
    await moved(service)
    told = await headers(pools)
    assert told["lisbon"] == f"Remembered, {NOW.date()}, until 2026-03-03"
    assert told["porto"] == f"Remembered, {NOW.date()}, from 2026-03-03"
    after, before = (replace(QUERY, as_of=MARCH + timedelta(days)) for days in (1, -1))
    assert await trust(pools, after) == {"lisbon": 0.5, "porto": 1}
    assert await trust(pools, before) == {"lisbon": 1, "porto": 0.5}
    assert [item.id for item in await recalled(pools, after)] == ["memory:porto", "memory:lisbon"]


async def test_pinned_memory_that_ended_says_so(service: MemoryService, pools: Pools) -> None:
    await moved(service)
    await service.update_memory(pb.UpdateMemoryRequest(memory_id="lisbon", pinned=True), an_agent())
    [pinned] = [item for item in (await find(pools)).items if item.is_pinned]
    assert "until 2026-03-03" in pinned.header


async def test_known_at_recalls_the_earlier_state(service: MemoryService, pools: Pools, clock: Clock) -> None:
    await retain(service, pb.NewMemory(memory_id="lisbon", text="Their home city is Lisbon.", status=CANDIDATE))
    clock.now += timedelta(hours=1)
    await moved(service)
    accepted = pb.SetMemoryStatusRequest(memory_id="lisbon", status=ACCEPTED)
    await service.set_memory_status(accepted, an_agent())
    first = replace(QUERY, known_at=NOW)
    assert await headers(pools, first) == {"lisbon": f"Remembered, {NOW.date()}, unconfirmed (confidence 1)"}
    assert await headers(pools, replace(QUERY, known_at=NOW - timedelta(days=1))) == {}
    assert set(await headers(pools, replace(QUERY, known_at=clock()))) == {"lisbon", "porto"}
    with pytest.raises(SourceSkipped, match="known_at"):
        await WikiSource(pools.turn).find(first, SCOPE, SourceLimits(top_k=5, lead_lines=1))


async def test_plain_memory_is_recalled_as_ever(service: MemoryService, pools: Pools) -> None:
    await retain(service, pb.NewMemory(memory_id="plain", text="Their home city is Lisbon.", turn_ids=["t1"]))
    [item] = (await find(pools)).items
    assert (item.header, item.stands_for) == (f"Remembered, {NOW.date()}", ("turn:t1",))
    assert item.provenance[1:] == (("turn", "t1", ""),)
    assert await trust(pools, QUERY) == {"plain": 1}


async def test_summary_keeps_its_doubt_when_it_is_accepted(service: MemoryService, pools: Pools) -> None:
    low = pb.NewMemory(memory_id="a", text="Home city: Faro.", authority="Candidate", status=CANDIDATE, confidence=0.25)
    await retain(service, low, pb.NewMemory(memory_id="b", text="Home city: Braga.", status=CANDIDATE))
    compressed = pb.CompressMemoriesRequest(memory_ids=["a", "b"])
    summary = (await service.compress_memories(compressed, an_agent())).memory
    told = await headers(pools)
    assert told[summary.memory_id].endswith("unconfirmed (confidence 0.25, authority Candidate)")
    await service.set_memory_status(pb.SetMemoryStatusRequest(memory_id=summary.memory_id, status=ACCEPTED), an_agent())
    [item] = [one for one in (await find(pools)).items if one.id == f"memory:{summary.memory_id}"]
    assert item.header.endswith(", confidence 0.25, authority Candidate")
    assert (item.confidence, item.authority) == (0.25, "Candidate")


async def test_summaries_rank_above_their_sources_down_the_chain_and_cover_them(
    service: MemoryService, pools: Pools
) -> None:
    texts = {"c1": "Home city.", "c2": "Cooks a lot of rice and fish.", "c3": "Runs along the river at dawn."}
    await retain(service, *(pb.NewMemory(memory_id=one, text=text, status=CANDIDATE) for one, text in texts.items()))
    ids = ["c1", "c2"]
    for other in ("c3", ""):
        request = pb.CompressMemoriesRequest(memory_ids=ids)
        ids = [(await service.compress_memories(request, an_agent())).memory.memory_id, other]
        if other:
            first = ids[0]
    top = ids[0]
    items = await recalled(pools, replace(QUERY, words=("home", "city", "cooks", "runs")))
    ranked = [item.id.removeprefix("memory:") for item in items]
    assert ranked[:2] == [top, first]
    assert set(ranked[2:]) == set(texts)
    covers = relate(items, ()).covers
    assert {items[place].id for place in covers[0]} == {f"memory:{one}" for one in (first, *texts)}


async def test_a_text_edited_in_place_is_shown_as_it_is_now_with_the_time_of_its_edit(
    service: MemoryService, pools: Pools, clock: Clock
) -> None:
    await retain(service, pb.NewMemory(memory_id="city", text="Their home city is Faro."))
    clock.now = NOW + timedelta(days=2)
    await retain(service, pb.NewMemory(memory_id="city", text="Their home city is Évora."))
    known_at = NOW + timedelta(days=1)
    assert [item.text for item in await recalled(pools, replace(QUERY, known_at=known_at))] == [
        "Their home city is Évora."
    ]
    request = pb.ListMemoriesRequest()
    request.known_at_time.FromDatetime(known_at)
    [listed] = (await service.list_memories(request, an_agent())).memories
    assert listed.text == "Their home city is Évora."
    assert listed.update_time.ToDatetime(tzinfo=UTC) > known_at


async def test_unconfirmed_summary_covers_no_accepted_source(service: MemoryService, pools: Pools) -> None:
    new = [pb.NewMemory(memory_id=one, text=f"Home city {one}.", status=CANDIDATE) for one in ("a", "b")]
    await retain(service, *new)
    request = pb.CompressMemoriesRequest(memory_ids=["a", "b"])
    summary = (await service.compress_memories(request, an_agent())).memory.memory_id
    await service.set_memory_status(pb.SetMemoryStatusRequest(memory_id="a", status=ACCEPTED), an_agent())
    by_id = {item.id.removeprefix("memory:"): item for item in (await find(pools)).items}
    assert by_id[summary].stands_for == ("memory:b",)
    assert await trust(pools, QUERY) == {"a": 1, "b": 0.5, summary: 0.5}
    assert await odds(pools, QUERY) == {"a": 1, "b": 0.5, summary: 1}
    rejected = pb.SetMemoryStatusRequest(memory_id=summary, status=pb.MEMORY_STATUS_REJECTED)
    await service.set_memory_status(rejected, an_agent())
    assert await trust(pools, QUERY) == {"a": 1, "b": 0.5}
