"""Costs: counts of receipts until the provider reports its own, sums by every key, and budgets."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.services.costs import BudgetWatch
from sidecar.v1 import context_pb2, cost_pb2
from store.accounting import costs
from store.accounting.costs import KEYS, CompileCall
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.served.site import Caller, Site
from tests.support.served.turns import THREAD, asking, explained, fill, refusal

PRICE_PER_TOKEN = 2.5e-6  # of gpt-4o's input


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def site(shared_site: Site, tenant: str) -> Site:
    """The module's sidecar, called by a tenant of the test's own."""
    return replace(shared_site, tenant=tenant)


async def turn(caller: Caller, **fields: Any) -> context_pb2.Receipt:
    """Assemble a turn, and return its receipt once it is written."""
    assembly = (await caller.AssembleContext(asking(**fields))).assembly
    return await explained(caller, assembly.receipt_id)


async def spending(caller: Caller, key: str = "", **fields: Any) -> dict[str, cost_pb2.SpendingRow]:
    by = cost_pb2.SpendingKey.Value(f"SPENDING_KEY_{key.upper() or 'UNSPECIFIED'}")
    answer = await caller.ListSpending(cost_pb2.ListSpendingRequest(by=by, **fields))
    return {row.key: row for row in answer.rows}


async def test_turn_is_accounted_by_source_and_by_every_key(site: Site) -> None:
    agent = await fill(site)
    receipt = await turn(agent)
    (one,) = (await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest())).turns
    budget = receipt.budget
    whole = budget.system_tokens + budget.tool_tokens + budget.message_tokens + budget.used_tokens
    assert (one.receipt_id, one.thread_id, one.input_tokens) == (receipt.receipt_id, THREAD, whole)
    included = {row.source: row.included_tokens for row in receipt.sources if row.included_tokens}
    assert sorted(tokens for tokens in one.source_tokens.values() if tokens) == sorted(included.values())
    assert one.cost_usd == pytest.approx(whole * PRICE_PER_TOKEN)
    for key in ("", *KEYS):
        (row,) = (await spending(agent, key)).values()
        assert (row.turn_count, row.input_tokens) == (1, whole), key
        assert row.cost_usd == pytest.approx(whole * PRICE_PER_TOKEN), key
    by_source = await spending(agent, "source")
    assert sum(row.input_tokens for row in by_source.values()) == whole
    assert by_source["wiki"].input_tokens == one.source_tokens["wiki"]
    assert by_source["prompt"].input_tokens == whole - budget.used_tokens


async def test_providers_counts_replace_ours(site: Site) -> None:
    agent = await fill(site)
    receipt = await turn(agent)
    report = context_pb2.ReportUsageRequest(receipt_id=receipt.receipt_id, input_tokens=1000, output_tokens=100)
    await agent.ReportUsage(report)
    (one,) = (await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest())).turns
    assert (one.is_reported, one.input_tokens, one.output_tokens) == (True, 1000, 100)
    assert one.cost_usd == pytest.approx(1000 * PRICE_PER_TOKEN + 100 * 10e-6)


async def test_turns_of_an_unpriced_model_are_counted_but_not_priced(site: Site) -> None:
    agent = await fill(site)
    await turn(agent, model_id="house-model", context_window_tokens=9000)
    (one,) = (await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest())).turns
    assert not one.HasField("cost_usd")
    (row,) = (await spending(agent, "model")).values()
    assert (row.key, row.cost_usd, row.unpriced_tokens) == ("house-model", 0, one.input_tokens)


async def test_tokens_without_a_price_leave_the_other_tokens_of_their_model_priced(site: Site) -> None:
    agent = await fill(site)
    first, second = await turn(agent), await turn(agent, thread_id="")
    report = context_pb2.ReportUsageRequest(receipt_id=first.receipt_id, input_tokens=1000, output_tokens=100)
    await agent.ReportUsage(report)
    # The table has no price for writing to the cache of gpt-4o.
    cached = context_pb2.ReportUsageRequest(receipt_id=second.receipt_id, input_tokens=60, cache_write_tokens=50)
    await agent.ReportUsage(cached)
    for key in ("", *KEYS):
        rows = (await spending(agent, key)).values()
        assert sum(row.cost_usd for row in rows) == pytest.approx(1010 * PRICE_PER_TOKEN + 100 * 10e-6), key
        assert sum(row.unpriced_tokens for row in rows) == 50, key


async def test_spending_of_an_owner_has_the_compiles_of_its_wiki(site: Site) -> None:
    agent = await fill(site)
    scope, now = Scope(tenant_uuid(site.tenant), owner_uuid("mara")), datetime.now(UTC)
    async with scoped(site.app.pools.background, scope) as connection:
        await costs.add_compile_call(connection, scope, CompileCall("leaf", "m-1", 900, 40, 300, 0.25), now=now)
    own = await agent.ListSpending(cost_pb2.ListSpendingRequest())
    others = await site.caller(owner="noor").ListSpending(cost_pb2.ListSpendingRequest())
    assert (own.compile_cost_usd, others.compile_cost_usd) == (0.25, 0)


async def test_turn_costs_are_listed_by_page_and_filter(site: Site) -> None:
    agent = await fill(site)
    made = [(await turn(agent)).receipt_id for _ in range(3)]
    first = await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest(page_size=2))
    rest = await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest(page_size=2, page_token=first.next_page_token))
    assert [one.receipt_id for one in (*first.turns, *rest.turns)] == made[::-1]
    assert rest.next_page_token == ""
    for fields, count in (({"thread_id": THREAD}, 3), ({"thread_id": "other"}, 0), ({"degraded_only": True}, 0),
                          ({"least_ms": 1e8}, 0), ({"failed_source": "wiki"}, 0), ({"model_id": "gpt-4o"}, 3)):  # fmt: skip
        assert len((await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest(**fields))).turns) == count, fields
    status = await refusal(agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest(least_ms=float("nan"))))
    assert status[0] is grpc.StatusCode.INVALID_ARGUMENT


async def test_admin_sees_the_tenants_costs_and_an_agent_its_owners(site: Site) -> None:
    agent = await fill(site)
    await turn(agent)
    noor, stranger = site.caller(owner="noor"), site.caller("other")
    await turn(noor, thread_id="")
    admin = site.caller(admin=True)
    assert [row.turn_count for row in (await spending(agent)).values()] == [1]
    assert sorted(row.turn_count for row in (await spending(admin, "owner", whole_tenant=True)).values()) == [1, 1]
    assert await spending(stranger) == {}
    assert (await refusal(agent.ListSpending(cost_pb2.ListSpendingRequest(whole_tenant=True))))[1] == "ADMIN_REQUIRED"
    assert (await refusal(agent.ListBudgets(cost_pb2.ListBudgetsRequest())))[1] == "ADMIN_REQUIRED"
    assert (await refusal(agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest(owner_id="noor"))))[1] == "SCOPE_FORBIDDEN"


async def test_whole_tenant_and_one_owner_together_are_refused(site: Site) -> None:
    admin = site.caller(admin=True)
    for work in (
        admin.ListSpending(cost_pb2.ListSpendingRequest(whole_tenant=True, owner_id="mara")),
        admin.ListCompileSpending(cost_pb2.ListCompileSpendingRequest(whole_tenant=True, owner_id="mara")),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await work
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert {"whole_tenant", "owner_id"} <= set(re.findall(r"\w+", caught.value.details() or ""))


def budget(**fields: Any) -> cost_pb2.PutBudgetRequest:
    given: dict[str, Any] = {
        "name": "daily",
        "covers": cost_pb2.BUDGET_COVER_TENANT,
        "period": cost_pb2.BUDGET_PERIOD_DAY,
    }
    return cost_pb2.PutBudgetRequest(budget=cost_pb2.CostBudget(**given | {"limit_usd": 1.0} | fields))


async def test_week_before_the_beginning_of_time_is_empty(site: Site) -> None:
    first = Timestamp()
    first.FromJsonString("0001-01-01T00:00:00Z")
    assert await spending(site.caller(), until_time=first) == {}


async def test_crossed_budget_alerts_once_for_each_share(site: Site) -> None:
    agent, admin = await fill(site), site.caller(admin=True)
    receipt = await turn(agent)
    used = receipt.budget.used_tokens + receipt.budget.message_tokens
    await admin.PutBudget(budget(limit_usd=used * PRICE_PER_TOKEN / 0.9))
    for name, fields in (("mara", {"covers": cost_pb2.BUDGET_COVER_OWNER, "ref": "mara"}),
                         ("idle", {"covers": cost_pb2.BUDGET_COVER_AGENT, "ref": "nobody"})):  # fmt: skip
        await admin.PutBudget(budget(name=name, limit_usd=1e-9, percents=[100], **fields))
    heard: list[int] = []
    watch = BudgetWatch(site.app.pools.background, now=lambda: datetime.now(UTC), on_crossed=heard.append)
    await watch.look()
    await watch.look()
    told = await admin.ListBudgets(cost_pb2.ListBudgetsRequest())
    assert sorted((alert.name, alert.percent) for alert in told.alerts) == [("daily", 50), ("daily", 80), ("mara", 100)]
    assert sorted(heard) == [50, 80, 100]
    assert (await admin.DeleteBudget(cost_pb2.DeleteBudgetRequest(name="daily"))).was_there
    assert not (await admin.DeleteBudget(cost_pb2.DeleteBudgetRequest(name="daily"))).was_there
    left = await admin.ListBudgets(cost_pb2.ListBudgetsRequest())
    assert ([one.name for one in left.budgets], len(left.alerts)) == (["idle", "mara"], 1)


async def test_unusable_budgets_are_refused_by_field(site: Site) -> None:
    admin = site.caller(admin=True)
    for fields, field in (
        ({"limit_usd": 1e-320}, "budget.limit_usd"),
        ({"limit_usd": float("nan")}, "budget.limit_usd"), ({"limit_usd": 0}, "budget.limit_usd"),
        ({"name": "a b"}, "budget.name"), ({"covers": 0}, "budget.covers"), ({"period": 0}, "budget.period"),
        ({"percents": [0]}, "budget.percents"), ({"ref": "x"}, "budget.ref"),
        ({"covers": cost_pb2.BUDGET_COVER_AGENT}, "budget.ref"),
    ):  # fmt: skip
        assert await refusal(admin.PutBudget(budget(**fields))) == (
            grpc.StatusCode.INVALID_ARGUMENT, "INVALID_ARGUMENT", field,
        ), fields  # fmt: skip
