"""An operator's acts at the console: switches, retries of memories, repeated jobs, and provenance."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from hashlib import sha256
from html import unescape
from pathlib import Path

import httpx
import pytest

from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, memory_pb2, profile_pb2
from store.compile import jobs, ledger
from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.support.compiler.wiki_pages import NOW
from tests.support.served.console_browser import asked, browser, csrf_token_of
from tests.support.served.site import Site, served
from tests.support.served.turns import THREAD, asking, assembled, fill, knobs, said
from tests.support.served.wiki_site import worked

SCOPE = Scope(tenant_uuid("acme"), owner_uuid("mara"))
BACKENDS = """
[[hindsight]]
name = "bank"
tenant = "acme"
url = "http://127.0.0.1:9"
bank = "{owner}"
"""


@pytest.fixture
async def desk(settings: Settings, tmp_path: Path) -> AsyncIterator[Site]:
    """A served sidecar with its console, a configured backend, and a small world in it."""
    backends = tmp_path / "backends.toml"
    backends.write_text(BACKENDS)
    async with served(replace(settings, console_listen="127.0.0.1:0", backends=backends)) as site:
        await fill(site)
        yield site


async def statuses(site: Site) -> dict[str, str]:
    """Return how each source of a turn answered."""
    assembly = (await site.caller().AssembleContext(asking())).assembly
    return {
        items_pb2.Source.Name(one.source): items_pb2.SourceStatus.Name(one.status).removeprefix("SOURCE_STATUS_")
        for one in assembly.sources
    }


async def post(client: httpx.AsyncClient, place: str, **form: str) -> httpx.Response:
    """Send a form with the session's CSRF token, and follow it."""
    return await client.post(
        place, data={"csrf_token": await csrf_token_of(client, "/sources"), **form}, follow_redirects=True
    )


async def undone(client: httpx.AsyncClient, page: str) -> httpx.Response:
    """Press the button of the note on a page."""
    form = re.search(r'class="note".+?action="([^"]+)">(.+?)</form>', page, re.DOTALL)
    assert form is not None
    fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form[2]))
    return await client.post(form[1], data=fields, follow_redirects=True)


async def test_source_is_switched_off_for_the_next_turn_and_on_again(desk: Site) -> None:
    admin_caller = desk.caller(admin=True)
    level = profile_pb2.PROFILE_LEVEL_TENANT
    await admin_caller.SetProfile(
        profile_pb2.SetProfileRequest(level=level, profile=knobs(items_pb2.SOURCE_WIKI, top_k=7, priority=5))
    )
    assert (await statuses(desk))["SOURCE_WIKI"] != "SKIPPED"
    async with browser(desk, admin=True) as admin:
        off = await post(admin, "/sources/switch", source="wiki", on="0")
        assert "off for the tenant" in off.text
        assert (await statuses(desk))["SOURCE_WIKI"] == "SKIPPED"
        on = await undone(admin, off.text)
        assert "wiki is queried again" in on.text
        assert "off for the tenant" not in on.text
        assert (await statuses(desk))["SOURCE_WIKI"] != "SKIPPED"
        assert (await post(admin, "/sources/switch", source="moon", on="0")).status_code == 404
    kept = (await admin_caller.GetProfile(profile_pb2.GetProfileRequest(level=level))).profile.sources
    assert [(one.source, one.top_k, one.priority, one.enabled) for one in kept] == [(items_pb2.SOURCE_WIKI, 7, 5, True)]


async def test_a_memorys_life_is_shown_and_acted_on(desk: Site) -> None:
    page = "/from/memory?id=boat-dock"
    async with browser(desk, admin=True) as admin:
        first = (await admin.get(page)).text
        assert ">Evidence<" in first
        assert "written" in first
        rejected = await post(admin, "/from/memory/status", id="boat-dock", status="rejected")
        assert "accepted → rejected" in rejected.text
        assert (await post(admin, "/from/memory/status", id="boat-dock", status="so-so")).status_code == 400
        await post(admin, "/from/memory/status", id="boat-dock", status="accepted")
        newer = await post(admin, "/from/memory/correct", id="boat-dock", text="The boat lies at pier nine.")
        assert "The boat lies at pier nine." in newer.text
        assert "corrects" in newer.text
        older = (await admin.get(page)).text
        assert "corrected by" in older
        assert "until 20" in older
        restored = await post(admin, "/from/memory/restore", id="boat-dock")
        assert "no longer corrected by" in restored.text
        assert "until 20" not in restored.text
        assert (await post(admin, "/from/memory/correct", id="boat-dock", text=" ")).status_code == 400
        longest = "船は桟橋にある。" * 12_500
        assert longest[:29_000] in (await post(admin, "/from/memory/correct", id="boat-dock", text=longest)).text
        form = f"csrf_token={await csrf_token_of(admin, '/sources')}&id=boat-dock&text={'%' * 10_000}"
        kind = {"content-type": "application/x-www-form-urlencoded"}
        assert (await admin.post("/from/memory/correct", content=form, headers=kind)).status_code == 413
    async with browser(desk) as agent:
        assert "Accept this memory" not in (await agent.get(page)).text
        assert (await post(agent, "/from/memory/status", id="boat-dock", status="rejected")).status_code == 403


async def test_a_memory_is_pinned_and_unpinned_on_its_page(desk: Site) -> None:
    page = "/from/memory?id=boat-dock"
    async with browser(desk, admin=True) as admin:
        assert "Pin this memory" in (await admin.get(page)).text
        pinned = await post(admin, "/from/memory/pin", id="boat-dock", pinned="yes")
        assert "Unpin this memory" in pinned.text
        assert [item.mark for item in (await asked_of(desk, "👍")).items] == ["p1"]
        assert "Pin this memory" in (await post(admin, "/from/memory/pin", id="boat-dock")).text
        assert not (await asked_of(desk, "👍")).items
        assert (await post(admin, "/from/memory/pin", id="nowhere", pinned="yes")).status_code == 404


async def test_forgetting_is_previewed_before_it_is_done(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        assert 'value="boat-dock"' in (await admin.get("/forget?memory_id=boat-dock")).text
        shown = await post(admin, "/forget/preview", memory_id="boat-dock")
        assert "What would be touched" in shown.text
        assert "1 rows of memories" in shown.text
        assert (await admin.get("/from/memory?id=boat-dock")).status_code == 200
        word = await post(admin, "/forget/preview", phrase="winters")
        assert 'name="confirm:memory:boat-dock"' in word.text
        assert (await post(admin, "/forget", phrase="winters")).status_code == 400
        done = await post(admin, "/forget", phrase="winters", **{"confirm:memory:boat-dock": "yes"})
        assert "What was touched" in done.text
        assert (await admin.get("/from/memory?id=boat-dock")).status_code == 404
        assert (await post(admin, "/forget/preview", since="soon", until="later")).status_code == 400
    async with browser(desk) as agent:
        assert (await post(agent, "/forget", memory_id="boat-paint")).status_code == 403


async def asked_of(site: Site, message: str) -> pb.Assembly:
    """Return what a message gets outside every thread."""
    return await assembled(site.caller(), asking(message, thread_id=""))


async def test_backend_is_switched_off_with_a_reason_and_on_again(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        assert ">bank<" in (await admin.get("/sources")).text
        off = await post(admin, "/sources/backend", backend="bank", on="0", reason="it costs <too> much")
        assert "it costs &lt;too&gt; much" in off.text
        assert "The backend bank is queried again." in (await undone(admin, off.text)).text
        assert (await post(admin, "/sources/backend", backend="other", on="0")).status_code == 404
        assert (await post(admin, "/sources/backend", backend="bank", on="0", reason="x" * 501)).status_code == 400


async def test_form_of_a_page_about_another_owner_is_refused(desk: Site) -> None:
    """Two tabs share the session and its owner, and owners may have memories of the same id."""
    eve = desk.caller(owner="eve")
    await eve.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(memory_id="boat-dock", text="Eve rows.")]))
    async with browser(desk, admin=True) as admin:
        page = await admin.get("/from/memory?id=boat-dock")
        fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', page.text.partition("/from/memory/status")[2]))
        switched = await post(admin, "/sources/switch", source="wiki", on="0")
        await admin.post("/owner", data={"csrf_token": fields["csrf_token"], "shown_owner": "mara", "owner": "eve"})
        refused = await admin.post("/from/memory/status", data=fields | {"id": "boat-dock", "status": "rejected"})
        assert refused.status_code == 409
        assert "another owner" in refused.text
        assert (await undone(admin, switched.text)).status_code == 409
        fresh = await admin.get("/from/memory?id=boat-dock")
        fields = dict(re.findall(r'name="([^"]+)" value="([^"]*)"', fresh.text.partition("/from/memory/status")[2]))
        done = await admin.post("/from/memory/status", data=fields | {"id": "boat-dock", "status": "rejected"})
        assert done.status_code == 303
    held = (await eve.GetMemory(memory_pb2.GetMemoryRequest(memory_id="boat-dock"))).memory
    kept = (await desk.caller().GetMemory(memory_pb2.GetMemoryRequest(memory_id="boat-dock"))).memory
    assert [one.status for one in (held, kept)] == [
        memory_pb2.MEMORY_STATUS_REJECTED,
        memory_pb2.MEMORY_STATUS_ACCEPTED,
    ]


async def test_acts_need_an_admin(desk: Site) -> None:
    async with browser(desk) as agent:
        for place in ("/sources/switch", "/sources/backend", "/quarantine/retry", "/compiles/start"):
            assert (await post(agent, place, source="wiki", backend="bank", on="0")).status_code == 403, place
        assert (await agent.get("/compiles/scopes")).status_code == 403
        assert "Switch off" not in (await agent.get("/sources")).text
    assert (await statuses(desk))["SOURCE_WIKI"] != "SKIPPED"


async def hold_back(site: Site, *memory_ids: str) -> None:
    """Say that memories were held back by a compile."""
    entries = [
        LedgerEntry(one, "", sha256(one.encode()).digest(), b"", NOW, MemoryOutcome.QUARANTINED, "ValueError")
        for one in memory_ids
    ]
    async with scoped(site.app.pools.background, SCOPE) as connection:
        await ledger.write(connection, SCOPE, entries, now=NOW)


async def set_compile(site: Site, *, is_on: bool) -> None:
    """Switch the tenant's compile on or off."""
    async with scoped(site.app.pools.background, SCOPE) as connection:
        await connection.execute("UPDATE tenants SET wiki_compile_enabled = $1", is_on)


async def test_quarantined_memories_are_shown_and_compiled_when_retried(desk: Site) -> None:
    await worked(desk)
    await hold_back(desk, "boat-dock", "elsewhere")
    async with browser(desk, admin=True) as admin:
        page = (await admin.get("/quarantine")).text
        assert "The boat Calypso winters" in page
        assert page.count("ValueError") >= 2
        assert (await post(admin, "/quarantine/retry", memory="never-held-back")).status_code == 409
        assert (await post(admin, "/quarantine/retry", memory="x" * 201)).status_code == 400
        again = await post(admin, "/quarantine/retry", memory="boat-dock")
        assert "1 memory is read again; a compile is queued." in again.text
        await worked(desk)
        page = (await admin.get("/quarantine")).text
        assert "boat-dock" not in page
        assert "elsewhere" in page
        assert "chip good" in (await admin.get("/from/memory?id=boat-dock")).text


async def test_console_refuses_to_retry_quarantined_memories_while_compile_is_off(desk: Site) -> None:
    """As the call RetryQuarantined does: nothing is read again until an admin switches the compile on."""
    await hold_back(desk, "boat-dock")
    await set_compile(desk, is_on=False)
    async with browser(desk, admin=True) as admin:
        for form in ({"memory": "boat-dock"}, {}):
            refused = await post(admin, "/quarantine/retry", **form)
            assert refused.status_code == 409
            assert "switch its compile on first" in refused.text
        assert "boat-dock" in (await admin.get("/quarantine")).text
        await set_compile(desk, is_on=True)
        again = await post(admin, "/quarantine/retry", memory="boat-dock")
    assert "1 memory is read again; a compile is queued." in again.text


async def test_compile_queued_in_the_console_carries_the_trace_of_the_click(desk: Site) -> None:
    await worked(desk)
    trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    async with browser(desk, admin=True) as admin:
        admin.headers["traceparent"] = f"00-{trace}-00f067aa0ba902b7-01"
        await post(admin, "/compiles/start")
    async with scoped(desk.app.pools.background, SCOPE, read_only=True) as connection:
        newest, *_ = await jobs.page(connection, SCOPE, limit=1)
    assert newest.traceparent.startswith(f"00-{trace}-")


async def test_job_is_cancelled_and_run_again(desk: Site) -> None:
    await worked(desk)
    async with browser(desk, admin=True) as admin:
        queued = await post(admin, "/compiles/start")
        assert "The compile is queued." in queued.text
        assert (await post(admin, f"{queued.url.path}/retry")).status_code == 409, "it has not ended"
        cancelled = await undone(admin, queued.text)
        assert ">cancelled<" in cancelled.text
        again = await post(admin, f"{cancelled.url.path}/retry")
        assert ">pending<" in again.text
        assert again.url.path != cancelled.url.path
        await worked(desk)
        assert ">succeeded<" in (await admin.get(again.url.path)).text
        scopes = await admin.get("/compiles/scopes")
        assert str(SCOPE.owner_id) in scopes.text


async def test_candidate_links_to_its_origin(desk: Site) -> None:
    receipt_id = await asked(desk)
    async with browser(desk) as client:
        turn = unescape((await client.get(f"/turns/{receipt_id}")).text)
        places = set(re.findall(r'href="(/from/\w+)\?', turn))
        assert {"/from/memory", "/from/page", "/from/chunk", "/from/turn"} >= places >= {"/from/memory", "/from/chunk"}
        for place in set(re.findall(r'href="(/from/[^"]+)"', turn)):
            assert (await client.get(place, follow_redirects=True)).status_code == 200, place
        for nowhere in ("memory?id=none", "turn?id=x", f"page?id={receipt_id}", "chunk", "memory?id=%00", "moon?id=1"):
            assert (await client.get(f"/from/{nowhere}")).status_code in {400, 404}, nowhere
    async with httpx.AsyncClient(base_url=f"http://{desk.app.console_address}", timeout=60) as client:
        await client.post("/login", data={"token": desk.token(owner="noor")}, headers={"origin": str(client.base_url)})
        assert (await client.get("/from/memory?id=boat-dock")).status_code == 404


async def test_items_used_by_the_answer_are_shown_once_reported(desk: Site) -> None:
    receipt_id = await asked(desk)
    async with browser(desk) as client:
        assert "not reported" in (await client.get(f"/turns/{receipt_id}")).text
        report = pb.ReportUsageRequest(receipt_id=receipt_id, input_tokens=900, used_item_ids=["memory:boat-dock"])
        await desk.caller().ReportUsage(report)
        page = (await client.get(f"/turns/{receipt_id}?find=used+by+the+answer")).text
    assert "Every candidate: 1<" in page
    assert "memory:boat-dock" in page
    assert "not reported" not in page


async def test_long_thread_is_read_in_pages(desk: Site) -> None:
    exchanges = [(f"question {number}", f"answer {number}") for number in range(100)]
    await desk.caller().AppendTurns(pb.AppendTurnsRequest(thread_id="long", turns=said(*exchanges)))
    seen: list[str] = []
    async with browser(desk) as client:
        place: str | None = "/thread?id=long"
        while place is not None:
            page = (await client.get(place)).text
            seen += re.findall(r"<p>((?:question|answer) \d+)</p>", page)
            onward = re.search(r'rel="next" href="([^"]+)"', page)
            place = unescape(onward[1]) if onward else None
        assert f'href="/thread?id={THREAD}"' in (await client.get("/threads")).text
    assert seen == [text for exchange in exchanges for text in exchange]


async def test_notification_is_shown_once_and_an_owner_only_if_one_exists(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        told = await post(admin, "/wiki/entity/calypso/alias", alias="Sloop")
        assert "Calypso is also called Sloop." in told.text
        csrf = await csrf_token_of(admin, "/sources")
        for number in range(30):
            form = {"csrf_token": csrf, "alias": f"Ketch {number}"}
            assert (await admin.post("/wiki/entity/calypso/alias", data=form)).status_code == 303
        await admin.head("/turns")
        refreshed = await admin.get("/turns", headers={"x-console-part": "yes"})
        assert "is also called" not in refreshed.text, "the part that another window refreshes shows no message"
        assert len(re.findall("Calypso is also called Ketch", (await admin.get("/turns")).text)) == 20
        assert "is also called" not in (await admin.get("/wiki/entity/calypso")).text
        moved = await post(admin, "/owner", owner="noor", next="/compiles")
        assert moved.url.path == "/compiles"
        assert (await post(admin, "/owner", owner="noor", next="https://evil.example")).url.path == "/turns"


async def test_aged_candidates_are_compressed_from_the_page_of_decay(desk: Site) -> None:
    aged = [
        memory_pb2.NewMemory(memory_id=one, text=f"Saw {one}.", status=memory_pb2.MEMORY_STATUS_CANDIDATE)
        for one in ("gulls", "terns", "auks", "skuas")
    ]
    for one in aged:
        one.occurred_time.FromDatetime(NOW.replace(year=2020))
    await desk.caller().Retain(memory_pb2.RetainRequest(memories=aged))
    async with browser(desk, admin=True) as admin:
        assert "Compress all" in (await admin.get("/decay")).text
        queued = await post(admin, "/decay/schedule")
        assert "1 job is queued." in queued.text
        [job_id] = re.findall(r'aria-label="Run ([^"]+)"', queued.text)
        ended = await post(admin, "/decay/run", job=job_id)
        assert ">completed<" in ended.text
        assert "The policy would compress no candidates" in ended.text
        assert (await post(admin, "/decay/cancel", job=job_id)).status_code == 409
        assert (await post(admin, "/decay/run", job=job_id.replace(job_id[:8], "00000000"))).status_code == 404
    async with browser(desk) as reader:
        assert ">completed<" in (await reader.get("/decay?at=x&id=y")).text
        assert (await post(reader, "/decay/schedule")).status_code == 403
