"""The commands that show turns and money, against a served sidecar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from sidecar.cli.turns.top import _quantile, glance_of
from store.accounting import costs
from store.accounting.costs import CompileCall
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.served.commands import said, told
from tests.support.served.site import Site
from tests.support.served.turns import THREAD, as_superuser, asking, explained, fill


async def test_turns_top_and_cost_agree(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    agent = await fill(site)
    receipt_id = (await agent.AssembleContext(asking())).assembly.receipt_id
    await explained(agent, receipt_id)
    (turn,) = await told(site, capsys, "turns", "--thread", THREAD)
    assert turn["receipt_id"] == receipt_id
    assert await told(site, capsys, "turns", "--degraded") == []
    glance = await told(site, capsys, "top", "--once")
    assert (glance["turns"], glance["tokens"]) == (1, turn["input_tokens"])
    spent = await told(site, capsys, "cost", "show", "--by", "source")
    assert sum(row["input_tokens"] for row in spent["rows"]) == turn["input_tokens"]
    whole = await told(site, capsys, "cost", "show", "--whole-tenant", "--by", "model", admin=True)
    assert [row["key"] for row in whole["rows"]] == ["gpt-4o"]
    for command in (["turns"], ["top", "--once"], ["cost", "show"]):
        code, text = await said(site, capsys, *command)
        assert (code, "1" in text) == (0, True), command


async def test_every_key_shows_the_same_sum(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    agent = await fill(site)
    receipt_id = (await agent.AssembleContext(asking())).assembly.receipt_id
    await explained(agent, receipt_id)
    await told(site, capsys, "usage", "report", receipt_id, "--input", "9000", "--output", "700")
    scope = Scope(tenant_uuid("acme"), owner_uuid("mara"))
    async with scoped(site.app.pools.background, scope) as connection:
        call = CompileCall("leaf", "m-1", 900, 40, 300, 0.25)
        await costs.add_compile_call(connection, scope, call, now=datetime.now(UTC))
    for key in ("day", "source", "thread"):
        code, text = await said(site, capsys, "cost", "show", "--by", key)
        assert (code, text.splitlines()[-1]) == (0, "turns $0.0295, compiles $0.2500"), key


async def test_days_are_shown_in_their_order(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    agent = await fill(site)
    for input_tokens in (9000, 100):
        await as_superuser(site, "UPDATE turn_accounts SET created_at = $1", datetime.now(UTC) - timedelta(days=1))
        receipt_id = (await agent.AssembleContext(asking())).assembly.receipt_id
        await explained(agent, receipt_id)
        await told(site, capsys, "usage", "report", receipt_id, "--input", str(input_tokens))
    code, text = await said(site, capsys, "cost", "show", "--by", "day")
    assert (code, [line.split()[2] for line in text.splitlines()[1:3]]) == (0, ["100", "9,000"])


async def test_compiles_are_shown_by_pass_and_model(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    await fill(site)
    scope = Scope(tenant_uuid("acme"), owner_uuid("mara"))
    async with scoped(site.app.pools.background, scope) as connection:
        for call in (CompileCall("leaf", "m-1", 900, 40, 300, 0.25), CompileCall("leaf", "m-1", 100, 10, 0, 0.05)):
            await costs.add_compile_call(connection, scope, call, now=datetime.now(UTC))
        unpriced = CompileCall("section", "m-2", 7, 3, 0, None)
        await costs.add_compile_call(connection, scope, unpriced, now=datetime.now(UTC))
    rows = await told(site, capsys, "cost", "compiles")
    assert rows == await told(site, capsys, "cost", "compiles", "--whole-tenant", admin=True)
    first, second = rows
    assert (first["in_pass"], first["call_count"], first["input_tokens"], first["cached_tokens"]) == (
        "leaf",
        2,
        1000,
        300,
    )
    assert first["cost_usd"] == pytest.approx(0.3)
    assert (second["model_id"], second["cost_usd"], second["unpriced_tokens"]) == ("m-2", 0, 10)
    code, text = await said(site, capsys, "cost", "compiles")
    assert (code, "compiles $0.3000" in text) == (0, True)


async def test_budgets_are_set_listed_and_removed(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    await told(site, capsys, "budget", "set", "march", "--limit-usd", "50", "--percent", "80", admin=True)
    (one,) = (await told(site, capsys, "budget", "list", admin=True))["budgets"]
    assert (one["name"], one["covers"], one["period"], one["percents"]) == ("march", "tenant", "month", [80])
    assert "$50.00" in (await said(site, capsys, "budget", "list", admin=True))[1]
    assert (await told(site, capsys, "budget", "remove", "march", admin=True))["was_there"]
    assert (await said(site, capsys, "budget", "list"))[0] == 3  # an agent may not


def test_without_turns_the_totals_are_zero() -> None:
    assert (glance_of([]).turns, glance_of([]).p95_ms) == (0, 0.0)
    assert [_quantile([1.0, 2.0, 3.0, 4.0], share) for share in (0.0, 0.5, 1.0)] == [1.0, 3.0, 4.0]
