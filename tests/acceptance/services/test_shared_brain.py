"""A tenant's Brain from outside: acts of operators, turns of other owners, and content that is never shared."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from typing import Any

import asyncpg
import pytest

from sidecar.cli.root import run
from sidecar.runtime.errors import InvalidArgument
from sidecar.runtime.settings import Settings
from sidecar.v1 import admin_pb2, brain_pb2, knowledge_pb2, memory_pb2, wiki_pb2
from store.scope import brain_of, owner_uuid, tenant_uuid
from tests.support.served.console_browser import browser, csrf_token_of
from tests.support.served.site import Caller, Site, served
from tests.support.served.turns import asking, assembled, explained, refusal
from tests.support.served.wiki_site import worked
from tests.support.waiting import until_equal

SECRET, SHARED = "Zwitscherklang", "Blaumeisenruf"
MOVED = "Helios moved to Lisbon with Priya Raman in 2024."
RESERVED = brain_of(tenant_uuid("acme")).owner_id


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[Site]:
    """A served sidecar with its console."""
    async with served(replace(settings, console_listen="127.0.0.1:0")) as one:
        yield one


@pytest.fixture
def command(site: Site, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a command of the Brain as an admin, and returns what it answers as JSON."""
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", admin=True))
    monkeypatch.setenv("SIDECAR_ADDRESS", site.app.addresses[0])

    async def typed(*arguments: str, code: int = 0) -> Any:
        told = await asyncio.to_thread(partial(run, ["brain", *arguments, "--json"]))
        heard = capsysbinary.readouterr()
        assert told == code, heard.err.decode()
        return json.loads(heard.out) if heard.out else heard.err.decode()

    return typed


async def acts_noted(site: Site) -> dict[str, str]:
    """Return what each act on a rule or copy at the console was about, as the audit log has it."""
    request = admin_pb2.ListAuditEntriesRequest(page_size=1000)
    noted = (await site.caller(admin=True).ListAuditEntries(request)).entries
    acts = {"approve", "withdraw", "release", "take-back"}
    return {act: one.object for one in noted if (act := one.method.removeprefix("POST /brain/")) in acts}


async def remember(caller: Caller, **texts: str) -> None:
    """Write memories; those whose id begins with s are tagged to be shared."""
    new = []
    for memory_id, text in texts.items():
        memory = memory_pb2.NewMemory(memory_id=memory_id, text=text)
        memory.metadata.update({"tags": ["shared"] if memory_id.startswith("s") else ["private"]})
        new.append(memory)
    await caller.Retain(memory_pb2.RetainRequest(memories=new))


async def rows_with(site: Site, word: str, *, besides: str) -> dict[str, int]:
    """Return how many rows of other owners than the one named hold a word, by table."""
    connection = await asyncpg.connect(site.settings.database_url)
    tables = await connection.fetch(
        "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner_id'"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'"
    )
    found: dict[str, int] = {}
    for (name,) in tables:
        count = await connection.fetchval(
            f"SELECT count(*) FROM {name} t WHERE owner_id <> $1 AND strpos(lower(t::text), lower($2)) > 0",
            owner_uuid(besides),
            word,
        )
        found |= {name: count} if count else {}
    await connection.close()
    return found


async def test_every_owner_sees_released_memories_and_no_others(site: Site, command: Callable[..., Any]) -> None:
    ann, bob = site.caller("acme", "ann"), site.caller("acme", "bob")
    await remember(ann, s1=f"Priya Raman plays {SHARED} at the Helios office.", s2=MOVED)
    await remember(ann, p1=f"The Helios office calls Ann's bird {SECRET}.", p2=f"{SECRET} sings at Helios.")
    rule = await command("propose", "handbook", "--tag", "shared")
    assert rule["state"] == "proposed"
    assert (await command("approve", rule["rule_id"]))["state"] == "approved"
    await worked(site)
    state = await command("rules")
    assert (state["released_count"], state["held_count"], state["is_shown"]) == (2, 0, True)
    assert "Helios" in {one["title"] for one in await command("pages")}
    heard = await assembled(bob, asking("What does Priya Raman play at the Helios office?", thread_id="b"))
    assert SHARED in str(heard)
    assert "Shared in the tenant" in str(heard)
    found = await bob.QueryBrainContext(brain_pb2.QueryBrainContextRequest(query="Helios"))
    ids = [one.id for one in found.hits]
    told = await bob.QueryBrainContext(brain_pb2.QueryBrainContextRequest(query=SECRET, detail_ids=ids))
    assert SHARED in str(told)
    receipt = await explained(bob, heard.receipt_id)
    for seen in (heard, found, told, receipt, state, await command("copies"), await command("pages")):
        assert SECRET not in str(seen)
    assert not await rows_with(site, SECRET, besides="ann")
    assert await rows_with(site, SHARED, besides="ann")

    await ann.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="s1"))
    assert not await rows_with(site, SHARED, besides="nobody"), "also in the receipts of those that read it"
    assert SHARED not in str(await explained(bob, heard.receipt_id))
    again = await assembled(bob, asking("What does Priya Raman play at the Helios office?", thread_id="b2"))
    assert SHARED not in str(again)
    await worked(site)
    assert not await rows_with(site, SHARED, besides="nobody")


async def test_rule_is_approved_and_withdrawn_by_its_name(site: Site, command: Callable[..., Any]) -> None:
    first = (await command("propose", "handbook", "--tag", "shared"))["rule_id"]
    assert "'manual'; see `sidecar brain rules`" in str(await command("approve", "manual", code=2))
    assert (await command("approve", "handbook"))["rule_id"] == first
    second = (await command("propose", "handbook", "--tag", "other"))["rule_id"]
    refusal = (await command("withdraw", "handbook", "--yes", code=2))["error"]["message"]
    assert "send an id instead" in refusal
    assert {first, second} <= set(refusal.replace(",", " ").split())
    assert (await command("withdraw", first, "--yes"))["state"] == "withdrawn"
    assert (await command("approve", "handbook"))["rule_id"] == second


async def test_reserved_owner_is_refused_at_every_door(site: Site, command: Callable[..., Any]) -> None:
    admin = site.caller("acme", admin=True)
    await remember(site.caller("acme", "ann"), s1=f"The Helios office plays {SHARED}.", s2="Helios is in Lisbon.")
    rule = await command("propose", "handbook", "--tag", "shared")
    await command("approve", rule["rule_id"])
    await worked(site)
    wide = str(RESERVED).translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)})
    for owner in (str(RESERVED), RESERVED.hex.upper(), f"urn:uuid:{RESERVED}", wide):
        for call in (
            admin.ListMemories(memory_pb2.ListMemoriesRequest(owner_id=owner)),
            admin.Forget(memory_pb2.ForgetRequest(owner_id=owner, word=SHARED)),
            admin.ListPages(wiki_pb2.ListPagesRequest(owner_id=owner)),
            admin.QueryBrainContext(brain_pb2.QueryBrainContextRequest(owner_id=owner, query="Helios")),
        ):
            assert (await refusal(call))[1:] == ("INVALID_ARGUMENT", "owner_id")
    with pytest.raises(InvalidArgument):
        site.token("acme", str(RESERVED))
    assert (await command("rules"))["released_count"] == 2


async def test_admin_puts_pages_of_the_brain_right_and_no_owner_does(site: Site, command: Callable[..., Any]) -> None:
    ann = site.caller("acme", "ann")
    await remember(ann, s1="Priya Raman runs the Helios office.", s2=MOVED, s3="Tom Ortega met Priya Raman in Lisbon.")
    await command("approve", (await command("propose", "handbook", "--tag", "shared"))["rule_id"])
    await worked(site)
    pages = {one["title"]: one["id"] for one in await command("pages")}
    assert (await command("rename", pages["Helios"], "Helios Labs"))["title"] == "Helios Labs"
    found = await ann.QueryBrainContext(brain_pb2.QueryBrainContextRequest(detail_ids=[pages["Helios"]]))
    wrong = found.details[0].statements[0].text
    report = await command("wrong", pages["Helios"], wrong)
    assert report["sentence"].endswith(wrong), "as it stands on the page, which may say when"
    told = await site.caller("acme", "bob").QueryBrainContext(
        brain_pb2.QueryBrainContextRequest(detail_ids=[pages["Helios"]])
    )
    assert told.details[0].title == "Helios Labs"
    assert wrong not in {one.text for one in told.details[0].statements}
    assert [one["report_id"] for one in (await command("rules"))["reports"]] == [report["report_id"]]
    assert (await command("wrong", "--restore", report["report_id"]))["sentence"] == report["sentence"]
    await command("edge", pages["Priya Raman"], "works_at", pages["Helios"])
    assert (await command("edge", pages["Priya Raman"], "works_at", pages["Helios"], "--remove"))["removed"]
    await command("merge", pages["Priya Raman"], pages["Helios"])
    assert "Priya Raman" not in {one["title"] for one in await command("pages")}
    await command("merge", "entity/priya-raman", "--undo")
    await worked(site)
    assert {one["title"] for one in await command("pages")} >= {"Helios Labs", "Priya Raman"}

    page = brain_pb2.RenameBrainPageRequest(page=pages["Helios"], title="Mine")
    for call in (
        ann.RenameBrainPage(page),
        ann.MergeBrainPages(brain_pb2.MergeBrainPagesRequest(page="a", into="b")),
        ann.ReportBrainSentence(brain_pb2.ReportBrainSentenceRequest(page=pages["Helios"], sentence=MOVED)),
        ann.WriteBrainEdge(brain_pb2.WriteBrainEdgeRequest(page="a", target="b", edge_type="works_at")),
    ):
        assert (await refusal(call))[0].name == "PERMISSION_DENIED"
    own = wiki_pb2.RenamePageRequest(owner_id="ann", page=pages["Helios"].removeprefix("brain:"), title="Mine")
    assert (await refusal(site.caller("acme", "ann", admin=True).RenamePage(own)))[0].name == "NOT_FOUND"
    request = admin_pb2.ListAuditEntriesRequest(page_size=1000)
    entries = (await site.caller(admin=True).ListAuditEntries(request)).entries
    noted = {one.method.rpartition("/")[2]: one.object for one in entries if one.outcome == "OK"}
    assert noted["RenameBrainPage"] == f"page={pages['Helios']}"
    assert {"MergeBrainPages", "ReportBrainSentence", "WriteBrainEdge"} <= set(noted)


async def test_operator_shares_a_document_and_acts_on_pages_in_the_console(site: Site) -> None:
    admin = site.caller("acme", admin=True)
    await admin.CreateBase(knowledge_pb2.CreateBaseRequest(name="handbook"))
    text = f"Priya Raman runs the Helios office.\n\nPriya Raman sold the Helios boat {SHARED}."
    for path, words in (("a.md", text), ("b.md", MOVED), ("c.md", "Tom Ortega met Priya Raman in Lisbon.")):
        await admin.Ingest(knowledge_pb2.IngestRequest(base="handbook", path=path, content=words.encode()))
    async with browser(site, admin=True) as visitor:

        async def post(place: str, **form: str) -> str:
            sent = {"csrf_token": await csrf_token_of(visitor, "/brain"), **form}
            return (await visitor.post(place, data=sent, follow_redirects=True)).text

        assert "releases nothing until" in await post("/brain/propose", name="docs", base="handbook", tier="0")
        (rule,) = set(re.findall(r'name="rule_id" value="([^"]+)"', (await visitor.get("/brain")).text))
        await post("/brain/approve", rule_id=rule)
        await worked(site)
        shown = (await visitor.get("/brain")).text
        assert "handbook: a.md" in shown
        assert "now titled Helios Labs" in await post("/brain/rename", page="entity/helios", title="Helios Labs")
        assert "is removed from the page" in await post("/brain/wrong", page="entity/helios", sentence=MOVED)
        (report,) = re.findall(r'name="report_id" value="([^"]+)"', (await visitor.get("/brain")).text)
        assert "is restored on its page" in await post("/brain/restore", report_id=report)
        edge = {"page": "entity/priya-raman", "type": "works_at", "target": "entity/helios"}
        assert "The edge is stated" in await post("/brain/edge", act="state", **edge)
        assert "The edge is taken back" in await post("/brain/edge", act="remove", **edge)
        assert "is now a part of" in await post("/brain/merge", page="entity/helios", into="entity/priya-raman")
        assert "a separate page again" in await post("/brain/unmerge", page="entity/helios")
    assert await rows_with(site, SHARED, besides="nobody")
    await admin.DeleteDocument(knowledge_pb2.DeleteDocumentRequest(base="handbook", path="a.md"))
    assert not await rows_with(site, SHARED, besides="nobody")
    async with browser(site) as reader:
        assert (await reader.get("/brain")).status_code == 403


async def test_operator_keeps_the_brain_in_the_console(site: Site) -> None:
    await remember(site.caller("acme", "ann"), s1="The gate code of Helios is 4417.", s2="Helios is in Lisbon.")
    async with browser(site, admin=True) as admin:

        async def post(place: str, **form: str) -> str:
            sent = {"csrf_token": await csrf_token_of(admin, "/brain"), **form}
            return (await admin.post(place, data=sent, follow_redirects=True)).text

        assert "Nothing is shared until" in (await admin.get("/brain")).text
        assert "releases nothing until" in await post("/brain/propose", name="handbook", tags="shared", tier="0")
        assert "trust_tier" in await post("/brain/propose", name="huge", tags="shared", tier="9" * 5_000, reason="why")
        page = (await admin.get("/brain")).text
        (rule,) = set(re.findall(r'name="rule_id" value="([^"]+)"', page))
        assert "is approved" in await post("/brain/approve", rule_id=rule)
        await worked(site)
        page = (await admin.get("/brain")).text
        assert "The gate code of Helios is 4417." in page
        assert "Brain of the tenant" in (await admin.get("/compiles/scopes")).text
        copy = re.search(r'name="copy_id" value="([^"]+)"', page)
        assert copy is not None
        assert "withdrawn by" in await post("/brain/take-back", copy_id=copy[1])
        assert "is released" in await post("/brain/release", copy_id=copy[1], reason="it may be known")
        assert "no longer see the Brain" in await post("/brain/switch", shown="no")
        assert "with its copies" in await post("/brain/withdraw", rule_id=rule)
        assert "The gate code" not in (await admin.get("/brain")).text
    about = {"approve": f"rule_id={rule}", "take-back": f"copy_id={copy[1]}", "release": f"copy_id={copy[1]}"}
    await until_equal(lambda: acts_noted(site), about | {"withdraw": f"rule_id={rule}"})
    async with browser(site) as reader:
        assert (await reader.get("/brain")).status_code == 403
