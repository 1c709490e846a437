"""A page put right at the console and by commands: renamed, merged, and freed of a wrong sentence, each with its audit entry."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
import pytest

from sidecar.cli.root import run
from sidecar.runtime.settings import Settings
from sidecar.v1 import admin_pb2, compile_pb2, memory_pb2, wiki_pb2
from tests.support.served.console_browser import browser, csrf_token_of
from tests.support.served.site import Site, served
from tests.support.served.turns import as_superuser
from tests.support.served.wiki_site import JOURNAL, WikiCaller, worked
from tests.support.waiting import until

LOLA, SUERTE = "/wiki/entity/casa-lola", "/wiki/entity/suerte"
SENTENCE = "Casa Lola had live music, and Mara danced."


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[Site]:
    """A served sidecar with its console and a compiled journal."""
    async with served(replace(settings, console_listen="127.0.0.1:0")) as site:
        caller = WikiCaller(site, "acme", admin=True)
        records = [
            compile_pb2.JournalRecord(
                record_id=id_, text=text, place=compile_pb2.JournalPlace(name=name, city="Austin")
            )
            for id_, (text, name) in JOURNAL.items()
        ]
        await caller.BootstrapImport(compile_pb2.BootstrapImportRequest(owner_id="mara", records=records))
        await worked(site)
        yield site


async def post(client: httpx.AsyncClient, place: str, **form: str) -> httpx.Response:
    """Send a form with the session's CSRF token, and follow it."""
    return await client.post(
        place, data={"csrf_token": await csrf_token_of(client, "/wiki"), **form}, follow_redirects=True
    )


async def audited(site: Site, method: str) -> list[tuple[str, str]]:
    """Return the role and outcome of a method's audit entries, once there is one."""
    count = f"SELECT count(*) FROM audit_entries WHERE method LIKE '%{method}' HAVING count(*) > 0"
    await until(lambda: as_superuser(site, count))
    answer = await site.caller("acme", admin=True).ListAuditEntries(admin_pb2.ListAuditEntriesRequest(page_size=1000))
    return [(one.role, one.outcome) for one in answer.entries if one.method.endswith(method)]


async def test_admin_renames_and_merges_pages_and_undoes_both(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        assert "Lola&#39;s Kitchen" in (await post(admin, f"{LOLA}/rename", title="Lola's Kitchen")).text
        shown = await post(admin, f"{SUERTE}/merge", into="Lola's Kitchen")
        assert "makes its own masa" in shown.text
        assert (await admin.get(SUERTE, follow_redirects=True)).url.path == LOLA
        assert (await post(admin, f"{LOLA}/merge", into=SUERTE)).status_code == 409
        back = await post(admin, f"{SUERTE}/unmerge")
        assert (back.url.path, "makes its own masa" in back.text) == (SUERTE, True)
        assert "changed" in back.text
    assert sorted(await audited(desk, "/merge")) == [("admin", "FAILED_PRECONDITION"), ("admin", "OK")]
    assert await audited(desk, "/unmerge") == [("admin", "OK")]


async def test_visitor_reports_a_sentence_and_only_an_admin_restores_it(desk: Site) -> None:
    async with browser(desk) as agent:
        assert SENTENCE in (await agent.get(LOLA)).text
        told = await post(agent, f"{LOLA}/wrong", sentence=SENTENCE)
        assert "no later compile writes it" in told.text
        assert "Reported as wrong" in told.text
        assert (await post(agent, f"{LOLA}/rename", title="x")).status_code == 403
        assert (await post(agent, f"{LOLA}/restore", report_id="x")).status_code == 403
        assert (await post(agent, f"{LOLA}/wrong", sentence="Nobody ever said this.")).status_code == 409
    assert ("agent", "OK") in await audited(desk, "/wrong")
    async with browser(desk, admin=True) as admin:
        page = (await admin.get(LOLA)).text
        report_id = page.split('name="report_id" value="')[1].split('"')[0]
        restored = await post(admin, f"{LOLA}/restore", report_id=report_id)
        assert "Reported as wrong" not in restored.text
        assert SENTENCE in restored.text


async def test_commands_do_the_same(
    desk: Site, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SIDECAR_TOKEN", desk.token("acme", admin=True))
    monkeypatch.setenv("SIDECAR_ADDRESS", desk.app.addresses[0])

    async def typed(*arguments: str) -> Any:
        code = await asyncio.to_thread(partial(run, ["wiki", *arguments, "--owner", "mara", "--json"]))
        heard = capsys.readouterr()
        return json.loads(heard.out) if code == 0 else code

    assert (await typed("rename", "casa-lola", "Lola's Kitchen"))["title"] == "Lola's Kitchen"
    assert (await typed("merge", "suerte", "casa-lola"))["path"] == LOLA
    assert (await typed("unmerge", "suerte"))["path"] == SUERTE
    reported = await typed("wrong", "casa-lola", SENTENCE)
    assert (reported["memory_id"], reported["path"]) == ("m2", LOLA)
    assert [one["report_id"] for one in await typed("reports")] == [reported["report_id"]]
    assert (await typed("restore", reported["report_id"]))["restored"] == LOLA
    assert await typed("reports") == []
    assert await typed("rename", "casa-lola", "Suerte") not in (0, None)
    assert ("admin", "OK") in await audited(desk, "/ReportSentence")


async def test_agents_report_is_audited_at_the_api_too(desk: Site) -> None:
    agent = WikiCaller(desk)
    request = wiki_pb2.ReportSentenceRequest(page="casa-lola", sentence=SENTENCE)
    assert (await agent.ReportSentence(request)).report.memory_id == "m2"
    assert await audited(desk, "/ReportSentence") == [("agent", "OK")]
    await agent.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(text="Casa Lola closed in winter.")]))
    await worked(desk)
    shown = await agent.GetPage(wiki_pb2.GetPageRequest(page="casa-lola"))
    assert "live music" not in f"{shown.page}{shown.sections}"


async def test_graph_is_shown_as_it_was_known_on_a_day(desk: Site) -> None:
    async with browser(desk) as agent:
        now, then = [
            (await agent.get(f"/wiki/graph.json?known_by={day}")).json()["links"] for day in ("", "2020-01-01")
        ]
        assert any(link[2] == "located_in" for link in now)
        assert then == []
        assert 'data-known-by="2020-01-01"' in (await agent.get("/wiki/graph?known_by=2020-01-01")).text
        for path in ("/wiki/graph", "/wiki/graph.json"):
            for day in ("yesterday", "9999-12-31", "\u0663"):
                assert (await agent.get(path, params={"known_by": day})).status_code == 400


async def test_class_of_links_is_rolled_back_after_a_preview(desk: Site) -> None:
    places = {"origin": "deterministic", "prefix": "deterministic:edge:located_in"}
    count = "SELECT count(*) FROM wiki_page_links WHERE edge_type = 'located_in'"
    before = await as_superuser(desk, count)
    async with browser(desk, admin=True) as admin:
        shown = await post(admin, "/wiki/graph/rollback/preview", **places)
        assert "would go" in shown.text
        assert "casa-lola" in shown.text
        assert await as_superuser(desk, count) == before > 0
        assert "are removed" in (await post(admin, "/wiki/graph/rollback", **places)).text
        assert (await post(admin, "/wiki/graph/rollback", origin="nobody")).status_code == 400
    assert await as_superuser(desk, count) == 0
    async with browser(desk) as agent:
        assert (await post(agent, "/wiki/graph/rollback/preview", **places)).status_code == 403
