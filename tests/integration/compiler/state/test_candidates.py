"""Which pages a batch is shown: by names and their beginnings, by words, by vectors; of one owner, through an index."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import Alias, BatchMemory, CreatePage, Page, PageKey, PageType, Section
from compiler.plan.names.merge import Names, Way
from compiler.plan.text.markdown import alias_key, slug
from compiler.settings import Sight
from compiler.state import apply, views
from compiler.state.views import Looking
from sidecar.worker.embedding_jobs import embed_some
from store.compile import batches
from store.content import embeddings
from store.content.memories import NewMemory
from store.db.postgres import DatabaseRole, Pools, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import tenants
from store.text.texts import text_hash
from store.wiki import candidates
from tests.integration.store.db.test_query_plans import CROWD, Explained, nodes
from tests.support.compiler.compiling import HOUSEMATE, NOW, SCOPE, compiled, engine_on, wish, write
from tests.support.store.embedding_world import TopicEmbedder, numbered
from tests.support.store.schema_rows import fill, tenant_tables

ROWS = 2_000


def page(title: str, body: str = "", *, kind: PageType = PageType.ENTITY, summary: str = "") -> Page:
    names = (Alias(alias_key(title), title, "import"),)
    sections = (Section("overview", "Overview", body),) if body else ()
    return Page(PageKey(kind, slug(title)), title, summary or f"{title}.", aliases=names, sections=sections)


async def made(pools: Pools, *pages: Page, scope: Scope = SCOPE) -> None:
    async with scoped(pools.background, scope) as connection:
        await tenants.ensure_tenant(connection, scope.tenant_id, now=NOW)
        await apply.apply_items(connection, scope, [CreatePage(one) for one in pages], now=NOW)


async def seen(pools: Pools, *texts: str, near: tuple[PageKey, ...] | None = None, scope: Scope = SCOPE) -> LeafBatch:
    memories = tuple(BatchMemory(f"m{at}", text, text_hash(text), NOW) for at, text in enumerate(texts))
    looking = Looking(Sight(), lambda text: len(text) // 4 + 1, near=near)
    async with scoped(pools.background, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
        return await views.leaf_batch(connection, scope, memories, looking)


def titles(batch: LeafBatch) -> list[str]:
    return [one.title for one in batch.pages]


GARDEN = page("Hidden Orchard", "The greenhouse burned down after the lightning strike.")
OTHERS = [page(f"Place {number}", f"Somewhere quiet, entry {number}.") for number in range(30)]


async def test_memory_that_names_no_page_is_shown_pages_with_its_rare_words(pools: Pools) -> None:
    await made(pools, GARDEN, *OTHERS)
    assert titles(await seen(pools, "they rebuilt what the lightning did to the greenhouse"))[0] == "Hidden Orchard"
    assert titles(await seen(pools, "they rebuilt the greenhouse")) == [], "one word is no kinship"
    assert titles(await seen(pools, "the lightning hit the greenhouse", scope=HOUSEMATE)) == []


async def test_words_are_used_only_if_no_name_matches(pools: Pools) -> None:
    await made(pools, GARDEN, *OTHERS)
    found = titles(await seen(pools, "Place 3 saw the lightning strike the greenhouse"))
    assert found[0] == "Place 3"
    assert "Hidden Orchard" not in found


async def test_pages_found_by_words_precede_hubs(pools: Pools) -> None:
    await made(pools, GARDEN, *OTHERS)
    async with scoped(pools.background, SCOPE) as connection:
        await connection.execute("UPDATE wiki_pages SET hubness_score = 9 WHERE slug = 'place-1'")
    assert titles(await seen(pools, "lightning took the greenhouse")) == ["Hidden Orchard", "Place 1"]


async def test_longer_name_is_found_by_its_prefix(pools: Pools) -> None:
    await made(pools, page("Franklin Barbecue"), page("Franklinia Nursery"), page("Old Franklin Mill"))
    await made(pools, page("Franklin Barbecue"), scope=HOUSEMATE)
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER, read_only=True) as connection:
        found = await views.matches(connection, SCOPE, Names(prefixes=("franklin", "nothing")))
    assert [(one.asked, one.way, one.alias) for one in found.found] == [("franklin", Way.PREFIX, "franklin barbecue")]
    assert [one.title for one in found.pages] == ["Franklin Barbecue"]


async def test_prefixes_are_compared_by_bytes_in_every_script(pools: Pools) -> None:
    await made(pools, page("Über Café"), page("東京 駅"), page("Übersee"))
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER, read_only=True) as connection:
        found = await candidates.by_beginnings(connection, SCOPE, ["uber", "東京", "100%", ""], each=50)
    assert [(beginning, alias) for beginning, alias, _ in found] == [("uber", "uber cafe"), ("東京", "東京 駅")]


async def test_number_of_longer_names_is_limited(pools: Pools) -> None:
    await made(pools, *OTHERS)
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER, read_only=True) as connection:
        assert len(await candidates.by_beginnings(connection, SCOPE, ["place"], each=7)) == 7


async def test_only_the_names_closest_to_a_misspelling_are_shown(pools: Pools) -> None:
    await made(pools, page("Corbadan Felmarin"), page("Corbel Felmar"), page("Quisa Torul"))
    assert titles(await seen(pools, "Met Corbadan Felmrain at noon.")) == ["Corbadan Felmarin"]
    assert titles(await seen(pools, "Met Corbela Felmara at noon.")) == ["Corbel Felmar"]


async def embedded(pools: Pools) -> None:
    topics = await numbered(pools, TopicEmbedder())
    for place in await embeddings.waiting(pools.background, limit=10):
        await embed_some(pools.background, topics, place)


async def test_memory_that_names_no_page_is_shown_its_nearest_by_vectors(pools: Pools) -> None:
    await made(pools, page("Quiet Harbour", summary="All about the sloop."), *OTHERS)
    await write(pools, [NewMemory("the boat leaked again", "m0")])
    assert titles(await seen(pools, "the boat leaked again")) == [], "without vectors words decide"
    await embedded(pools)
    found = await seen(pools, "the boat leaked again")
    assert titles(found) == ["Quiet Harbour"]
    assert found.near == (PageKey(PageType.ENTITY, "quiet-harbour"),)
    assert titles(await seen(pools, "the boat leaked again", scope=HOUSEMATE)) == []
    assert titles(await seen(pools, "the boat leaked again", near=())) == [], "a batch done again is told what was near"


async def test_replay_knows_which_pages_were_near(pools: Pools) -> None:
    await made(pools, page("Quiet Harbour", summary="All about the sloop."), *OTHERS)
    await write(pools, [NewMemory("the boat leaked again", "m0")])
    await embedded(pools)
    await wish(pools)
    await compiled(pools, engine_on(pools))
    async with scoped(pools.background, SCOPE, role=DatabaseRole.WORKER, read_only=True) as connection:
        (leaf,) = [one for one in await batches.log(connection, SCOPE) if one.memory_ids]
    assert leaf.options["near"] == [["entity", "quiet-harbour"]]


@pytest.fixture
async def crowd(database: str) -> AsyncIterator[Connection]:
    """Two thousand rows a table, nine of ten one owner's."""
    connection = await asyncpg.connect(database)
    await fill(connection, await tenant_tables(connection), CROWD, count=str(ROWS))
    await connection.execute("ANALYZE")
    yield connection
    await connection.close()


CALLS = {
    "pages_about": "'{t}', '{o}', ARRAY[0, 0, 0], ARRAY['word17', 'word19', 'ferry'], 20",
    "pages_near": "'{t}', '{o}', ARRAY['x1', 'x3'], 0.1, 5",
}


async def test_candidates_are_found_through_indexes_under_row_security(crowd: Connection) -> None:
    explained = Explained()
    crowd.add_log_listener(explained)
    await crowd.execute(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;"
        " SET auto_explain.log_format = json; SET auto_explain.log_level = notice; SET client_min_messages = notice"
    )
    scope = Scope(UUID(int=1), UUID(int=1))
    for mode in ("force_custom_plan", "force_generic_plan"):
        for name, arguments in CALLS.items():
            async with crowd.transaction():
                await crowd.execute(
                    f"SET LOCAL ROLE sidecar_worker; SET LOCAL app.tenant_id = '{scope.tenant_id}';"
                    f" SET LOCAL app.owner_id = '{scope.owner_id}'; SET LOCAL plan_cache_mode = {mode}"
                )
                explained.plans.clear()
                filled = arguments.format(t=scope.tenant_id, o=scope.owner_id)
                stranger = arguments.format(t=scope.tenant_id, o=UUID(int=2))
                await crowd.fetch(f"SELECT * FROM {name}({filled})")
                assert await crowd.fetch(f"SELECT * FROM {name}({stranger})") == []
            inner: list[dict[str, Any]] = [node for plan in explained.plans for node in nodes(plan)]
            scans = [node for node in inner if "Index Name" in node and not node["Index Name"].startswith("pg_")]
            assert scans, (name, mode)
            assert all("tenant_id" in node.get("Index Cond", "") for node in scans), (name, mode)
            whole = [node.get("Relation Name") for node in inner if node["Node Type"] == "Seq Scan"]
            assert [one for one in whole if one and not one.startswith("pg_")] == [], (name, mode)
    crowd.remove_log_listener(explained)
