"""Receipts: content, replay, comparison, and learning from the provider's counts."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToDict

from sidecar.process.app import running
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from store.scope import tenant_uuid
from tests.support.served.site import Caller, Site
from tests.support.served.turns import (
    LOCAL,
    QUESTION,
    THREAD,
    WAITING,
    as_superuser,
    asking,
    assembled,
    explained,
    fill,
    knobs,
    locked,
    recount,
    refusal,
    until_count,
)

CLAUDE = "claude-sonnet-4-5"
REPORTS = "SELECT report_count FROM owner_calibrations WHERE tenant_id = $1"
SUMMARY = (
    "INSERT INTO thread_summaries SELECT tenant_id, owner_id, thread_id, 4, 'The boat leaked and was caulked.',"
    " ARRAY['turn:1'], now() FROM threads ON CONFLICT DO NOTHING"
)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def site(shared_site: Site, tenant: str) -> Site:
    """The module's sidecar, called by a tenant of the test's own."""
    return replace(shared_site, tenant=tenant)


@pytest_asyncio.fixture(loop_scope="module")
async def agent(site: Site) -> Caller:
    return await fill(site)


async def replayed(agent: Caller, receipt_id: str, **overrides: Any) -> pb.ReplayAssemblyResponse:
    profile = profile_pb2.Profile(**overrides)
    response = await agent.ReplayAssembly(pb.ReplayAssemblyRequest(receipt_id=receipt_id, overrides=profile))
    assert isinstance(response, pb.ReplayAssemblyResponse)
    return response


async def reported(agent: Caller, receipt_id: str, input_tokens: int, **counts: Any) -> pb.ReportUsageResponse:
    request = pb.ReportUsageRequest(receipt_id=receipt_id, input_tokens=input_tokens, **counts)
    response = await agent.ReportUsage(request)
    assert isinstance(response, pb.ReportUsageResponse)
    return response


async def test_receipt_agrees_with_the_answer(agent: Caller) -> None:
    request = asking(overrides=profile_pb2.Profile(budget_tokens=260))
    answer = await assembled(agent, request)
    receipt = await explained(agent, answer.receipt_id)
    assert sorted(map(str, receipt.decisions)) == sorted(map(str, answer.decisions))
    assert len({one.decision for one in receipt.decisions}) > 1
    assert list(receipt.sources) == list(answer.sources)
    assert receipt.budget == answer.budget
    told = (receipt.message, receipt.model_id, receipt.thread_id, receipt.agent_id, receipt.profile_version)
    assert told == (QUESTION, "gpt-4o", THREAD, "assistant", answer.profile_version)
    assert receipt.content_sha256 == answer.content_sha256
    assert receipt.profile.budget_tokens == 260
    assert not receipt.HasField("usage")


async def test_explain_assembly_equals_the_answer_item_by_item(site: Site, agent: Caller, is_soak: bool) -> None:
    await as_superuser(site, SUMMARY)
    chance = random.Random(14)
    forms: Counter[str] = Counter()
    for _ in range(400 if is_soak else 30):
        answer = await assembled(agent, any_question(chance))
        receipt = await explained(agent, answer.receipt_id)
        assert Counter(map(str, receipt.decisions)) == Counter(map(str, answer.decisions))
        assert Counter(map(str, stated_items(receipt))) == Counter(map(str, answered_items(answer)))
        assert (list(receipt.sources), receipt.budget) == (list(answer.sources), answer.budget)
        # A turn of the window that was found by search has two decisions, and counts once.
        decided = {(one.source, one.item_id) for one in receipt.decisions}
        offered = Counter(items_pb2.Source.Name(source) for source, _ in decided)
        assert offered == Counter({items_pb2.Source.Name(one.source): one.offered_count for one in receipt.sources})
        forms.update(one.item_id for one in receipt.decisions if one.form)
    assert forms["thread-summary"] > 1


def any_question(chance: random.Random) -> pb.AssembleContextRequest:
    """Return a question with a budget, sources and items seen that differ from call to call."""
    overrides = profile_pb2.Profile(thread_summary=True, budget_tokens=chance.choice([120, 180, 260, 400, 900, 4000]))
    for source in chance.sample(LOCAL, chance.choice([0, 0, 1, 2])):
        overrides.sources.add(source=source, enabled=chance.random() < 0.3, top_k=chance.choice([1, 5]))
    if chance.random() < 0.5:
        overrides.history_turns = chance.choice([1, 4, 10])
    return asking(
        chance.choice([QUESTION, "Is the cover paid?", "errand 3 rope", "unheard-of"]),
        model_id=chance.choice(["gpt-4o", CLAUDE]),
        overrides=overrides,
        seen_item_ids=chance.sample(["memory:boat-dock", "memory:boat-paint", "boat-dock"], chance.choice([0, 0, 2])),
        thread_id=chance.choice([THREAD, THREAD, THREAD, ""]),
    )


def answered_items(answer: pb.Assembly) -> list[tuple[Any, ...]]:
    """Return what an answer says of each item in its context, without the text."""
    return [
        (one.id, one.source, one.mark, one.tokens, one.form, one.rank, [(ref.kind, ref.ref) for ref in one.provenance])
        for one in answer.items
    ]


def stated_items(receipt: pb.Receipt) -> list[tuple[Any, ...]]:
    """Return the same of the items that a receipt's details place in the context."""
    details = MessageToDict(receipt.details)
    summary = (details["history"]["summary"] or {}).get("item")
    rows = [(row["source"], item) for row in details["sources"] for item in row["items"]]
    rows += [("thread", summary)] if summary else []
    return [
        (
            row["id"],
            items_pb2.Source.Value(f"SOURCE_{source.upper()}"),
            row["mark"],
            int(row["tokens"]),
            items_pb2.Form.Value(f"FORM_{row['form']}"),
            int(row["rank"]),
            [(kind, ref) for kind, ref, _ in row["provenance"]],
        )
        for source, row in rows
        if row["form"]
    ]


async def test_replay_without_other_knobs_gives_the_same_bytes(site: Site, agent: Caller) -> None:
    await as_superuser(site, SUMMARY)
    for request in (asking(), asking(model_id=CLAUDE), asking(overrides=profile_pb2.Profile(budget_tokens=200))):
        answer = await assembled(agent, request)
        replay = await replayed(agent, answer.receipt_id)
        assert replay.assembly.content_sha256 == answer.content_sha256
        assert not replay.diff.changes
        assert not replay.diff.first_changed_zone
        assert not replay.assembly.receipt_id
        assert list(replay.assembly.system_blocks) == list(answer.system_blocks)
        assert list(replay.assembly.messages) == list(answer.messages)


async def test_replay_with_a_smaller_budget_shows_the_difference(agent: Caller) -> None:
    answer = await assembled(agent)
    replay = await replayed(agent, answer.receipt_id, budget_tokens=140)
    assert recount(replay.assembly) == replay.assembly.budget.used_tokens <= 140
    gone = {one.id for one in answer.items} - {one.item_id for one in replay.assembly.decisions if one.form}
    assert gone
    changed = {one.item_id: one.after for one in replay.diff.changes}
    assert gone <= changed.keys()
    assert sum(replay.diff.token_deltas.values()) < 0
    assert replay.diff.first_changed_zone


async def test_replay_calls_no_source(agent: Caller) -> None:
    answer = await assembled(agent)
    await agent.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(text="The boat sank this winter.")]))
    replay = await replayed(agent, answer.receipt_id)
    assert replay.assembly.content_sha256 == answer.content_sha256
    off = await agent.ReplayAssembly(
        pb.ReplayAssemblyRequest(receipt_id=answer.receipt_id, overrides=knobs(items_pb2.SOURCE_MEMORY, enabled=False))
    )
    assert isinstance(off, pb.ReplayAssemblyResponse)
    assert not [item for item in off.assembly.items if item.source == items_pb2.SOURCE_MEMORY]


async def test_two_assemblies_are_compared(agent: Caller) -> None:
    before = await assembled(agent)
    after = await assembled(agent, asking(overrides=knobs(items_pb2.SOURCE_WIKI, enabled=False)))
    request = pb.DiffAssembliesRequest(before_receipt_id=before.receipt_id, after_receipt_id=after.receipt_id)
    response = await agent.DiffAssemblies(request)
    assert isinstance(response, pb.DiffAssembliesResponse)
    assert response.diff.status_changes["wiki"] == "OK → SKIPPED"
    pages = [one for one in response.diff.changes if one.source == items_pb2.SOURCE_WIKI]
    assert pages
    assert all(one.before and not one.after for one in pages)
    assert response.diff.token_deltas["wiki"] < 0


async def test_receipts_are_listed_newest_first_without_their_candidates(agent: Caller) -> None:
    ids = [(await assembled(agent)).receipt_id for _ in range(3)]
    elsewhere = (await assembled(agent, asking(thread_id="elsewhere"))).receipt_id
    await explained(agent, elsewhere)
    here = await agent.ListAssemblies(pb.ListAssembliesRequest(thread_id=THREAD))
    assert isinstance(here, pb.ListAssembliesResponse)
    assert [one.receipt_id for one in here.receipts] == ids[::-1]
    assert not any(one.decisions or one.details.fields for one in here.receipts)
    assert [len(one.sources) for one in here.receipts] == [6, 6, 6]
    page = await agent.ListAssemblies(pb.ListAssembliesRequest(page_size=2))
    assert isinstance(page, pb.ListAssembliesResponse)
    assert [one.receipt_id for one in page.receipts] == [elsewhere, ids[2]]
    assert page.next_page_token


async def test_receipt_without_its_texts_is_explained_but_not_replayed(settings: Settings) -> None:
    async with _site(replace(settings, receipt_text_days=0)) as site:
        agent = await fill(site)
        answer = await assembled(agent)
        assert len((await explained(agent, answer.receipt_id)).decisions) == len(answer.decisions)
        code, reason, _ = await refusal(agent.ReplayAssembly(pb.ReplayAssemblyRequest(receipt_id=answer.receipt_id)))
        assert (code, reason) == (grpc.StatusCode.FAILED_PRECONDITION, "TEXTS_DROPPED")


async def test_receipt_dropped_by_a_full_queue_is_reported_as_dropped(settings: Settings) -> None:
    async with _site(replace(settings, receipt_queue=1)) as site:
        agent = await fill(site)
        await explained(agent, (await assembled(agent)).receipt_id)
        async with locked(site, "receipts"):
            first = await assembled(agent)
            await until_count(site, f"{WAITING} AND query LIKE '%INSERT INTO receipts%'", 1)
            waiting, dropped = await assembled(agent), await assembled(agent)
            assert dropped.decisions, "the answer itself carries the decisions"
        for kept in (first, waiting):
            assert (await explained(agent, kept.receipt_id)).content_sha256 == kept.content_sha256
        request = pb.ExplainAssemblyRequest(receipt_id=dropped.receipt_id)
        code, reason, _ = await refusal(agent.ExplainAssembly(request))
        assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "RECEIPT_DROPPED")
        assert site.app.receipt_writer.dropped_count == 1


async def test_unknown_receipt_is_not_found_however_busy_the_writer(site: Site, agent: Caller) -> None:
    unknown = "00000000-0000-4000-8000-000000000000"
    async with locked(site, "receipt_texts"):
        await assembled(agent)
        code, reason, _ = await refusal(agent.ExplainAssembly(pb.ExplainAssemblyRequest(receipt_id=unknown)))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")


async def test_usage_reports_teach_a_models_ratio_to_their_tenant_alone(site: Site, agent: Caller) -> None:
    before = await assembled(agent, asking(model_id=CLAUDE))
    assert not before.budget.is_exact
    estimated = before.budget.used_tokens + before.budget.message_tokens
    ratios = []
    for _ in range(8):
        answer = await assembled(agent, asking(model_id=CLAUDE))
        learned = await reported(agent, answer.receipt_id, round(estimated * 1.4), output_tokens=5)
        assert learned.expected_input_tokens == answer.budget.used_tokens + answer.budget.message_tokens
        ratios.append(learned.ratio)
    assert ratios[:4] == [1.0] * 4, "a few reports are not believed yet"
    assert ratios[4:] == sorted(ratios[4:])
    assert 1.3 < ratios[-1] < 1.5
    after = await assembled(agent, asking(model_id=CLAUDE))
    assert after.budget.message_tokens > before.budget.message_tokens
    assert after.budget.used_tokens > before.budget.used_tokens
    for tenant, owner in ((f"other-{site.tenant}", "mara"), (site.tenant, "noor")):
        stranger = await fill(site, tenant=tenant, owner=owner)
        budget = (await assembled(stranger, asking(model_id=CLAUDE))).budget
        told = (budget.message_tokens, budget.headroom_tokens)
        assert told == (before.budget.message_tokens, before.budget.headroom_tokens)


async def test_false_reports_of_one_owner_change_no_other_owners_counts(site: Site) -> None:
    honest = [await fill(site, owner=owner) for owner in ("mara", "noor")]
    liar, stranger = await fill(site, owner="liar"), await fill(site, owner="newcomer")
    before = {model: (await assembled(stranger, asking(model_id=model))).budget for model in (CLAUDE, "gpt-4o")}
    for model, bound in ((CLAUDE, 1.8), ("gpt-4o", 1.10)):
        assert 1.0 < await teach(liar, 2.1, model) <= bound
        assert (await assembled(stranger, asking(model_id=model))).budget == before[model]
    for agent in honest:
        await teach(agent, 1.2, CLAUDE)
    # The median of 1.2, 1.2 and what the liar says now counts for all, for the liar too.
    for agent in (*honest, liar, stranger):
        budget = (await assembled(agent, asking(model_id=CLAUDE))).budget
        assert 1.1 < budget.message_tokens / before[CLAUDE].message_tokens < 1.3


async def teach(agent: Caller, truth: float, model_id: str) -> float:
    """Report eight times that the provider counted so many times as much as was expected, and return the ratio in force."""
    for _ in range(8):
        answer = await assembled(agent, asking(model_id=model_id))
        ratio = MessageToDict((await explained(agent, answer.receipt_id)).details)["tokenizer"]["ratio"]
        expected_tokens = answer.budget.used_tokens + answer.budget.message_tokens
        learned = await reported(agent, answer.receipt_id, round(expected_tokens / ratio * truth))
    return learned.ratio


async def test_receipt_teaches_once_whatever_is_reported_later(site: Site, agent: Caller) -> None:
    answer = await assembled(agent, asking(model_id=CLAUDE))
    for input_tokens in (900, 950, 1000, 1050, 1100, 1150):
        assert (await reported(agent, answer.receipt_id, input_tokens)).ratio == 1.0
    assert await as_superuser(site, REPORTS, tenant_uuid(site.tenant)) == 1


async def test_repeated_report_teaches_nothing_more(site: Site, agent: Caller) -> None:
    answer = await assembled(agent, asking(model_id=CLAUDE))
    for _ in range(3):
        await reported(agent, answer.receipt_id, 900, used_item_ids=[answer.items[0].id])
    await asyncio.gather(*(reported(agent, answer.receipt_id, 900) for _ in range(8)))
    learned = await as_superuser(site, REPORTS, tenant_uuid(site.tenant))
    assert learned == 1


async def test_latest_report_is_in_the_receipt(agent: Caller) -> None:
    answer = await assembled(agent)
    used = [answer.items[0].id]
    await reported(agent, answer.receipt_id, 10)
    await reported(agent, answer.receipt_id, 900, cache_read_tokens=64, output_tokens=7, used_item_ids=used)
    usage = (await explained(agent, answer.receipt_id)).usage
    assert usage == pb.UsageReport(input_tokens=900, cache_read_tokens=64, output_tokens=7, used_item_ids=used)


@asynccontextmanager
async def _site(settings: Settings) -> AsyncIterator[Site]:
    async with running(settings) as app, grpc.aio.insecure_channel(app.addresses[0]) as channel:
        yield Site(app, settings, channel)
