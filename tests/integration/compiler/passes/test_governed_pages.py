"""An ontology in force types pages and holds edges, and takes nothing away; without one, nothing changes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compiler.operations import acts
from compiler.operations.replay import replay
from compiler.plan.edge_types import TypedEdge
from compiler.plan.upkeep import ActRefused
from sidecar.demo import corpus
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped
from store.ontology.terms import Cardinality, Ontology, RelationshipType
from store.wiki import browse, edges, mentions, neighbourhood
from store.wiki.edges import EdgePattern
from store.wiki.mentions import MentionRow
from tests.support.compiler.compiling import (
    HOUSEMATE,
    NOW,
    SCOPE,
    again,
    all_jobs,
    capped,
    compiled,
    engine_on,
    fetch,
    forget,
    wiki_of,
    wish,
    worker_on,
    write,
    write_and_compile,
)
from tests.support.compiler.ontologies import STRICT, WORLD, put_in_force

OF_WORK = (
    "Maria Reis works at Helios Labs since May 2021.",
    "Maria Reis likes the view from Helios Labs.",
    "Tom Ortega is an engineer at Helios Labs.",
    "Tom Ortega likes the coffee of Helios Labs.",
)


def said(*texts: str) -> list[NewMemory]:
    named = {"people": ["Maria Reis", "Tom Ortega"], "organizations": ["Helios Labs"]}
    return [
        NewMemory(
            text,
            f"m-{number}",
            NOW,
            metadata={kind: [name for name in names if name in text] for kind, names in named.items()},
        )
        for number, text in enumerate(texts)
    ]


def untyped(wiki: dict[str, bytes]) -> dict[str, bytes]:
    """Return all but what an ontology adds."""
    return {name: value for name, value in wiki.items() if not name.startswith("governed ")}


def governed(wiki: dict[str, bytes]) -> list[str]:
    return sorted(name for name in wiki if name.startswith("governed "))


async def types_of(database: str) -> dict[str, tuple[str, str, str]]:
    rows = await fetch(
        database, "SELECT title, entity_type, held_type, held_reason FROM wiki_pages WHERE type = 'entity'"
    )
    return {row["title"]: (row["entity_type"], row["held_type"], row["held_reason"]) for row in rows}


async def edges_of(database: str) -> dict[str, str]:
    rows = await fetch(database, "SELECT edge_type, held_reason FROM wiki_page_links WHERE edge_type <> ''")
    return {row["edge_type"]: row["held_reason"] for row in rows}


def journal() -> list[NewMemory]:
    """Return the beginning of the demo's journal."""
    return [
        NewMemory(one.text, one.id, one.occurred_at, metadata=one.metadata)
        for one in corpus.memories()[:50]
        if one.occurred_at is not None
    ]


@pytest.mark.parametrize("ontology", [WORLD, STRICT, Ontology(1)], ids=["world", "strict", "empty"])
async def test_every_row_of_the_run_without_an_ontology_is_there(pools: Pools, ontology: Ontology) -> None:
    engine = engine_on(pools)
    for scope in (HOUSEMATE, SCOPE):
        await write(pools, journal(), scope=scope)
    await wish(pools, scope=HOUSEMATE)
    await compiled(pools, engine, scope=HOUSEMATE)
    await put_in_force(pools, ontology)
    await wish(pools)
    await compiled(pools, engine)
    without, under = await wiki_of(pools, scope=HOUSEMATE), await wiki_of(pools)
    assert untyped(under) == without
    assert {"page", "link", "mention"} <= {name.split(" ")[0] for name in without}
    assert any(name.startswith("link ") and " parent_of " in name for name in without) or any(
        b'"children": [{' in value or b'"children":[{' in value for value in without.values()
    ), "hubs list pages"
    assert bool(governed(under)) == bool(ontology.terms)
    assert not governed(without)
    assert (await replay(engine, pools.background, SCOPE)).is_identical


async def test_pages_get_types_and_templates_and_keep_their_edges(pools: Pools, database: str) -> None:
    await put_in_force(pools, WORLD)
    await write_and_compile(pools, said(*OF_WORK), engine_on(pools))
    assert await types_of(database) == {
        "Maria Reis": ("person", "", ""),
        "Tom Ortega": ("person", "", ""),
        "Helios Labs": ("", "", ""),
    }
    assert await edges_of(database) == {"works_at": ""}
    async with scoped(pools.background, SCOPE) as connection:
        row = await browse.page_by_key(connection, SCOPE, "entity", "maria-reis")
        assert row is not None
        found = await browse.whole(connection, SCOPE, row)
    assert [(one.slug, one.heading) for one in found.sections] == [
        ("preferences", "Likes and dislikes"),
        ("overview", "Overview"),
    ]


async def test_edge_between_pages_of_other_types_is_an_untyped_reference_until_it_fits(
    pools: Pools, database: str
) -> None:
    wrong = RelationshipType("works_at", "works at", "employs", ("organisation",), ("organisation",))
    await put_in_force(pools, replace(WORLD, relationship_types=(wrong,)))
    await write_and_compile(pools, said(*OF_WORK), engine_on(pools))
    assert await edges_of(database) == {"works_at": "source_type_not_allowed"}
    (figures,) = [job.metrics for job in await all_jobs(pools)]
    assert figures["edges_held_source_type_not_allowed"] == 2
    async with scoped(pools.background, SCOPE) as connection:
        row = await browse.page_by_key(connection, SCOPE, "entity", "maria-reis")
        assert row is not None
        assert not (await edges.walk(connection, SCOPE, row.page_id, (EdgePattern(),))).paths
        linked = await neighbourhood.links(connection, SCOPE, row.page_id, limit=10)
    assert [one.page.title for one in linked] == ["Helios Labs"]
    await put_in_force(pools, WORLD)
    await write(pools, [NewMemory("Maria Reis likes rain at Helios Labs.", "m-9", NOW)])
    await again(pools)
    rows = await fetch(
        database,
        "SELECT f.title FROM wiki_page_links l JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id"
        " WHERE l.edge_type <> '' AND l.held_reason = ''",
    )
    assert {row["title"] for row in rows} == {"Maria Reis", "Tom Ortega"}, "Helios Labs was written anew"


async def test_edge_over_cardinality_is_held_until_there_is_room(pools: Pools, database: str) -> None:
    one_each = replace(WORLD.relationship_types[2], cardinality=Cardinality.ONE_TO_MANY)
    await put_in_force(pools, replace(WORLD, relationship_types=(one_each,)))
    engine = engine_on(pools)
    await write_and_compile(pools, said(*OF_WORK), engine)
    standing = (
        "SELECT f.title, l.held_reason FROM wiki_page_links l"
        " JOIN wiki_pages f ON f.tenant_id = l.tenant_id AND f.page_id = l.from_page_id"
        " WHERE l.edge_type = 'works_at' ORDER BY 1"
    )
    assert [tuple(row) for row in await fetch(database, standing)] == [
        ("Maria Reis", "over_cardinality"),
        ("Tom Ortega", ""),
    ], "Tom's has no known beginning but that it was said now"
    async with scoped(pools.background, SCOPE) as connection:
        (waiting,) = [
            one for one in await mentions.listed(connection, SCOPE, status="open", limit=100) if one.held_type
        ]
        row = await browse.page_by_key(connection, SCOPE, "entity", "maria-reis")
        assert row is not None
        linked = await neighbourhood.links(connection, SCOPE, row.page_id, limit=10)
    assert (waiting.reason, waiting.held_type) == ("over_cardinality", "works_at")
    assert [one.page.title for one in linked] == ["Helios Labs"], "it is still a link"
    assert (await replay(engine, pools.background, SCOPE)).is_identical
    await forget(pools, "m-2")
    await again(pools)
    assert [tuple(row) for row in await fetch(database, standing)] == [("Maria Reis", "")]


async def test_page_of_a_type_that_is_not_approved_is_held_with_its_reason(pools: Pools, database: str) -> None:
    await put_in_force(pools, STRICT)
    await write_and_compile(pools, said(*OF_WORK), engine_on(pools))
    found = await types_of(database)
    assert found["Maria Reis"] == ("", "person", "type_deprecated")
    assert found["Helios Labs"] == ("", "", "")
    assert await edges_of(database) == {"works_at": "relationship_deprecated"}
    told = [(one.alias, one.held_type, one.reason, one.page and one.page.path) for one in await mentions_of(pools)]
    assert sorted(told) == [
        ("Maria Reis", "person", "type_deprecated", "/wiki/entity/maria-reis"),
        ("Maria Reis works_at Helios Labs", "works_at", "relationship_deprecated", "/wiki/entity/maria-reis"),
        ("Tom Ortega", "person", "type_deprecated", "/wiki/entity/tom-ortega"),
        ("Tom Ortega works_at Helios Labs", "works_at", "relationship_deprecated", "/wiki/entity/tom-ortega"),
    ]
    assert all(one.sighting_count for one in await mentions_of(pools))


async def mentions_of(pools: Pools) -> list[MentionRow]:
    """Return what is held, read one row at a time."""
    found: list[MentionRow] = []
    while True:
        async with scoped(pools.background, SCOPE) as connection:
            after = (found[-1].updated_at, found[-1].mention_id) if found else None
            rows = await mentions.listed(connection, SCOPE, status="open", after=after, limit=1)
        if not rows:
            return [one for one in found if one.reason]
        found += rows


async def test_plan_stored_for_an_older_ontology_is_made_again(pools: Pools, database: str) -> None:
    await put_in_force(pools, STRICT)
    await write(pools, said(*OF_WORK))
    await wish(pools)
    engine = engine_on(pools, settings=capped(max_new_pages_per_job=1))
    assert await worker_on(pools, engine).work_once()
    assert len(await types_of(database)) == 1, "the cap leaves the rest of the plan stored"
    await put_in_force(pools, WORLD)
    await compiled(pools, engine)
    found = await types_of(database)
    assert found["Maria Reis"] == found["Tom Ortega"] == ("person", "", "")
    assert await edges_of(database) == {"works_at": ""}
    assert sum(job.metrics["plans_superseded"] for job in await all_jobs(pools)) == 1
    assert (await replay(engine, pools.background, SCOPE)).is_identical


async def test_forgetting_under_an_ontology_equals_never_having_known(pools: Pools) -> None:
    await put_in_force(pools, WORLD)
    more = said(*OF_WORK, "Tom Ortega works at Helios Labs since 2024.", "Maria Reis is married to Tom Ortega.")
    engine = engine_on(pools)
    await write(pools, said(*OF_WORK), scope=HOUSEMATE)
    await wish(pools, scope=HOUSEMATE)
    await compiled(pools, engine, scope=HOUSEMATE)
    await write_and_compile(pools, more, engine)
    assert governed(await wiki_of(pools)) != []
    await forget(pools, "m-4", "m-5")
    await again(pools)
    assert await wiki_of(pools) == await wiki_of(pools, scope=HOUSEMATE)


async def test_edge_of_the_tenant_s_own_relationship_is_stated_by_hand(pools: Pools, database: str) -> None:
    mentors = RelationshipType("mentors", "mentors", "is mentored by", ("person",), ("person",))
    await put_in_force(pools, replace(WORLD, relationship_types=(*WORLD.relationship_types, mentors)))
    await write_and_compile(pools, said(*OF_WORK), engine_on(pools))
    async with scoped(pools.background, SCOPE) as connection:
        ends = [await browse.page_by_key(connection, SCOPE, "entity", slug) for slug in ("maria-reis", "tom-ortega")]
        assert ends[0] is not None
        assert ends[1] is not None
        await acts.write_edge(connection, SCOPE, (ends[0], ends[1]), TypedEdge("mentors"), now=NOW)
    assert await edges_of(database) == {"works_at": "", "mentors": ""}
    await put_in_force(pools, STRICT)
    with pytest.raises(ActRefused, match="send one of"):
        async with scoped(pools.background, SCOPE) as connection:
            await acts.write_edge(connection, SCOPE, (ends[0], ends[1]), TypedEdge("mentors"), now=NOW)
    async with scoped(pools.background, SCOPE) as connection:
        assert await acts.drop_edge(connection, SCOPE, (ends[0], ends[1]), TypedEdge("mentors"), now=NOW)
    assert "mentors" not in await edges_of(database)


async def test_held_edge_without_an_untyped_link_is_read_as_one(pools: Pools, database: str) -> None:
    texts = (
        "Ana Prado paints large green ships.",
        "Ana Prado sold her small yellow boat.",
        "Rui Costa rows before breakfast every day.",
        "Rui Costa bought warm woollen gloves.",
    )
    people = [
        NewMemory(text, f"p-{at}", NOW, metadata={"people": [" ".join(text.split()[:2])]})
        for at, text in enumerate(texts)
    ]
    await put_in_force(pools, WORLD)
    await write_and_compile(pools, people, engine_on(pools))
    async with scoped(pools.background, SCOPE) as connection:
        ends = [await browse.page_by_key(connection, SCOPE, "entity", slug) for slug in ("ana-prado", "rui-costa")]
        assert ends[0] is not None
        assert ends[1] is not None
        assert not await neighbourhood.links(connection, SCOPE, ends[0].page_id, limit=5)
        for edge in ("owns", "works_at"):
            await acts.write_edge(connection, SCOPE, (ends[0], ends[1]), TypedEdge(edge), now=NOW)
        assert len((await edges.walk(connection, SCOPE, ends[0].page_id, (EdgePattern(),))).paths) == 2
    await fetch(database, "UPDATE wiki_page_links SET held_reason = 'relationship_deprecated', held_at = now()")
    async with scoped(pools.background, SCOPE) as connection:
        (out,) = await neighbourhood.links(connection, SCOPE, ends[0].page_id, limit=5)
        (back,) = await neighbourhood.backlinks(connection, SCOPE, ends[1].page_id, limit=5)
        around = await neighbourhood.counts(connection, SCOPE, ends[0].page_id)
        graph = await neighbourhood.graph(connection, SCOPE, focus=ends[0].page_id, depth=1, most_pages=5)
        assert not (await edges.walk(connection, SCOPE, ends[0].page_id, (EdgePattern(),))).paths
    assert (out.page.slug, back.page.slug, around.links) == ("rui-costa", "ana-prado", 1)
    assert [(one.edge_type, one.valid_from) for one in graph.edges] == [("", None)]
