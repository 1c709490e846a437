"""Tiers of memories: statuses, authority, summaries of candidates, and forgetting of each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from compiler.decay.summary import ulid
from sidecar.context.ports import SourceLimits, SourceQuery
from sidecar.rpc.memory import MemoryService
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.memories import Memories
from sidecar.sources.memory import MemorySource
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.rank import rank
from sidecar.v1 import memory_pb2 as pb
from store.content import feed, memories, standing
from store.content.recalling import RecallQuery
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.text.texts import query_words
from tests.support.compiler.compiling import SCOPE as COMPILED
from tests.support.compiler.compiling import Clock, again, compiled, engine_on, fetch, journal, wiki_of, write
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, refused_field

QUERY = SourceQuery("favourite music", ("favourite", "music"), "", "planner", "default", "", "", NOW)
CANDIDATE, ACCEPTED, REJECTED = (pb.MEMORY_STATUS_CANDIDATE, pb.MEMORY_STATUS_ACCEPTED, pb.MEMORY_STATUS_REJECTED)
OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))


@pytest.fixture
def service(pools: Pools) -> MemoryService:
    return MemoryService(Memories(pools, now=Clock(NOW)))


async def retain(service: MemoryService, *new: pb.NewMemory, admin: bool = False) -> None:
    owner = {"owner_id": str(SCOPE.owner_id)} if admin else {}
    await service.retain(pb.RetainRequest(memories=new, **owner), an_admin() if admin else an_agent())


async def get(service: MemoryService, memory_id: str) -> pb.Memory:
    return (await service.get_memory(pb.GetMemoryRequest(memory_id=memory_id), an_agent())).memory


async def set_status(
    service: MemoryService, memory_id: str, status: pb.MemoryStatus.ValueType, rule: str = ""
) -> pb.SetMemoryStatusResponse:
    request = pb.SetMemoryStatusRequest(memory_id=memory_id, status=status, rule=rule)
    return await service.set_memory_status(request, an_agent())


async def history(service: MemoryService, memory_id: str) -> pb.GetMemoryHistoryResponse:
    return await service.get_memory_history(pb.GetMemoryHistoryRequest(memory_id=memory_id), an_agent())


async def candidates(service: MemoryService, **texts: str) -> None:
    await retain(service, *(pb.NewMemory(memory_id=name, text=text, status=CANDIDATE) for name, text in texts.items()))


async def compress(service: MemoryService, *memory_ids: str) -> pb.Memory:
    request = pb.CompressMemoriesRequest(memory_ids=memory_ids)
    return (await service.compress_memories(request, an_agent())).memory


async def recalled(pools: Pools, question: str) -> list[str]:
    async with scoped(pools.background, SCOPE) as connection:
        found = await memories.recall(connection, SCOPE, RecallQuery(tuple(query_words(question)), 50))
    return [one.memory_id for one in found.texts]


async def fed(pools: Pools) -> tuple[list[str], int]:
    async with scoped(pools.background, SCOPE) as connection:
        found, through = await feed.after(connection, SCOPE, 0, limit=100)
    return [one.memory_id for one in found], through


async def test_memory_without_a_tier_is_an_accepted_fact_of_an_agent(service: MemoryService) -> None:
    await retain(service, pb.NewMemory(memory_id="m1", text="Ate sardines."))
    stored = await get(service, "m1")
    assert (stored.memory_type, stored.status, stored.confidence, stored.authority) == ("fact", ACCEPTED, 1.0, "Agent")


async def test_tier_makes_the_round_trip_and_a_second_retain_without_it_changes_nothing(service: MemoryService) -> None:
    sent = pb.NewMemory(
        memory_id="m1",
        text="Prefers tea.",
        memory_type="preference",
        status=CANDIDATE,
        confidence=0.4,
        authority="Candidate",
        domains=["food", "drinks"],
    )
    await retain(service, sent)
    for again_ in (sent, pb.NewMemory(memory_id="m1", text="Prefers tea.")):
        answer = await service.retain(pb.RetainRequest(memories=[again_]), an_agent())
        assert (answer.created_count, answer.updated_count) == (0, 0)
        stored = await get(service, "m1")
        for field in ("memory_type", "status", "confidence", "authority", "domains"):
            assert getattr(stored, field) == getattr(sent, field)


async def test_agent_cannot_claim_the_users_authority_and_an_admin_can(service: MemoryService) -> None:
    claim = pb.NewMemory(memory_id="m1", text="x", authority="uSeR")
    assert "authority" in await refused_field(service.retain(pb.RetainRequest(memories=[claim]), an_agent()))
    await retain(service, claim, admin=True)
    assert (await get(service, "m1")).authority == "uSeR"


async def test_retain_never_raises_authority_or_changes_a_status(service: MemoryService) -> None:
    low = pb.NewMemory(memory_id="m1", text="old", authority="Derived", status=CANDIDATE)
    await retain(service, low)
    await retain(service, pb.NewMemory(memory_id="m1", text="new", authority="Agent", status=ACCEPTED))
    stored = await get(service, "m1")
    assert (stored.text, stored.authority, stored.status) == ("new", "Derived", CANDIDATE)


async def test_agents_edit_of_a_users_memory_lowers_it_to_the_agents(service: MemoryService) -> None:
    await retain(service, pb.NewMemory(memory_id="m1", text="Allergic to nuts.", authority="User"), admin=True)
    await retain(service, pb.NewMemory(memory_id="m1", text="Allergic to nothing."))
    assert (await get(service, "m1")).authority == "Agent"


@pytest.mark.parametrize("confidence", [1.01, float("nan"), -0.1])
async def test_confidence_out_of_range_is_refused_by_name(service: MemoryService, confidence: float) -> None:
    request = pb.RetainRequest(memories=[pb.NewMemory(text="x", confidence=confidence)])
    assert "memories[0].confidence" in await refused_field(service.retain(request, an_agent()))


async def test_status_change_gets_a_feed_number_is_recorded_and_keeps_confidence(
    service: MemoryService, pools: Pools
) -> None:
    await retain(service, pb.NewMemory(memory_id="m1", text="Likes jazz.", status=CANDIDATE, confidence=0.3))
    assert await fed(pools) == ([], 1)
    answer = await set_status(service, "m1", ACCEPTED, "said twice")
    assert (answer.memory.status, answer.memory.confidence, answer.memory.authority) == (ACCEPTED, 0.3, "Agent")
    [change] = (await history(service, "m1")).changes
    assert (change.old_status, change.new_status, change.rule) == (CANDIDATE, ACCEPTED, "said twice")
    assert change.changed_by.startswith("agent")
    assert await fed(pools) == (["m1"], 2)
    await set_status(service, "m1", ACCEPTED)
    assert len((await history(service, "m1")).changes) == 1


async def test_unknown_memory_or_status_is_refused(service: MemoryService) -> None:
    assert await refused_field(set_status(service, "m1", pb.MEMORY_STATUS_UNSPECIFIED)) == "status"
    with pytest.raises(NotFound):
        await set_status(service, "m1", ACCEPTED)
    with pytest.raises(NotFound):
        await history(service, "m1")


@pytest.mark.parametrize("precision", [pb.VALID_PRECISION_INSTANT, pb.VALID_PRECISION_DAY, pb.VALID_PRECISION_YEAR])
async def test_memory_of_all_times_is_stored_with_both_ends(
    service: MemoryService, database: str, precision: pb.ValidPrecision.ValueType
) -> None:
    memory = pb.NewMemory(memory_id="m", text="The harbour is old.", valid_precision=precision)
    memory.valid_from_time.FromDatetime(datetime.min)  # noqa: DTZ901  # the message knows no zones
    memory.valid_until_time.FromDatetime(datetime.max)  # noqa: DTZ901
    await retain(service, memory)
    finite = "SELECT isfinite(valid_from) AND isfinite(valid_until) AS is_finite FROM memories"
    assert [row["is_finite"] for row in await fetch(database, finite)] == [True]


async def test_rejected_memory_is_listed_but_not_recalled(service: MemoryService, pools: Pools) -> None:
    await candidates(service, m1="Likes jazz.", m2="Likes jazz bars.")
    await set_status(service, "m1", REJECTED)
    assert await recalled(pools, "jazz") == ["m2"]
    assert (await get(service, "m1")).text == "Likes jazz."


async def test_candidate_is_recalled_below_an_accepted_memory_and_shown_as_unconfirmed(
    service: MemoryService, pools: Pools
) -> None:
    await candidates(service, m1="Their favourite music is jazz.")
    await retain(service, pb.NewMemory(memory_id="m2", text="Their favourite music is Jazz!"))
    answer = await MemorySource(pools.turn).find(QUERY, SCOPE, SourceLimits(top_k=10, lead_lines=1))
    assert [item.header.split(", ", 2)[2:] for item in answer.items if item.id == "memory:m1"] == [
        ["unconfirmed (confidence 1)"]
    ]
    assert all("unconfirmed" not in item.header for item in answer.items if item.id == "memory:m2")
    assert answer.candidates is not None
    ranked = rank(read("favourite music", today=NOW.date()), [answer.candidates])
    relevance = dict(zip(answer.candidates.ids, ranked.relevances, strict=True))
    assert 0 < relevance["memory:m1"] <= 0.5 * relevance["memory:m2"] * 1.01


async def test_pinned_candidate_is_still_shown_as_unconfirmed(service: MemoryService, pools: Pools) -> None:
    pinned = [
        pb.NewMemory(memory_id="m1", text="Answer in Portuguese.", status=CANDIDATE, pinned=True),
        pb.NewMemory(memory_id="m2", text="Allergic to nuts.", pinned=True),
    ]
    await retain(service, *pinned)
    answer = await MemorySource(pools.turn).find(QUERY, SCOPE, SourceLimits(top_k=10, lead_lines=1))
    headers = {item.id: item.header for item in answer.items if item.is_pinned}
    assert "unconfirmed" in headers["memory:m1"]
    assert headers["memory:m2"] == ""


async def test_wiki_drops_a_rejected_memory_and_compiles_it_again_when_accepted(pools: Pools) -> None:
    clock, engine = Clock(NOW), engine_on(pools)
    service = Memories(pools, now=clock)
    await write(pools, journal(6))
    await compiled(pools, engine)
    before = await wiki_of(pools, scope=COMPILED)
    async with scoped(pools.background, COMPILED) as connection:
        first = (await memories.page(connection, COMPILED, limit=1))[0]
    await service.set_status(COMPILED, first.memory_id, _decided("rejected"))
    await again(pools)
    without = await wiki_of(pools, scope=COMPILED)
    assert without != before
    await service.set_status(COMPILED, first.memory_id, _decided("accepted"))
    await again(pools)
    cited = b"".join((await wiki_of(pools, scope=COMPILED)).values())
    assert first.memory_id.encode() in cited
    assert first.memory_id.encode() not in b"".join(without.values())


def _decided(status: str) -> standing.StatusDecision:
    return standing.StatusDecision(MemoryStatus(status), "admin", "test")


async def test_candidates_become_one_summary_and_stay(service: MemoryService) -> None:
    await retain(
        service,
        pb.NewMemory(
            memory_id="b", text="Ran 5 km.", status=CANDIDATE, confidence=0.9, domains=["sport"], turn_ids=["t1"]
        ),
        pb.NewMemory(memory_id="a", text="Ran 8 km.", status=CANDIDATE, confidence=0.5, authority="Candidate"),
    )
    summary = await compress(service, "b", "a", "b")
    assert summary.text == "Ran 5 km.\nRan 8 km."
    assert (summary.memory_type, summary.status, summary.confidence) == ("summary", CANDIDATE, 0.5)
    assert (summary.authority, list(summary.domains), list(summary.turn_ids)) == ("Candidate", ["sport"], ["t1"])
    assert list(summary.source_events) == ["b", "a"]
    assert len(summary.memory_id) == 26
    edges = (await history(service, "a")).supersessions
    assert [(one.memory_id, one.superseded_id, one.reason) for one in edges] == [(summary.memory_id, "a", "compressed")]
    assert (await get(service, "a")).text == "Ran 8 km."


@pytest.mark.parametrize(
    ("sources", "reason"),
    [
        (("c1",), "sources is 1"),
        (("c1", "c1"), "sources is 1"),
        (("c1", "unknown"), "unknown"),
        (("c1", "fact"), "accepted"),
        (("c1", "no"), "rejected"),
        ((), "sources is 0"),
    ],
)
async def test_sources_that_cannot_be_compressed_are_refused_and_nothing_is_written(
    service: MemoryService, pools: Pools, database: str, sources: Sequence[str], reason: str
) -> None:
    await candidates(service, c1="One.", c2="Two.", no="No.")
    await retain(service, pb.NewMemory(memory_id="fact", text="A fact."))
    await set_status(service, "no", REJECTED)
    before = await fetch(database, "SELECT count(*), max(change_seq) FROM memories")
    with pytest.raises(FailedPrecondition, match=reason):
        await compress(service, *sources)
    assert await fetch(database, "SELECT count(*), max(change_seq) FROM memories") == before


async def test_source_is_compressed_once_and_summaries_form_chains_down_to_the_leaves(service: MemoryService) -> None:
    await candidates(service, c1="One.", c2="Two.", c3="Three.")
    first = await compress(service, "c1", "c2")
    assert await compress(service, "c1", "c2") == first
    for other in (("c1", "c3"), ("c2", "c1"), ("c1", "c2", "c3")):
        with pytest.raises(FailedPrecondition, match="already"):
            await compress(service, *other)
    second = await compress(service, first.memory_id, "c3")
    assert list(second.source_events) == ["c1", "c2", "c3"]
    assert second.text == "One.\nTwo.\nThree."


async def test_forgotten_source_leaves_every_summary_of_its_chain(service: MemoryService, database: str) -> None:
    await candidates(service, c1="Zanzibar.", c2="Two.", c3="Three.", c4="Four.")
    first = await compress(service, "c1", "c2", "c3")
    second = await compress(service, first.memory_id, "c4")
    await service.delete_memory(pb.DeleteMemoryRequest(memory_id="c1"), an_agent())
    assert (await get(service, first.memory_id)).text == "Two.\nThree."
    assert (await get(service, second.memory_id)).text == "Two.\nThree.\nFour."
    assert list((await get(service, second.memory_id)).source_events) == ["c2", "c3", "c4"]
    await service.delete_memory(pb.DeleteMemoryRequest(memory_id="c2"), an_agent())
    with pytest.raises(NotFound):
        await get(service, first.memory_id)
    with pytest.raises(NotFound):
        await get(service, second.memory_id)
    assert [row[0] for row in await fetch(database, "SELECT memory_id FROM memories ORDER BY 1")] == ["c3", "c4"]
    assert await fetch(database, "SELECT * FROM memory_supersessions") == []


async def test_edited_source_changes_every_summary_of_its_chain(service: MemoryService) -> None:
    await candidates(service, c1="Ran 5 km.", c2="Ran 8 km.", c3="Swam.")
    lower = await compress(service, "c1", "c2")
    upper = await compress(service, lower.memory_id, "c3")
    await retain(service, pb.NewMemory(memory_id="c1", text="Ran 3 km.", authority="Derived", confidence=0.2))
    for summary_id, text in (
        (lower.memory_id, "Ran 3 km.\nRan 8 km."),
        (upper.memory_id, "Ran 3 km.\nRan 8 km.\nSwam."),
    ):
        made = await get(service, summary_id)
        assert (made.text, made.authority, made.confidence) == (text, "Derived", 0.2)
        assert (made.status, list(made.source_events)[:2]) == (CANDIDATE, ["c1", "c2"])


async def test_other_owners_candidates_are_not_compressed(service: MemoryService) -> None:
    await candidates(service, c1="One.")
    theirs = pb.NewMemory(memory_id="theirs", text="Two.", status=CANDIDATE)
    await service.retain(pb.RetainRequest(memories=[theirs]), an_agent("bob"))
    with pytest.raises(FailedPrecondition, match="no memory"):
        await compress(service, "c1", "theirs")


def test_ulid_sorts_by_time_and_holds_its_randomness() -> None:
    early, late = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
    assert ulid(early, 2**80 - 1) < ulid(late, 0)
    assert ulid(early, 5)[10:] == "0" * 15 + "5"
    assert ulid(datetime.fromtimestamp(0, UTC), 0) == "0" * 26
