"""Proposals of a scan, items that a rescan keeps, and proposals that forgetting removes."""

from __future__ import annotations

import asyncio

from sidecar.v1 import admin_pb2, memory_pb2
from sidecar.v1 import ontology_pb2 as pb
from tests.support.served.site import Caller, Site
from tests.support.served.turns import as_superuser
from tests.support.served.wiki_site import worked

SAID = {
    "l1": "Casa Lola is a small tavern in Porto. Mara runs Casa Lola with her brother.",
    "l2": "Dinner at Casa Lola was late again, and Mara laughed.",
    "v1": "Vela Azul is a noisy tavern by the river. Tomás runs Vela Azul.",
    "v2": "Vela Azul closed early, so Tomás went home.",
    "q1": "Quillfeather is an odd tavern near the market.",
    "q2": "Quillfeather had no tables left on Friday.",
}


async def retained(site: Site, texts: dict[str, str], *, owner: str = "mara") -> None:
    new = [memory_pb2.NewMemory(memory_id=memory_id, text=text) for memory_id, text in texts.items()]
    await site.caller("acme", owner).Retain(memory_pb2.RetainRequest(memories=new))
    await worked(site)


async def scanned(admin: Caller) -> pb.ScanOntologyResponse:
    answer: pb.ScanOntologyResponse = await admin.ScanOntology(pb.ScanOntologyRequest())
    return answer


def items(change_set: pb.OntologyChangeSet) -> dict[str, pb.OntologyChangeItem]:
    return {one.key: one for one in change_set.items}


async def test_scan_proposes_kinds_of_several_names_with_quotes(site: Site) -> None:
    await retained(site, SAID)
    admin = site.caller("acme", admin=True)
    found = await scanned(admin)
    tavern = items(found.change_set)["tavern"]
    assert (tavern.kind, tavern.action, tavern.decision, tavern.frequency) == ("entity_type", "create", "pending", 3)
    assert {one.memory_id for one in tavern.evidence} == {"l1", "v1", "q1"}
    for one in tavern.evidence:
        assert one.quote in SAID[one.memory_id]
        assert len(one.quote) <= 280
    runs = items(found.change_set)["runs"]
    assert (runs.kind, runs.frequency) == ("relationship_type", 2)
    assert found.change_set.problem == ""
    again = await scanned(admin)
    assert (again.new_items, again.known_items) == (0, found.new_items)
    assert again.change_set == found.change_set


async def test_rescan_leaves_edits_and_decisions_and_proposes_nothing_rejected(site: Site) -> None:
    await retained(site, SAID)
    admin = site.caller("acme", admin=True)
    first = (await scanned(admin)).change_set
    tavern, runs = items(first)["tavern"], items(first)["runs"]
    ask = pb.ReviewOntologyItemRequest(change_set_id=first.change_set_id)
    ask.item_id, ask.decision, ask.edited_json = tavern.item_id, "pending", '{"name": "Inn", "slug": "inn"}'
    await admin.ReviewOntologyItem(ask)
    ask.item_id, ask.decision, ask.edited_json = runs.item_id, "rejected", ""
    await admin.ReviewOntologyItem(ask)
    await retained(site, {"x1": "Barcarola is a bright tavern in Gaia.", "x2": "Barcarola opens at nine."})
    second = (await scanned(admin)).change_set
    by_id = {one.item_id: one for one in second.items}
    assert by_id[tavern.item_id].key == "inn"
    assert by_id[runs.item_id].decision == "rejected"
    await admin.ApproveOntologyChangeSet(pb.ApproveOntologyChangeSetRequest(change_set_id=second.change_set_id))
    third = await scanned(admin)
    assert not {"tavern", "inn", "runs"} & set(items(third.change_set))
    assert third.rejected_items >= 1


async def test_forgotten_memory_removes_its_quotes_and_proposals(site: Site) -> None:
    await retained(site, SAID)
    admin, mara = site.caller("acme", admin=True), site.caller("acme", "mara")
    first = (await scanned(admin)).change_set
    assert await as_superuser(site, "SELECT count(*) FROM ontology_evidence_examples WHERE quote LIKE '%Quillfeather%'")
    await mara.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="q1"))
    get = pb.GetOntologyChangeSetRequest(change_set_id=first.change_set_id)
    left = (await admin.GetOntologyChangeSet(get)).change_set
    assert "Quillfeather" not in str(left)
    assert not await as_superuser(
        site, "SELECT count(*) FROM ontology_evidence_examples e WHERE strpos(lower(e::text), 'quillfeather') > 0"
    )
    assert {one.memory_id for one in items(left)["tavern"].evidence} == {"l1", "v1"}
    for memory_id in ("l1", "v1"):
        await mara.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id=memory_id))
    left = (await admin.GetOntologyChangeSet(get)).change_set
    assert not {"tavern", "runs"} & set(items(left))


async def test_forgetting_an_owner_deletes_quotes_and_proposals_while_scans_run(site: Site) -> None:
    await retained(site, SAID)
    admin = site.caller("acme", admin=True)
    await scanned(admin)
    forget = admin_pb2.ForgetOwnerRequest(owner_id="mara")
    await asyncio.gather(*(scanned(admin) for _ in range(3)), admin.ForgetOwner(forget), scanned(admin))
    assert await as_superuser(site, "SELECT count(*) FROM ontology_evidence_examples") == 0
    assert await as_superuser(site, "SELECT count(*) FROM ontology_change_set_items WHERE origin = 'scan'") == 0


async def test_old_text_of_an_edited_memory_is_not_quoted(site: Site) -> None:
    await retained(site, SAID)
    admin, mara = site.caller("acme", admin=True), site.caller("acme", "mara")
    first = (await scanned(admin)).change_set
    new = memory_pb2.NewMemory(memory_id="q1", text="The market was closed.")
    await mara.Retain(memory_pb2.RetainRequest(memories=[new]))
    get = pb.GetOntologyChangeSetRequest(change_set_id=first.change_set_id)
    assert "Quillfeather" not in str((await admin.GetOntologyChangeSet(get)).change_set)
    assert not await as_superuser(site, "SELECT count(*) FROM ontology_evidence_examples WHERE quote LIKE '%Quill%'")


async def test_scan_of_one_tenant_reads_no_other(site: Site) -> None:
    await retained(site, SAID)
    other = await scanned(site.caller("evil", admin=True))
    assert (other.owners, other.new_items) == (0, 0)
    assert not other.HasField("change_set")
