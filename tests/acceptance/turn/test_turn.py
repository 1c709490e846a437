"""One turn, from the question to the fitted context: every source side by side, inside the budget, with reasons."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import grpc
import pytest
import pytest_asyncio

from sidecar.context.assembler import Clocks
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, knowledge_pb2, memory_pb2, profile_pb2
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import (
    BOAT,
    QUESTION,
    THREAD,
    as_superuser,
    asking,
    assembled,
    explained,
    fill,
    knobs,
    locked,
    recount,
    refusal,
    report,
    said,
    statuses,
)
from tests.support.waiting import until_equal

THREAD_SOURCE, KNOWLEDGE = items_pb2.SOURCE_THREAD, items_pb2.SOURCE_KNOWLEDGE
MEMORY, WIKI = items_pb2.SOURCE_MEMORY, items_pb2.SOURCE_WIKI
LISTENERS = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"
KEPT, SHORTENED = items_pb2.DECISION_KEPT, items_pb2.DECISION_SHORTENED


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def site(shared_site: Site, tenant: str) -> Site:
    """The module's sidecar, called by a tenant of the test's own."""
    return replace(shared_site, tenant=tenant)


@pytest_asyncio.fixture(loop_scope="module")
async def agent(site: Site) -> Caller:
    """An agent whose owner has something in every source."""
    return await fill(site)


async def test_every_source_contributes_to_one_answer(agent: Caller) -> None:
    answer = await assembled(agent, asking(overrides=profile_pb2.Profile(history_turns=2)))
    answered = {"THREAD": "OK", "KNOWLEDGE": "OK", "MEMORY": "OK", "WIKI": "OK"}
    assert statuses(answer) == answered | {"WORKSPACE": "SKIPPED", "TOOLS": "SKIPPED"}
    assert {item.source for item in answer.items} == {THREAD_SOURCE, KNOWLEDGE, MEMORY, WIKI}
    assert not answer.degraded
    sent = "".join(block.text for block in answer.system_blocks)
    for text in (BOAT, "stands on blocks", "under a green cover", "leaked all winter"):
        assert text in sent
    assert answer.messages[-1].text == "It was paid in March."


async def test_every_item_carries_its_provenance_and_its_cost(agent: Caller) -> None:
    answer = await assembled(agent)
    kinds = {
        item.source: {one.kind for one in item.provenance} for item in answer.items if item.source != THREAD_SOURCE
    }
    assert kinds == {KNOWLEDGE: {"document", "chunk"}, MEMORY: {"memory"}, WIKI: {"page", "memory"}}
    for item in answer.items:
        assert all(one.ref for one in item.provenance)
        assert item.provenance
        assert item.tokens > 0
        assert item.HasField("freshness_time") or item.source == KNOWLEDGE
        assert any(f"[{item.mark}] {item.text}" in block.text for block in answer.system_blocks)


async def test_token_counts_add_up(agent: Caller) -> None:
    answer = await assembled(agent, asking(overrides=profile_pb2.Profile(budget_tokens=150)))
    assert {one.decision for one in answer.decisions} > {KEPT}, "something is left out of a small budget"
    for one in answer.sources:
        by_id = {other.item_id: other.decision for other in answer.decisions if other.source == one.source}
        decided = list(by_id.values())  # a turn's decision follows that of the same turn found by search
        whole, shortened = decided.count(KEPT), decided.count(SHORTENED)
        counts = (one.offered_count, one.included_count, one.shortened_count, one.dropped_count)
        assert counts == (len(decided), whole, shortened, len(decided) - whole - shortened)
    absent = [one for one in answer.decisions if one.decision not in (KEPT, SHORTENED)]
    assert all(one.reason and not one.tokens for one in absent)
    listed = {decision.item_id for decision in answer.decisions if decision.form and decision.source != THREAD_SOURCE}
    assert listed == {item.id for item in answer.items if item.source != THREAD_SOURCE}


@pytest.mark.parametrize("budget", [64, 100, 200, 100_000])
async def test_rendered_context_is_counted_and_fits(agent: Caller, budget: int) -> None:
    answer = await assembled(agent, asking(overrides=profile_pb2.Profile(budget_tokens=budget)))
    pool = answer.budget
    assert recount(answer) == pool.used_tokens <= pool.pool_tokens <= budget
    assert sum(one.included_tokens for one in answer.sources) <= pool.used_tokens
    spent = pool.system_tokens + pool.tool_tokens + pool.response_reserve_tokens + pool.message_tokens
    assert pool.window_tokens - spent - pool.headroom_tokens >= pool.pool_tokens


async def test_prompt_parts_are_given_as_texts_or_as_counts(agent: Caller) -> None:
    as_text = asking(system=pb.Spent(text="Be brief."), tools=pb.Spent(tokens=70), response_reserve_tokens=11)
    budget = (await assembled(agent, as_text)).budget
    assert (budget.system_tokens, budget.tool_tokens, budget.response_reserve_tokens) == (3, 70, 11)
    nothing = (await assembled(agent, asking(system=pb.Spent(tokens=0)))).budget
    assert (nothing.system_tokens, nothing.response_reserve_tokens) == (0, 2048)


async def test_assembling_appends_no_turn(site: Site, agent: Caller) -> None:
    counting = "SELECT count(*) FROM turns"
    before = await as_superuser(site, counting)
    await assembled(agent, asking(client_turn_id="u99"))
    assert await as_superuser(site, counting) == before


async def test_turns_are_said_at_any_time_from_the_first_to_the_last(agent: Caller) -> None:
    turns = [pb.NewTurn(client_turn_id=name, role="user", text=f"It was {name}.") for name in ("first", "last")]
    turns[0].said_time.FromDatetime(datetime.min)  # noqa: DTZ901  # the message knows no zones
    turns[1].said_time.FromDatetime(datetime.max)  # noqa: DTZ901
    for turn in turns:
        appended = await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="all times", turns=[turn]))
        assert len(appended.turn_ids) == 1
    assert (await assembled(agent, asking("When was it?", thread_id="all times"))).messages


async def test_current_message_is_never_included_twice(agent: Caller) -> None:
    message = "Is the boat dry this winter?"
    turn = pb.NewTurn(client_turn_id="now", role="user", text=message)
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=[turn]))
    answer = await assembled(agent, asking(message, client_turn_id="now"))
    assert message not in str(answer.messages) + str(answer.system_blocks)
    assert answer.messages[-1].text == "It was paid in March.", "the last exchange is the one before it"
    unnamed = await assembled(agent, asking(message))
    assert unnamed.messages[-1].text == message, "without its id a stored turn is history"


async def test_items_seen_by_the_caller_are_left_out_with_that_decision(agent: Caller) -> None:
    first = await assembled(agent)
    seen = [item.id for item in first.items]
    again = await assembled(agent, asking(seen_item_ids=seen))
    assert not again.items
    fates = {one.item_id: one.decision for one in again.decisions if one.item_id in seen}
    assert fates == dict.fromkeys(seen, items_pb2.DECISION_ALREADY_SEEN)


async def test_override_applies_to_its_own_turn_only(agent: Caller) -> None:
    off = await assembled(agent, asking(overrides=knobs(WIKI, enabled=False)))
    assert statuses(off)["WIKI"] == "SKIPPED"
    assert report(off, WIKI).reason == "off in the profile"
    one = await assembled(agent, asking(overrides=knobs(MEMORY, top_k=1)))
    assert report(one, MEMORY).offered_count == 1
    assert statuses(await assembled(agent))["WIKI"] == "OK"


async def test_changed_profile_is_in_force_from_the_next_turn(site: Site, agent: Caller) -> None:
    admin = site.caller(admin=True)
    template = profile_pb2.PROFILE_LEVEL_TEMPLATE
    for version, enabled in enumerate((False, True, False, True), start=1):
        profile = knobs(MEMORY, enabled=enabled)
        await admin.SetProfile(profile_pb2.SetProfileRequest(level=template, ref="default", profile=profile))
        answer = await assembled(agent)
        assert statuses(answer)["MEMORY"] == ("OK" if enabled else "SKIPPED")
        assert answer.profile_version == f"template:default@{version}"


@pytest.mark.parametrize("is_missed", [False, True])
async def test_profile_changed_in_another_process_is_in_force_after_a_notice(
    settings: Settings, is_missed: bool
) -> None:
    slow = Clocks(now=partial(datetime.now, UTC), steady_s=lambda: time.monotonic() / 1_000)  # caches do not expire
    async with served(settings, slow) as here, served(settings) as there:
        agent = await fill(here)
        await assembled(agent)
        if is_missed:
            await as_superuser(here, f"SELECT count(pg_terminate_backend(pid)) {LISTENERS}")
        off, level = knobs(WIKI, enabled=False), profile_pb2.PROFILE_LEVEL_TENANT
        await there.caller(admin=True).SetProfile(profile_pb2.SetProfileRequest(level=level, profile=off))

        async def wiki_status() -> str:
            return statuses(await assembled(agent))["WIKI"]

        await until_equal(wiki_status, "SKIPPED")
        assert (await assembled(agent)).profile_version == "tenant:@1"


async def test_base_is_searched_from_the_turn_after_its_assignment(site: Site, agent: Caller) -> None:
    admin = site.caller(admin=True)
    which: dict[str, Any] = {"base": "handbook", "level": knowledge_pb2.ASSIGNEE_LEVEL_TEMPLATE, "ref": "default"}
    await admin.UnassignBase(knowledge_pb2.UnassignBaseRequest(**which))
    answer = await assembled(agent)
    assert report(answer, KNOWLEDGE).status == items_pb2.SOURCE_STATUS_SKIPPED
    assert "no knowledge base is assigned" in report(answer, KNOWLEDGE).reason
    await admin.AssignBase(knowledge_pb2.AssignBaseRequest(**which))
    assert statuses(await assembled(agent))["KNOWLEDGE"] == "OK"


@pytest.mark.parametrize("allocation", ["PRIORITY", "SEED_ORDER", "POOLED"])
async def test_last_exchange_is_always_included(agent: Caller, allocation: str) -> None:
    how = profile_pb2.Allocation.Value(f"ALLOCATION_{allocation}")
    profile = profile_pb2.Profile(allocation=how, budget_tokens=64, history_turns=0, history_tail_tokens=0)
    answer = await assembled(agent, asking(overrides=profile))
    assert [one.text for one in answer.messages] == ["Is the cover paid?", "It was paid in March."]
    assert not answer.last_exchange_cut


async def test_last_exchange_above_the_pool_is_cut_in_the_middle_and_marked(agent: Caller) -> None:
    long = said(("How was it?", "BEGIN " + "It rained and rained. " * 400 + "END"), start=90)
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=long))
    answer = await assembled(agent, asking(overrides=profile_pb2.Profile(budget_tokens=200)))
    assert answer.last_exchange_cut
    assert recount(answer) == answer.budget.used_tokens <= 200
    assert answer.messages[-1].text.startswith("BEGIN")
    assert answer.messages[-1].text.endswith("END")


async def test_tool_call_keeps_its_result(agent: Caller) -> None:
    call = items_pb2.MessagePart(tool_call=items_pb2.ToolCall(id="c1", name="weather"))
    call.tool_call.arguments.update({"place": "Trieste"})
    result = items_pb2.MessagePart(tool_result=items_pb2.ToolResult(call_id="c1", content="Bora, 40 knots"))
    orphan = items_pb2.MessagePart(tool_result=items_pb2.ToolResult(call_id="gone", content="nobody asked"))
    turns = [
        pb.NewTurn(client_turn_id="w0", role="user", text="Windy?"),
        pb.NewTurn(client_turn_id="w1", role="assistant", parts=[call]),
        pb.NewTurn(client_turn_id="w2", role="tool", parts=[result, orphan]),
    ]
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=turns))
    answer = await assembled(agent)
    assert [list(one.parts) for one in answer.messages[-2:]] == [[call], [result]], "the orphan stays out"
    assert recount(answer) <= answer.budget.used_tokens, "its share of what was counted at writing is not given back"


async def test_same_question_gives_the_same_bytes(agent: Caller) -> None:
    answers = [await assembled(agent) for _ in range(3)]
    assert len({one.content_sha256 for one in answers}) == 1
    assert len({one.receipt_id for one in answers}) == 3


async def test_repeated_request_gets_the_first_answer(site: Site, agent: Caller) -> None:
    request = asking(request_id="once")
    first = await assembled(agent, request)
    assert await assembled(agent, request) == first
    other_owner = await fill(site, owner="noor")
    assert (await assembled(other_owner, request)).receipt_id != first.receipt_id


async def test_the_caller_chooses_how_much_of_the_assembly_the_answer_holds(agent: Caller) -> None:
    whole = await assembled(agent, asking())
    answers = {
        detail: await assembled(agent, asking(detail=detail))
        for detail in (pb.ASSEMBLY_DETAIL_CONTEXT, pb.ASSEMBLY_DETAIL_ITEMS, pb.ASSEMBLY_DETAIL_DECISIONS)
    }
    for detail, answer in answers.items():
        assert (answer.content_sha256, answer.budget) == (whole.content_sha256, whole.budget)
        assert (answer.system_blocks, answer.messages) == (whole.system_blocks, whole.messages)
        assert len(answer.decisions) == (len(whole.decisions) if detail is pb.ASSEMBLY_DETAIL_DECISIONS else 0)
        receipt = await explained(agent, answer.receipt_id)
        assert len(receipt.decisions) == len(whole.decisions) > 0
    bare = pb.Assembly(items=whole.items)
    for item in bare.items:
        item.ClearField("text")
    assert answers[pb.ASSEMBLY_DETAIL_CONTEXT].items == bare.items != []
    assert answers[pb.ASSEMBLY_DETAIL_ITEMS].items == whole.items
    assert answers[pb.ASSEMBLY_DETAIL_DECISIONS].items == whole.items


async def test_an_unknown_detail_is_refused_by_its_field(agent: Caller) -> None:
    code, _, field = await refusal(agent.AssembleContext(asking(detail=9)))
    assert (code, field) == (grpc.StatusCode.INVALID_ARGUMENT, "detail")


async def test_concurrent_repeats_are_one_assembly(agent: Caller) -> None:
    answers = await asyncio.gather(*(assembled(agent, asking(request_id="many")) for _ in range(16)))
    assert all(answer == answers[0] for answer in answers)
    listed = await agent.ListAssemblies(pb.ListAssembliesRequest())
    receipts = getattr(listed, "receipts", [])
    assert [one.receipt_id for one in receipts] in ([], [answers[0].receipt_id])


async def test_unknown_thread_is_empty_and_the_other_sources_answer(agent: Caller) -> None:
    answer = await assembled(agent, asking(thread_id="never said"))
    assert statuses(answer)["THREAD"] == "EMPTY"
    assert not answer.messages
    assert BOAT in str(answer.system_blocks)


async def test_owner_without_data_gets_an_answer(site: Site) -> None:
    answer = await assembled(site.caller(owner="newborn"), asking(QUESTION))
    assert set(statuses(answer).values()) == {"EMPTY", "SKIPPED"}
    assert not answer.degraded
    assert answer.items == []
    assert answer.budget.used_tokens == recount(answer) < 30


async def test_pinned_memory_is_in_every_context_until_it_is_forgotten(site: Site, agent: Caller) -> None:
    rule = memory_pb2.NewMemory(memory_id="rule", text="Mara wants answers in Portuguese.", pinned=True)
    await agent.Retain(memory_pb2.RetainRequest(memories=[rule]))
    for message in ("👍", QUESTION, "What is 17*23?"):
        answer = await assembled(agent, asking(message))
        assert [block.zone for block in answer.system_blocks[:2]] == ["stable", "stable"]
        assert "[p1] Mara wants answers in Portuguese.\n" in answer.system_blocks[1].text
        told = [one for one in answer.decisions if one.item_id == "memory:rule"]
        assert [(one.decision, one.reason) for one in told] == [(KEPT, "pinned")]
        assert recount(answer) == answer.budget.used_tokens
    await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="rule"))
    after = await assembled(agent, asking("👍"))
    assert "Portuguese" not in str(after.system_blocks)


async def test_pinned_memory_is_in_a_turn_whose_memory_search_hangs(site: Site, agent: Caller) -> None:
    rule = memory_pb2.NewMemory(memory_id="rule", text="Mara wants answers in Portuguese.", pinned=True)
    told = [
        memory_pb2.NewMemory(memory_id=name, text=f"{QUESTION} {name}.", status=memory_pb2.MEMORY_STATUS_CANDIDATE)
        for name in ("one", "two")
    ]
    await agent.Retain(memory_pb2.RetainRequest(memories=[rule, *told]))
    await agent.CompressMemories(memory_pb2.CompressMemoriesRequest(memory_ids=["one", "two"]))
    async with locked(site, "memory_supersessions"):  # where the search looks up what a recalled summary stands for
        answer = await assembled(agent, asking(overrides=knobs(MEMORY, deadline_ms=3_000)))
    assert statuses(answer)["MEMORY"] == "TIMEOUT"
    assert "its pinned memories were read separately" in report(answer, MEMORY).reason
    assert "[p1] Mara wants answers in Portuguese.\n" in answer.system_blocks[1].text
    assert answer.degraded
    assert [item.id for item in answer.items if item.source == MEMORY] == ["memory:rule"]
