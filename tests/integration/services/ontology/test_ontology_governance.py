"""The life of a change set on a real database: draft, review, approval, rollback, and conflicts."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.ontology import exchange
from sidecar.services.ontology.changes import MAX_ITEMS
from sidecar.services.ontology.drafting import WantedChange
from sidecar.services.ontology.governance import Governance
from sidecar.services.ontology.views import ChangeSetView
from store.db.postgres import Pools, tenant_scoped
from store.errors import VersionConflict
from store.ontology import change_sets
from store.ontology.change_sets import ItemDecision, ItemRuling
from store.ontology.terms import Lifecycle
from store.ontology.versions import ontology_in_force

TENANT, OTHER = UUID(int=1), UUID(int=2)
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def governance(pools: Pools) -> Governance:
    return Governance(pools, now=lambda: NOW)


def create(slug: str, name: str = "", **more: Any) -> WantedChange:
    return WantedChange("entity_type", "create", {"slug": slug, "name": name or slug.title(), **more})


async def draft(governance: Governance, *wanted: WantedChange, author: str = "ines") -> ChangeSetView:
    return await governance.draft(TENANT, "Boats", wanted, author=author)


async def approved(governance: Governance, *wanted: WantedChange) -> int:
    view = await draft(governance, *wanted)
    return (await governance.approve(TENANT, view.change_set.change_set_id, author="ines")).version


async def slugs(governance: Governance, tenant_id: UUID = TENANT) -> list[str]:
    return [one.slug for one in (await governance.ontology(tenant_id)).entity_types]


async def test_seed_is_proposed_once_and_switches_nothing_on_by_itself(governance: Governance, pools: Pools) -> None:
    view = await governance.draft_seed(TENANT)
    again = await governance.draft_seed(TENANT)
    assert again.change_set == view.change_set
    assert view.problem == ""
    async with tenant_scoped(pools.turn, TENANT) as connection:
        assert await ontology_in_force(connection, TENANT) is None
    made = await governance.approve(TENANT, view.change_set.change_set_id, author="ines")
    ontology = await governance.ontology(TENANT)
    assert (made.version, ontology.version) == (1, 1)
    assert ontology.terms == exchange.seed().terms
    assert [(one.from_version, one.to_version) for one in await governance.jobs(TENANT, limit=5)] == [(0, 1)]
    with pytest.raises(FailedPrecondition, match="nothing to draft"):
        await governance.draft_seed(TENANT)


async def test_rejected_items_stay_out_and_pending_ones_go_in(governance: Governance) -> None:
    view = await draft(governance, create("ferry"), create("pier"), create("buoy"))
    ids = [one.item.item_id for one in view.items]
    key = view.change_set.change_set_id
    await governance.rule(TENANT, key, ItemRuling(ids[0], ItemDecision.ACCEPTED), author="ines")
    await governance.rule(TENANT, key, ItemRuling(ids[1], ItemDecision.REJECTED), author="ines")
    await governance.approve(TENANT, key, author="ines")
    assert await slugs(governance) == ["buoy", "ferry"]
    decisions = [one.item.decision.value for one in (await governance.view(TENANT, key)).items]
    assert decisions == ["accepted", "rejected", "accepted"]


async def test_edited_term_is_approved(governance: Governance) -> None:
    view = await draft(governance, create("ferry", aliases=["balsa"]))
    ruling = ItemRuling(view.items[0].item.item_id, ItemDecision.ACCEPTED, {"slug": "boat", "name": "Boat"})
    edited = await governance.rule(TENANT, view.change_set.change_set_id, ruling, author="joao")
    assert edited.items[0].item.proposed["slug"] == "ferry"
    assert edited.items[0].item.edited_by == "joao"
    await governance.approve(TENANT, view.change_set.change_set_id, author="ines")
    made = (await governance.ontology(TENANT)).entity_types
    assert [(one.slug, one.name, one.aliases) for one in made] == [("boat", "Boat", ("balsa",))]


async def test_review_of_an_older_revision_is_refused(governance: Governance) -> None:
    view = await draft(governance, create("ferry"), create("pier"))
    key, ids = view.change_set.change_set_id, [one.item.item_id for one in view.items]
    await governance.rule(TENANT, key, ItemRuling(ids[0], ItemDecision.ACCEPTED), author="ines", revision=1)
    with pytest.raises(VersionConflict):
        await governance.rule(TENANT, key, ItemRuling(ids[1], ItemDecision.REJECTED), author="joao", revision=1)
    with pytest.raises(VersionConflict):
        await governance.approve(TENANT, key, author="joao", revision=1)
    assert (await governance.approve(TENANT, key, author="joao", revision=2)).version == 1


async def test_same_ruling_sent_again_changes_nothing_and_is_no_conflict(governance: Governance) -> None:
    view = await draft(governance, create("ferry"), create("pier"))
    key, ids = view.change_set.change_set_id, [one.item.item_id for one in view.items]
    accepts = ItemRuling(ids[0], ItemDecision.ACCEPTED)
    edits = ItemRuling(ids[1], ItemDecision.ACCEPTED, {"name": "Jetty"})
    for revision, ruling in enumerate((accepts, edits), start=1):
        ruled = await governance.rule(TENANT, key, ruling, author="ines", revision=revision)
        again = await governance.rule(TENANT, key, ruling, author="ines", revision=revision)
        assert again == ruled
        assert again.change_set.revision == revision + 1
    with pytest.raises(VersionConflict):
        await governance.rule(TENANT, key, edits, author="joao", revision=2)
    with pytest.raises(VersionConflict):
        await governance.rule(TENANT, key, ItemRuling(ids[0], ItemDecision.REJECTED), author="ines", revision=1)


async def test_of_two_concurrent_approvals_one_wins_and_one_conflicts(governance: Governance) -> None:
    view = await draft(governance, create("ferry"))
    key = view.change_set.change_set_id
    outcomes = await asyncio.gather(
        *(governance.approve(TENANT, key, author=name) for name in ("ines", "joao")), return_exceptions=True
    )
    refused = [one for one in outcomes if isinstance(one, FailedPrecondition)]
    assert len(refused) == 1
    assert "was approved by" in str(refused[0])
    assert len(await governance.history(TENANT, limit=5)) == 1
    assert len(await governance.jobs(TENANT, limit=5)) == 1


async def test_same_approval_twice_makes_one_version(governance: Governance) -> None:
    view = await draft(governance, create("ferry"))
    key = view.change_set.change_set_id
    made = await asyncio.gather(*(governance.approve(TENANT, key, author="ines") for _ in range(4)))
    assert {one.version for one in made} == {1}
    assert len(await governance.history(TENANT, limit=5)) == 1
    assert len(await governance.jobs(TENANT, limit=5)) == 1


async def test_two_sets_about_one_term_do_not_overwrite_each_other(governance: Governance) -> None:
    await approved(governance, create("ferry"))
    first, second = [
        await draft(governance, WantedChange("entity_type", "update", {"description": text}, key="ferry"))
        for text in ("A boat.", "A big boat.")
    ]
    await governance.approve(TENANT, first.change_set.change_set_id, author="ines")
    with pytest.raises(InvalidArgument, match="drafted against a version"):
        await governance.approve(TENANT, second.change_set.change_set_id, author="joao")
    assert (await governance.ontology(TENANT)).entity_types[0].description == "A boat."
    assert "drafted against a version" in (await governance.view(TENANT, second.change_set.change_set_id)).problem


async def test_rollback_makes_a_new_version_equal_to_the_old_and_queues_a_reprocess(governance: Governance) -> None:
    await approved(governance, create("ferry"))
    await approved(governance, create("pier"))
    first = await governance.ontology(TENANT, 1)
    made = await governance.roll_back(TENANT, 1, author="ines")
    assert (made.version, made.restores) == (3, 1)
    assert await governance.roll_back(TENANT, 1, author="ines") == made
    assert (await governance.ontology(TENANT)).terms == first.terms
    assert await governance.compare(TENANT, 1, 3) == ()
    jobs = {(one.from_version, one.to_version) for one in await governance.jobs(TENANT, limit=9)}
    assert jobs == {(0, 1), (1, 2), (2, 3)}
    with pytest.raises(FailedPrecondition, match="in force already"):
        await governance.roll_back(TENANT, 3, author="ines")
    with pytest.raises(NotFound):
        await governance.roll_back(TENANT, 9, author="ines")


async def test_rollback_to_nothing_leaves_no_ontology_in_force(governance: Governance, pools: Pools) -> None:
    await approved(governance, create("ferry"))
    assert (await governance.roll_back(TENANT, 0, author="ines")).version == 2
    async with tenant_scoped(pools.turn, TENANT) as connection:
        assert await ontology_in_force(connection, TENANT) is None
    assert (await governance.ontology(TENANT, 1)).entity_types


async def test_drafter_and_editor_may_not_approve_under_four_eyes(pools: Pools) -> None:
    strict = Governance(pools, now=lambda: NOW, has_four_eyes=True)
    view = await draft(strict, create("ferry"))
    key, item_id = view.change_set.change_set_id, view.items[0].item.item_id
    with pytest.raises(FailedPrecondition, match="another admin"):
        await strict.approve(TENANT, key, author="ines")
    await strict.rule(TENANT, key, ItemRuling(item_id, ItemDecision.ACCEPTED, {"name": "Boat"}), author="joao")
    with pytest.raises(FailedPrecondition, match="another admin"):
        await strict.approve(TENANT, key, author="joao")
    assert (await strict.approve(TENANT, key, author="mara")).version == 1


async def test_admin_who_added_items_may_not_approve_under_four_eyes(pools: Pools) -> None:
    strict = Governance(pools, now=lambda: NOW, has_four_eyes=True)
    key = (await draft(strict, create("ferry"))).change_set.change_set_id
    await strict.draft(TENANT, "", [create("pier")], author="joao", change_set_id=key)
    for author in ("ines", "joao"):
        with pytest.raises(FailedPrecondition, match=f"edited by {author}"):
            await strict.approve(TENANT, key, author=author)
    assert (await strict.approve(TENANT, key, author="mara")).version == 1


async def test_earlier_editor_may_not_approve_either_under_four_eyes(pools: Pools) -> None:
    strict = Governance(pools, now=lambda: NOW, has_four_eyes=True)
    view = await draft(strict, create("ferry"))
    key, item_id = view.change_set.change_set_id, view.items[0].item.item_id
    for author in ("joao", "mara", "joao"):
        edited = await strict.rule(
            TENANT, key, ItemRuling(item_id, ItemDecision.ACCEPTED, {"name": f"Boat of {author}"}), author=author
        )
    assert edited.items[0].item.editors == ("joao", "mara")
    for author in ("joao", "mara"):
        with pytest.raises(FailedPrecondition, match=f"edited by {author}"):
            await strict.approve(TENANT, key, author=author)
    assert (await strict.approve(TENANT, key, author="rui")).version == 1


async def test_only_so_many_rejections_and_rejected_items_are_kept(pools: Pools) -> None:
    governance = Governance(pools, now=lambda: NOW, most_items=6)
    view = await draft(governance, *(create(f"type_{n}") for n in range(5)))
    key, prints = view.change_set.change_set_id, [one.item.fingerprint for one in view.items]
    for one in view.items:
        await governance.rule(TENANT, key, ItemRuling(one.item.item_id, ItemDecision.REJECTED), author="ines")
    with pytest.raises(InvalidArgument, match="including rejected ones"):
        await governance.draft(TENANT, "", [create("x"), create("y")], author="ines", change_set_id=key)
    await governance.draft(TENANT, "", [create("x")], author="ines", change_set_id=key)
    later = NOW + timedelta(seconds=1)
    async with tenant_scoped(pools.turn, TENANT) as connection:
        assert await change_sets.rejected_among(connection, TENANT, prints) == set(prints)
        await change_sets.reject_fingerprints(connection, TENANT, prints[:2], author="ines", now=later, most=2)
        assert await change_sets.rejected_among(connection, TENANT, prints) == set(prints[:2])


async def test_hostile_change_sets_are_refused_whole(governance: Governance) -> None:
    hostile: dict[str, list[WantedChange]] = {
        f"at most|1 to {MAX_ITEMS}": [create(f"type_{n}") for n in range(10_000)],
        "cycle": [create("a", broad_type="b"), create("b", broad_type="c"), create("c", broad_type="a")],
        "a kind of itself": [create("a", broad_type="a")],
        "not a slug": [create("лодка", "Лодка")],
        r"send 'cafe_owner'": [create("Café owner", "Café owner")],
        "keep one of the two": [create("a"), create("a", "Another")],
        "which is a already": [create("a", "Boat"), create("b", "boat")],
        "does not exist": [WantedChange("relationship_type", "create", {"name": "sails on", "target_types": ["sea"]})],
        "is deprecated|does not exist": [
            WantedChange("facet_template", "create", {"entity_type": "x", "heading": "H"})
        ],
        "https": [
            create("a"),
            WantedChange(
                "external_mapping",
                "create",
                {
                    "subject_kind": "entity_type",
                    "subject": "a",
                    "kind": "exact",
                    "vocabulary": "v",
                    "uri": "javascript:1",
                },
            ),
        ],
        "NUL": [create("a", "a\0b")],
        "is not known": [create("a", colour="red")],
    }
    for problem, wanted in hostile.items():
        with pytest.raises(InvalidArgument, match=problem):
            await draft(governance, *wanted)
    with pytest.raises(InvalidArgument) as refused:
        await draft(governance, create("a"), WantedChange("boat", "create", {}))
    assert refused.value.field == "changes[1].kind"
    assert await governance.listed(TENANT, limit=5) == []
    assert await slugs(governance) == []


async def test_type_is_deprecated_with_its_dependents_or_not_at_all(governance: Governance) -> None:
    await approved(
        governance,
        create("ferry"),
        WantedChange("relationship_type", "create", {"name": "sails to", "source_types": ["ferry"]}),
    )
    alone = WantedChange("entity_type", "deprecate", {}, key="ferry")
    with pytest.raises(InvalidArgument, match="deprecated"):
        await draft(governance, alone)
    await approved(governance, alone, WantedChange("relationship_type", "deprecate", {}, key="sails_to"))
    ontology = await governance.ontology(TENANT)
    assert ontology.entity_types[0].lifecycle is ontology.relationship_types[0].lifecycle is Lifecycle.DEPRECATED


async def test_export_is_imported_equal_in_another_tenant(governance: Governance) -> None:
    await approved(governance, create("ferry", aliases=["boat"], description="Löwe\nline two"))
    seeded = await governance.draft_seed(TENANT)
    await governance.approve(TENANT, seeded.change_set.change_set_id, author="ines")
    for form, tenant_id in (("json", OTHER), ("jsonld", UUID(int=3))):
        text = await governance.export_text(TENANT, form=form)
        view = await governance.import_text(tenant_id, text, author="joao")
        await governance.approve(tenant_id, view.change_set.change_set_id, author="joao")
        assert (await governance.ontology(tenant_id)).terms == (await governance.ontology(TENANT)).terms
        with pytest.raises(FailedPrecondition, match="nothing to draft"):
            await governance.import_text(tenant_id, text, author="joao")


async def test_another_tenant_sees_and_changes_nothing(governance: Governance) -> None:
    view = await draft(governance, create("ferry"))
    key = view.change_set.change_set_id
    ruling = ItemRuling(view.items[0].item.item_id, ItemDecision.REJECTED)
    for call in (
        governance.view(OTHER, key),
        governance.approve(OTHER, key, author="eve"),
        governance.reject(OTHER, key, author="eve"),
        governance.rule(OTHER, key, ruling, author="eve"),
        governance.draft(OTHER, "", [create("pier")], author="eve", change_set_id=key),
    ):
        with pytest.raises(NotFound):
            await call
    assert await governance.listed(OTHER, limit=5) == []
    await governance.approve(TENANT, key, author="ines")
    assert await slugs(governance, OTHER) == []
    with pytest.raises(NotFound):
        await governance.ontology(OTHER, 1)


async def test_closed_change_set_refuses_further_acts(governance: Governance) -> None:
    view = await draft(governance, create("ferry"))
    key = view.change_set.change_set_id
    await governance.reject(TENANT, key, author="ines")
    assert (await governance.reject(TENANT, key, author="joao")).change_set.decided_by == "ines"
    ruling = ItemRuling(view.items[0].item.item_id, ItemDecision.ACCEPTED)
    for call in (
        governance.approve(TENANT, key, author="ines"),
        governance.rule(TENANT, key, ruling, author="ines"),
        governance.draft(TENANT, "", [create("pier")], author="ines", change_set_id=key),
    ):
        with pytest.raises(FailedPrecondition, match="was rejected by ines"):
            await call
    with pytest.raises(NotFound):
        await governance.view(TENANT, uuid4())
