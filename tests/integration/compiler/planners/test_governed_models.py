"""A model's prompt under an ontology, and the effects of the types and relationships that it names."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

from compiler.operations.replay import replay
from models.language.remote import RemoteModel
from store.db.postgres import Pools
from store.ontology.terms import FacetTemplate, Lifecycle, RelationshipType
from tests.stand_ins import plan_answers
from tests.stand_ins.model_server import ModelServer
from tests.support.compiler.compiling import (
    NAMES,
    NOW,
    SCOPE,
    Clock,
    all_jobs,
    compiled,
    fetch,
    journal,
    wish,
    write,
    write_and_compile,
)
from tests.support.compiler.model_engines import engine_with, script
from tests.support.compiler.ontologies import WORLD, put_in_force

RENEE, DALE, PRIYA, FRANKLIN, BARTON, SUERTE = NAMES
TAUGHT = replace(
    WORLD,
    relationship_types=(
        *WORLD.relationship_types,
        RelationshipType("ate_at", "ate at", "fed", ("person",), ("restaurant",), aliases=("dined at",)),
        RelationshipType("feuds_with", "feuds with", lifecycle=Lifecycle.DEPRECATED),
    ),
    facet_templates=(
        *WORLD.facet_templates,
        FacetTemplate("person", "overview", "Who they are", 2, "Who is this to the owner?", "Begin with the family."),
    ),
)


def typed(plan: dict[str, Any]) -> dict[str, Any]:
    """Give the pages of a plan entity types, approved and not, and links of the ontology's relationships."""
    told = {RENEE: "person", DALE: "Person", FRANKLIN: "restaurant", BARTON: "swimming hole", SUERTE: ""}
    pages = [{**page, "entityType": told.get(page["title"], "")} for page in plan["newPages"]]
    edges = (
        (RENEE, "ate_at", FRANKLIN),
        (DALE, "dined at", FRANKLIN),
        (FRANKLIN, "ate_at", RENEE),
        (RENEE, "feuds_with", DALE),
        (RENEE, "owes_money", DALE),
        (RENEE, "No Such Form!", DALE),
    )
    refs = {page["title"]: page["source_refs"][:1] for page in pages}
    links = [
        {
            "fromType": "entity",
            "fromSlug": _slug(source),
            "toType": "entity",
            "toSlug": _slug(target),
            "context": "as told",
            "edgeType": edge,
            "since": "",
            "until": "",
            "source_refs": refs[source],
        }
        for source, edge, target in edges
        if source in refs and target in refs
    ]
    return {**plan, "newPages": pages, "pageLinks": links}


def _slug(name: str) -> str:
    return name.lower().replace(" ", "-")


async def rows_of(database: str) -> tuple[dict[str, str], dict[str, str], int]:
    pages = await fetch(database, "SELECT title, entity_type || held_type || held_reason AS told FROM wiki_pages")
    edges = await fetch(
        database,
        "SELECT f.title || ' ' || l.edge_type AS edge, l.held_reason FROM wiki_page_links l"
        " JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id WHERE l.edge_type <> ''",
    )
    untyped = await fetch(database, "SELECT count(*) AS many FROM wiki_page_links WHERE edge_type = ''")
    told = {row["edge"]: row["held_reason"] for row in edges if "located_in" not in row["edge"]}
    return {row["title"]: row["told"] for row in pages}, told, untyped[0]["many"]


async def test_types_and_relationships_of_a_model_are_approved_or_held(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = script(typed)
    await put_in_force(pools, TAUGHT)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    pages, edges, _ = await rows_of(database)
    assert {name: pages[name] for name in (RENEE, DALE, FRANKLIN, BARTON)} == {
        RENEE: "person",
        DALE: "person",
        FRANKLIN: "restaurant",
        BARTON: "swimming_holetype_not_approved",
    }
    assert edges == {
        f"{RENEE} ate_at": "",
        f"{DALE} ate_at": "",
        f"{FRANKLIN} ate_at": "source_type_not_allowed",
        f"{RENEE} feuds_with": "relationship_deprecated",
        f"{RENEE} owes_money": "relationship_not_approved",
    }
    (job,) = await all_jobs(pools)
    assert job.metrics["rejections"] == {"unknown_edge_type": 1}
    asked = len(site.asks)
    found = await replay(engine_with(pools, model), pools.background, SCOPE)
    assert (found.is_identical, len(site.asks)) == (True, asked)


async def test_without_an_ontology_answers_give_no_types_and_no_custom_edges(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = script(typed)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    pages, edges, untyped = await rows_of(database)
    assert (set(pages.values()), edges) == ({""}, {})
    assert untyped
    assert all("ONTOLOGY" not in ask.user + ask.system for ask in site.asks)
    tags = await fetch(database, "SELECT DISTINCT unnest(tags) AS tag FROM wiki_pages")
    assert not [row["tag"] for row in tags if row["tag"].startswith("type:")]


async def test_prompt_has_the_approved_terms_and_the_purpose_of_sections(
    pools: Pools, model: RemoteModel, site: ModelServer, database: str
) -> None:
    site.by_request = script(typed)
    await put_in_force(pools, TAUGHT)
    await write_and_compile(pools, journal(20), engine_with(pools, model))
    (leaf, *_) = [ask for ask in site.asks if ask.schema_name == "leaf_plan"]
    told = {one.get("entity_type") or one["relationship"]: one for one in plan_answers.lines_of(leaf.user, "ONTOLOGY")}
    assert {"person", "restaurant", "ate_at", "works_at"} <= told.keys()
    assert "feuds_with" not in told
    assert told["person"]["sections"][0] == {
        "slug": "preferences",
        "heading": "Likes and dislikes",
        "asks": "What does this person prefer?",
    }
    before = len(site.asks)
    await write(pools, journal(6, first=20))
    clock = Clock(NOW + timedelta(minutes=6))
    await wish(pools, now=clock())
    await compiled(pools, engine_with(pools, model, clock=clock))
    sections = [ask for ask in site.asks[before:] if not ask.schema_name and RENEE in ask.user]
    wanted = [
        [one["text"] for one in plan_answers.lines_of(ask.user, "WANTED")] for ask in sections if "WANTED" in ask.user
    ]
    assert ["Who is this to the owner?", "Begin with the family."] in wanted
