"""The ontology at the console: admins review proposals with their evidence, approve them, and roll back."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from compiler.job.reprocess import ReprocessDeps, run_due_jobs
from sidecar.runtime.settings import Settings
from sidecar.v1 import memory_pb2
from sidecar.v1 import ontology_pb2 as pb
from sidecar.worker import compile_engine
from store.scope import tenant_uuid
from tests.support.served.console_browser import browser, csrf_token_of
from tests.support.served.site import Site, served
from tests.support.served.wiki_site import retain_journal, worked

CASA_LOLA = "/wiki/entity/casa-lola"
TYPE = r'<span class="chip">(tavern|place)</span>'
ADDED = r'added</span> entity type <span class="id">person'
SAID = {
    "l1": "Casa Lola is a small tavern in Austin.",
    "l2": "Dinner at Casa Lola was late again.",
    "v1": "Vela Azul is a noisy <b>tavern</b> by the river, and Vela Azul is a tavern.",
    "v2": "Vela Azul closed early.",
}


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[Site]:
    """A served sidecar with its console and a few compiled memories."""
    async with served(replace(settings, console_listen="127.0.0.1:0")) as site:
        new = [memory_pb2.NewMemory(memory_id=memory_id, text=text) for memory_id, text in SAID.items()]
        await retain_journal(site.caller())
        await site.caller().Retain(memory_pb2.RetainRequest(memories=new))
        await worked(site)
        yield site


async def post(client: httpx.AsyncClient, place: str, **form: str) -> httpx.Response:
    """Send a form with the session's CSRF token, and follow it."""
    csrf = await csrf_token_of(client, "/ontology")
    return await client.post(place, data={"csrf_token": csrf, **form}, follow_redirects=True)


async def reprocessed(site: Site) -> None:
    """Bring the pages to the ontology in force, as a worker does."""
    deps = ReprocessDeps(site.app.pools.background, compile_engine.now, "test")
    for _ in range(2):  # a job that a later version overtook takes a turn of its own
        await run_due_jobs(deps, tenant_uuid("acme"))


def fields_of(page: str, name: str) -> dict[str, str]:
    """Return the hidden fields of the form whose button bears the name."""
    form = next(one for one in re.findall(r"<form.+?</form>", page, re.DOTALL) if f'aria-label="{name}"' in one)
    return dict(re.findall(r'name="([^"]+)" value="([^"]*)"', form))


async def test_operator_scans_reviews_approves_sees_the_pages_and_rolls_back(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        assert "No version is approved" in (await admin.get("/ontology")).text
        seeded = await post(admin, "/ontology/seed")
        assert "It is not in force before you approve it" in seeded.text
        place = str(seeded.url.path)
        approved = await post(admin, f"{place}/approve", revision="1")
        assert "Version 1 is in force" in approved.text
        assert re.search(ADDED, approved.text)
        assert "schema.org" in (await admin.get("/ontology")).text
        scanned = await post(admin, "/ontology/scan")
        assert "Casa Lola is a small tavern in Austin." in scanned.text
        assert "<b>tavern</b>" not in scanned.text
        place = str(scanned.url.path)
        shown = await admin.post(f"{place}/item", data=fields_of(scanned.text, "Accept Tavern"), follow_redirects=True)
        assert "The item is accepted" in shown.text
        fields = fields_of(shown.text, "Reject Tavern")
        edited = await post(admin, f"{place}/item", **{**fields, "decision": "accepted", "edited": '{"name": "Inn"}'})
        assert "Inn" in edited.text
        revision = fields_of(edited.text, "Reject Inn")["revision"]
        stale = await post(admin, f"{place}/approve", revision=fields["revision"])
        assert stale.status_code == 409
        assert "Version 2 is in force" in (await post(admin, f"{place}/approve", revision=revision)).text
        assert "Inn" in (await admin.get("/ontology")).text
        await reprocessed(desk)
        assert 'class="chip good">succeeded' in (await admin.get("/ontology/versions")).text
        assert re.search(TYPE, (await admin.get(CASA_LOLA)).text)
        rolled_back = await post(admin, "/ontology/rollback", version="1")
        assert "with the terms of version 1" in rolled_back.text
        assert "1 to 2" in rolled_back.text
        assert "Inn" not in (await admin.get("/ontology")).text
        assert "Inn" in (await admin.get("/ontology?version=2")).text
        await post(admin, "/ontology/rollback", version="0")
        await reprocessed(desk)
        assert not re.search(TYPE, (await admin.get(CASA_LOLA)).text)
        closed = await post(admin, f"{place}/reject")
        assert closed.status_code == 409


async def test_change_is_drafted_at_the_console_and_a_bad_one_named(desk: Site) -> None:
    async with browser(desk, admin=True) as admin:
        form = {"action": "create", "kind": "entity_type", "term": '{"name": "Лодка"}'}
        refused = await post(admin, "/ontology/draft", **form)
        assert refused.status_code == 400
        assert "Latin" in refused.text
        drafted = await post(admin, "/ontology/draft", **{**form, "term": '{"name": "Boat", "aliases": ["лодка"]}'})
        assert "The change is drafted" in drafted.text
        listed = (await admin.get("/ontology/changes")).text
        assert "create entity type" in listed
        rejected = await post(admin, f"{drafted.url.path}/reject")
        assert "No scan proposes its items again" in rejected.text


async def test_only_admins_see_and_change_the_ontology(desk: Site) -> None:
    admin_caller = desk.caller(admin=True)
    made = await admin_caller.DraftOntologyChanges(pb.DraftOntologyChangesRequest(seed=True))
    place = f"/ontology/changes/{made.change_set.change_set_id}"
    async with browser(desk) as agent:
        assert "/ontology" not in (await agent.get("/wiki")).text
        for page in ("/ontology", "/ontology/changes", "/ontology/versions", place):
            assert (await agent.get(page)).status_code == 403
        csrf = await csrf_token_of(agent, "/wiki")
        for act in ("/ontology/seed", "/ontology/scan", "/ontology/draft", "/ontology/rollback", f"{place}/approve"):
            assert (await agent.post(act, data={"csrf_token": csrf, "version": "0"})).status_code == 403
    async with browser(desk, admin=True) as admin:
        for act in ("/ontology/seed", f"{place}/approve", f"{place}/reject", f"{place}/item"):
            assert (await admin.post(act, data={"csrf_token": "forged"})).status_code == 403
    answer = await admin_caller.GetOntologyChangeSet(
        pb.GetOntologyChangeSetRequest(change_set_id=made.change_set.change_set_id)
    )
    assert answer.change_set.status == "open"
