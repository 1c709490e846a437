"""The console over HTTP: sign-in, the content of each page, rights of admins, and defences against a hostile browser."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from urllib.parse import quote

import grpc
import httpx
import pytest
import pytest_asyncio

from compiler.plan.contract import CreatePage, Page, PageKey, PageType
from compiler.state.operator_acts import enact
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery
from sidecar.process.app import running
from sidecar.runtime.settings import Settings
from sidecar.turn.items import Source
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import cost_pb2
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.databases import database_clone
from tests.support.served.console_browser import asked, browser, csrf_token_of
from tests.support.served.site import Caller, Site, ready, served
from tests.support.served.turns import BOAT, QUESTION, THREAD, asking, explained, fill
from tests.support.waiting import next_round

PAGES = (
    "/turns", "/threads", f"/thread?id={THREAD}", "/wiki", "/wiki/graph", "/wiki/graph.json", "/wiki/mentions", "/owner",
    "/wiki/entity/calypso", "/wiki?order=time", "/wiki?order=name", "/compiles", "/quarantine", "/sources", "/spending",
    "/spending?by=source&days=30", "/reads", "/from/memory?id=boat-dock", "/ontology", "/ontology/changes", "/ontology/versions",
)  # fmt: skip


NOW = datetime(2026, 3, 1, tzinfo=UTC)


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def console(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A served sidecar with its console."""
    home = tmp_path_factory.mktemp("console")
    async with (
        database_clone(migrated_template) as dsn,
        served(await ready(dsn, home, console_listen="127.0.0.1:0")) as site,
    ):
        yield site


@pytest_asyncio.fixture(loop_scope="module")
async def desk(console: Site, tenant: str) -> Site:
    """The console as seen by a tenant of the test's own, with a small world in it."""
    site = replace(console, tenant=tenant)
    await fill(site)
    return site


async def test_every_page_needs_a_session(desk: Site) -> None:
    await asked(desk)
    async with browser(desk, signs_in=False) as stranger:
        for page in PAGES:
            answer = await stranger.get(page)
            assert (answer.status_code, answer.headers["location"].partition("?")[0]) == (303, "/login"), page
        assert (await stranger.get("/static/style.css")).status_code == 200
    async with browser(desk, admin=True) as client:
        for page in PAGES:
            answer = await client.get(page)
            assert answer.status_code == 200, page
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "unsafe" not in policy
            if "json" not in page:
                assert answer.text.count("<h1>") == 1, page
                assert answer.text.count('aria-current="page"') <= 1, page
                assert not re.findall(r'(?:src|href)="(?:https?:)?//|<script>| style="| on\w+="', answer.text), page


async def test_bad_token_is_refused_and_a_session_ends_with_its_token(desk: Site) -> None:
    async with browser(desk, signs_in=False) as client:
        for token in ("", "nonsense", desk.token()[:-8] + "AAAAAAAA", "é"):
            answer = await client.post("/login", data={"token": token})
            assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)
    async with browser(desk) as client:
        cookie = (await client.post("/login", data={"token": desk.token()})).headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=strict" in cookie
        await desk.caller(admin=True).RevokeTokens(_revoking())
        assert (await client.get("/turns")).headers["location"].startswith("/login")


async def test_page_that_was_wanted_is_shown_after_signing_in_and_choosing_an_owner(desk: Site) -> None:
    async with browser(desk, signs_in=False) as client:
        wanted = f"/thread?id={quote('a&b#c %3F', safe='')}&after=1"
        form = await client.get(wanted, follow_redirects=True)
        assert form.url.path == "/login"
        mistyped = await client.post("/login", data=_fields(form.text) | {"token": "mistyped"})
        signed_in = await client.post(
            "/login", data=_fields(mistyped.text) | {"token": desk.token(admin=True)}, follow_redirects=True
        )
        assert signed_in.url.path == "/owner"
        shown = await client.post("/owner", data=_fields(signed_in.text) | {"owner": "mara"})
        assert shown.headers["location"] == wanted


def _fields(page: str) -> dict[str, str]:
    """Return the hidden fields of a page."""
    found = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', page)
    return {name: unescape(value) for name, value in found}


async def test_cookies_are_secure_behind_a_tls_proxy(settings: Settings) -> None:
    told = replace(settings, console_listen="127.0.0.1:0", console_tls_proxy=True)
    async with served(told) as site, browser(site, signs_in=False) as client:
        answer = await client.post("/login", data={"token": site.token()})
        assert "secure" in {part.strip() for part in answer.headers["set-cookie"].lower().split(";")}
        session = {"cookie": answer.headers["set-cookie"].partition(";")[0]}
        page = await client.get("/turns", headers=session)
        csrf = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
        assert csrf is not None
        out = await client.post("/logout", data={"csrf_token": csrf[1]}, headers=session)
        assert "secure" in {part.strip() for part in out.headers["set-cookie"].lower().split(";")}


def _revoking() -> object:
    from google.protobuf.timestamp_pb2 import Timestamp

    from sidecar.v1 import admin_pb2

    soon = Timestamp()
    soon.GetCurrentTime()
    soon.seconds += 30
    return admin_pb2.RevokeTokensRequest(not_before_time=soon)


async def test_turn_page_explains_its_decisions(desk: Site) -> None:
    receipt_id = await asked(desk)
    receipt = await explained(desk.caller(), receipt_id)
    async with browser(desk) as client:
        assert f"/turns/{receipt_id}" in (await client.get("/turns")).text
        text = unescape((await client.get(f"/turns/{receipt_id}")).text)
        again = unescape((await client.get(f"/turns/{receipt_id}?budget=128&wiki.top_k=1")).text)
    assert QUESTION in text
    assert "The boat Calypso winters in the old dock." in text
    for decision in receipt.decisions:
        assert decision.item_id in text
    assert f"used {receipt.budget.used_tokens:,}" in text
    assert "Pool: 128," in again
    assert "over_budget" in again


async def test_turn_is_compared_with_the_one_before(desk: Site) -> None:
    await asked(desk)
    later = await asked(desk)
    async with browser(desk) as client:
        assert "Nothing differs." in (await client.get(f"/turns/{later}/diff")).text


async def test_filters_find_the_matching_turns(desk: Site) -> None:
    receipt_id = await asked(desk)
    async with browser(desk) as client:
        for query, is_there in (("thread=harbour", True), ("thread=other", False), ("degraded=1", False),
                                ("slower_ms=900000", False), ("failed=wiki", False), ("model=gpt-4o", True)):  # fmt: skip
            assert (receipt_id in (await client.get(f"/turns?{query}")).text) is is_there, query


async def test_another_owners_turns_are_not_shown(desk: Site) -> None:
    receipt_id = await asked(desk)
    base = f"http://{desk.app.console_address}"
    async with httpx.AsyncClient(base_url=base, headers={"origin": base}, timeout=60) as client:
        await client.post("/login", data={"token": desk.token(owner="noor")})
        assert (await client.get(f"/turns/{receipt_id}")).status_code == 404
        assert receipt_id not in (await client.get("/turns")).text
        csrf = await csrf_token_of(client, "/owner")
        assert (await client.post("/owner", data={"csrf_token": csrf, "owner": "mara"})).status_code == 403


async def test_only_an_admin_acts_on_the_wiki(desk: Site) -> None:
    async with browser(desk) as agent:
        csrf = await csrf_token_of(agent, "/wiki")
        assert (await agent.post("/wiki/entity/calypso/archive", data={"csrf_token": csrf})).status_code == 403
        assert (await agent.post("/compiles/start", data={"csrf_token": csrf})).status_code == 403
    async with browser(desk, admin=True) as admin:
        csrf = await csrf_token_of(admin, "/wiki")
        assert (
            await admin.post("/wiki/entity/calypso/alias", data={"csrf_token": csrf, "alias": "Sloop"})
        ).status_code == 303
        assert "Sloop" in (await admin.get("/wiki/entity/calypso")).text
        assert (await admin.post("/wiki/entity/calypso/archive", data={"csrf_token": csrf})).status_code == 303
        assert "archived" in (await admin.get("/wiki/entity/calypso")).text
        assert (await admin.post("/compiles/start", data={"csrf_token": csrf})).status_code == 303
        assert "pending" in (await admin.get("/compiles")).text


async def test_console_shows_an_agent_no_more_than_its_calls_return(desk: Site) -> None:
    await asked(desk)
    async with browser(desk, admin=True) as admin:
        assert "Error rate" in (await admin.get("/sources")).text
        assert (await admin.get("/quarantine")).status_code == 200
    async with browser(desk) as agent:
        sources = await agent.get("/sources")
        assert 'id="try"' in sources.text
        for told in ("Error rate", "p95", "Asked", "Backends of this tenant"):
            assert told not in sources.text, told
        # ListQuarantined, ListBudgets and what is the whole tenant's are an admin's.
        assert (await agent.get("/quarantine")).status_code == 403
        assert (await agent.get("/compiles/scopes")).status_code == 403
        for page in ("/turns", "/compiles"):
            assert "uarantine" not in (await agent.get(page)).text, page
        assert "Alerts at" not in (await agent.get("/spending?of=tenant")).text


class Counting:
    """A source that counts how many ask it at once."""

    def __init__(self) -> None:
        self.now = self.most = 0

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            for _ in range(500):
                await next_round()
        finally:  # at its deadline it is cancelled
            self.now -= 1
        return SourceAnswer()


async def test_spending_by_source_shows_the_same_sum_as_by_day(desk: Site) -> None:
    agent = desk.caller()
    receipt_id = (await agent.AssembleContext(asking())).assembly.receipt_id
    await explained(agent, receipt_id)
    await agent.ReportUsage(pb.ReportUsageRequest(receipt_id=receipt_id, input_tokens=9000, output_tokens=700))
    async with browser(desk) as client:
        by_day, by_source = [(await client.get(f"/spending?by={key}")).text for key in ("day", "source")]
    tile = re.compile(r"<dt>Turns</dt><dd>(.*?)</dd>")
    assert tile.findall(by_day) == tile.findall(by_source) == ["$0.0295<small>9,000 tokens in</small>"]


async def test_at_most_two_questions_are_tried_at_once(settings: Settings) -> None:
    counting, told = Counting(), replace(settings, console_listen="127.0.0.1:0")
    async with (
        running(told, sources={Source.MEMORY: counting}) as app,
        grpc.aio.insecure_channel("unused") as channel,
        browser(Site(app, told, channel)) as client,
    ):
        form = {
            "csrf_token": await csrf_token_of(client, "/sources"),
            "message": QUESTION,
            "model": "gpt-4o",
            "memory": "1",
        }
        answers = await asyncio.gather(*(client.post("/sources/try", data=form) for _ in range(12)))
    assert [answer.status_code for answer in answers] == [303] * 12
    assert counting.most <= 2


async def test_question_is_tried_on_the_chosen_sources(desk: Site) -> None:
    async with browser(desk) as client:
        form = {
            "csrf_token": await csrf_token_of(client, "/sources"),
            "message": QUESTION,
            "model": "gpt-4o",
            "patient": "1",
        }
        asked_of = {"memory": "1", "wiki": "1", "in_thread": THREAD}
        answer = await client.post("/sources/try", data=form | asked_of, follow_redirects=True)
        found = re.search(r'href="(/turns/[^"]+)"', answer.text.partition("The whole turn")[0][-200:])
        assert found is not None
        turn = (await client.get(found[1])).text
    assert BOAT in answer.text
    assert re.findall(r'id="s-(\w+)"', answer.text) == ["memory", "wiki"]
    assert f"thread {THREAD}" in turn
    assert "knowledge (off in the profile)" in turn


async def test_unusable_input_is_named_on_the_page(desk: Site) -> None:
    receipt_id = await asked(desk)
    async with browser(desk, admin=True) as client:
        form = {
            "csrf_token": await csrf_token_of(client, "/sources"),
            "message": QUESTION,
            "memory": "1",
            "model": "no such model",
        }
        unknown = await client.post("/sources/try", data=form)
        assert (unknown.status_code, "model_id is no model" in unknown.text) == (400, True)
        assert (await client.get(f"/turns/{receipt_id}?budget={'9' * 5000}")).status_code == 200
        for owner in ("", "x" * 300, "a\0b"):
            refused = await client.post("/owner", data={"csrf_token": form["csrf_token"], "owner": owner})
            assert (refused.status_code, "owner: is not a usable id" in refused.text) == (400, True)


async def test_budgets_are_set_and_removed_by_admins(desk: Site) -> None:
    budget = {"name": "march", "covers": "tenant", "period": "month", "limit_usd": "12.5"}
    async with browser(desk, admin=True) as admin:
        form = {"csrf_token": await csrf_token_of(admin, "/spending")}
        for wrong in ({"limit_usd": "nan"}, {"covers": "moon"}, {"name": "a b"}, {"period": ""}, {"covers": "agent"}):
            assert (await admin.post("/spending/budgets", data=form | budget | wrong)).status_code == 400, wrong
        assert (await admin.post("/spending/budgets", data=form | budget)).status_code == 303
        assert "$12.50" in (await admin.get("/spending?of=tenant")).text
        kept = cost_pb2.CostBudget(
            name="march",
            covers=cost_pb2.BUDGET_COVER_TENANT,
            period=cost_pb2.BUDGET_PERIOD_MONTH,
            limit_usd=1,
            percents=[70],
        )
        await desk.caller(admin=True).PutBudget(cost_pb2.PutBudgetRequest(budget=kept))
        assert (await admin.post("/spending/budgets", data=form | budget)).status_code == 303
        (changed,) = (await desk.caller(admin=True).ListBudgets(cost_pb2.ListBudgetsRequest())).budgets
        assert (changed.limit_usd, list(changed.percents)) == (12.5, [70])
        await admin.post("/spending/budgets/delete", data=form | {"name": "march"})
        assert "$12.50" not in (await admin.get("/spending")).text


async def test_foreign_forged_or_oversized_forms_are_refused(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        csrf = await csrf_token_of(admin, "/wiki")
        for headers, form, status in (
            ({"origin": "https://evil.example"}, {"csrf_token": csrf}, 403),
            ({"origin": "null"}, {"csrf_token": csrf}, 403),
            ({}, {"csrf_token": "guessed"}, 403),
            ({}, {}, 403),
            ({}, {"csrf_token": csrf, "alias": "x" * 1_030_000}, 413),
        ):
            answer = await admin.post("/wiki/entity/calypso/archive", data=form, headers=headers)
            assert answer.status_code == status, (headers, status)
        assert (await admin.get("/turns", headers={"host": "evil.example"})).status_code == 421
        assert (await admin.get("/login?next=https://evil.example")).text.count("evil.example") == 0
        assert "archived</span>" not in (await admin.get("/wiki/entity/calypso")).text


async def test_stored_texts_never_become_markup(desk: Site) -> None:
    hostile = '<script>alert(1)</script><img src=x onerror="alert(1)">[x](javascript:alert(1))'
    caller: Caller = desk.caller()
    turn = pb.NewTurn(client_turn_id="evil", role="user", text=hostile)
    await caller.AppendTurns(pb.AppendTurnsRequest(thread_id=hostile[:60], title=hostile, turns=[turn]))
    receipt_id = (await caller.AssembleContext(asking(hostile, thread_id=hostile[:60]))).assembly.receipt_id
    await explained(caller, receipt_id)
    async with browser(desk) as client:
        for page in ("/threads", "/turns", f"/turns/{receipt_id}", f"/wiki?q={hostile}", f"/turns?thread={hostile}"):
            text = (await client.get(page)).text
            assert "<script>alert" not in text, page
            assert text.count("<img") == text.count('<img src="/static/icon.svg" alt="">'), page
            assert 'href="javascript' not in text, page


async def test_search_shows_every_result_and_its_end(desk: Site) -> None:
    scope = Scope(tenant_uuid(desk.tenant), owner_uuid("mara"))
    titles = [f"Harbor {number:03}" for number in range(210)]
    keys = [PageKey(PageType.ENTITY, title.lower().replace(" ", "-")) for title in titles]
    made = [CreatePage(Page(key, title, "")) for key, title in zip(keys, titles, strict=True)]
    told = "there may be more"
    async with browser(desk) as client:
        for few, shown, is_cut in ((made[:120], 120, False), (made[120:], 200, True)):
            async with scoped(desk.app.pools.background, scope) as connection:
                await enact(connection, scope, few, now=NOW)
            text = (await client.get("/wiki?q=harbor")).text
            assert (text.count('href="/wiki/entity/harbor-'), told in text) == (shown, is_cut)
        assert told not in (await client.get("/wiki")).text


NOWHERE = (
    "/turns/nonsense", "/turns/00000000-0000-0000-0000-000000000000", "/wiki/moon/x", "/wiki/entity/none", "/compiles/x",
    "/thread", "/thread?id=%00", "/nowhere", "/turns?after=x_y", "/turns?slower_ms=-1", "/wiki?q=%00%ff&type=moon",
)  # fmt: skip


async def test_missing_page_is_reported_plainly(desk: Site) -> None:
    async with browser(desk) as client:
        for place in NOWHERE:
            answer = await client.get(place)
            assert answer.status_code in {200, 400, 404}, place
            assert "Traceback" not in answer.text, place
