"""How Postgres answers the store's queries among thousands of rows: through an index, for one scope, no tenant whole.

Plans are looked at as the application gets them: under its role and row security, both the plan for given values and
the generic one that a prepared statement may come to use.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
import pytest_asyncio

from store.db import queries
from store.db.postgres import Pools, PoolsConfig, open_pools, scoped
from store.db.queries import Connection, Query
from tests.support.databases import database_clone, name_of
from tests.support.store.arguments import SCOPE, VALUES, arguments_of
from tests.support.store.schema_rows import fill, tenant_tables

ROWS = 4000

# Whoever calls these works for the installation, not for a tenant, or takes all of a tenant's rows.
NOT_OF_A_TENANT = {
    "distribution.sql",
    "embedders.sql",
    "keys.sql",
    "migrate.sql",
    "postgres.sql",
    "orphaned_files.sql",
    "purging.sql",
    "purging_servers.sql",
    "server.sql",
    "server_checks.sql",
    "notices.sql",
    "ready.sql",
    "standing.sql",
    "tenant_deletion.sql",
}

# Twenty owners in four tenants, each with every twentieth row; documents and pages have twenty parts each.
SPREAD = {
    "tenants.tenant_id": "lpad(to_hex(n), 32, '0')::uuid",
    "tenant_id": "lpad(to_hex(1 + n % 4), 32, '0')::uuid",
    "owner_id": "lpad(to_hex(1 + n % 20), 32, '0')::uuid",
    "memory_feeds.owner_id": "lpad(to_hex(n), 32, '0')::uuid",
    "wiki_compile_cursors.owner_id": "lpad(to_hex(n), 32, '0')::uuid",
    "turns.thread_id": "'x' || n % 20",
    "chunks.document_id": "md5('document' || n % 200)::uuid",
    "documents.document_id": "md5('document' || n)::uuid",
    "documents.base_id": "md5('base' || n % 20)::uuid",
    "chunks.base_id": "md5('base' || n % 20)::uuid",
    "knowledge_bases.base_id": "md5('base' || n)::uuid",
    "knowledge_assignments.base_id": "md5('base' || n)::uuid",
    "wiki_page_sections.page_id": "md5('page' || n % 200)::uuid",
    "wiki_page_aliases.page_id": "md5('page' || n % 200)::uuid",
    "wiki_section_sources.page_id": "md5('page' || n % 200)::uuid",
    "wiki_pages.page_id": "md5('page' || n)::uuid",
    "wiki_pages.parent_page_id": "NULL",
    "embedder_no": "1",
    "brain_cursors.owner_id": "md5('owner' || n)::uuid",
    "brain_settings.tenant_id": "lpad(to_hex(n), 32, '0')::uuid",
    "wiki_lints.owner_id": "md5('owner' || n)::uuid",
    "decay_days.owner_id": "md5('owner' || n)::uuid",
    "owner_storage.owner_id": "md5('owner' || n)::uuid",
    "backend_switches.tenant_id": "lpad(to_hex(1 + n % 400), 32, '0')::uuid",
    "brain_rules.tenant_id": "lpad(to_hex(1 + n % 400), 32, '0')::uuid",
    "tool_approvals.tenant_id": "lpad(to_hex(1 + n % 400), 32, '0')::uuid",
    "model_calibrations.tenant_id": "lpad(to_hex(1 + n % 400), 32, '0')::uuid",
}
# Nine rows of ten are one owner's, all turns are one thread's, all chunks one base's. So many that signs find the vectors.
CROWD = SPREAD | {
    "tenant_id": "lpad(to_hex(CASE WHEN n % 10 = 0 THEN 2 ELSE 1 END), 32, '0')::uuid",
    "owner_id": "lpad(to_hex(CASE WHEN n % 10 = 0 THEN 2 ELSE 1 END), 32, '0')::uuid",
    "turns.thread_id": "'x0'",
    "threads.thread_id": "'x' || n - 1",
    "threads.turn_count": "40000",
    "memory_feeds.change_seq": "40000",
    "chunks.base_id": "md5('base0')::uuid",
    "chunk_vectors.base_id": "md5('base0')::uuid",
    "documents.base_id": "md5('base' || n % 7)::uuid",
    "turn_vectors.thread_id": "'x0'",
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(migrated_template: str, request: pytest.FixtureRequest) -> AsyncIterator[str]:
    """A database of four thousand rows a table, spread or in a crowd, of which Postgres knows nothing yet; tests get a clone."""
    async with database_clone(migrated_template) as dsn:
        connection = await asyncpg.connect(dsn)
        await fill(connection, await tenant_tables(connection), request.param, count=str(ROWS))
        await connection.close()
        yield name_of(dsn)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def analysed(migrated_template: str, filled: str) -> AsyncIterator[str]:
    """A clone of it whose statistics are fresh."""
    async with database_clone(migrated_template, filled) as dsn:
        connection = await asyncpg.connect(dsn)
        await connection.execute("ANALYZE")
        await connection.execute("VACUUM turn_vectors, memory_vectors, chunk_vectors, section_vectors, page_vectors")
        await connection.close()
        yield name_of(dsn)


@pytest.fixture
async def unanalysed(migrated_template: str, filled: str) -> AsyncIterator[Connection]:
    """A superuser's connection to a clone without statistics."""
    async with database_clone(migrated_template, filled) as dsn:
        connection = await asyncpg.connect(dsn)
        yield connection
        await connection.close()


@pytest.fixture
async def rows(migrated_template: str, analysed: str) -> AsyncIterator[str]:
    """The DSN of a clone with fresh statistics."""
    async with database_clone(migrated_template, analysed) as dsn:
        yield dsn


@pytest.fixture
async def superuser(rows: str) -> AsyncIterator[Connection]:
    """A superuser's connection to it."""
    connection = await asyncpg.connect(rows)
    yield connection
    await connection.close()


@pytest.fixture
async def pools_on_rows(rows: str) -> AsyncIterator[Pools]:
    """The product's pools on it."""
    opened = await open_pools(rows, PoolsConfig(turn_connections=4, background_connections=2))
    yield opened
    await opened.close()


spread = pytest.mark.parametrize("filled", [SPREAD], indirect=True, ids=["spread"], scope="module")
crowded = pytest.mark.parametrize("filled", [CROWD], indirect=True, ids=["crowd"], scope="module")


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a plan in JSON."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def scanned_whole(plan: dict[str, Any]) -> list[str]:
    """Return the tables that the plan reads from end to end, or by an index without a condition, or all texts of a tenant."""
    return [
        f"{node['Node Type']} on {node.get('Relation Name') or node.get('Index Name')}"
        for node in nodes(plan)
        if node["Node Type"] == "Seq Scan"
        or (node["Node Type"] in {"Index Scan", "Index Only Scan", "Bitmap Index Scan"} and "Index Cond" not in node)
        or (is_of_texts(node) and re.fullmatch(r"\(tenant_id = [^ ]+\)", node.get("Index Cond", "")))
    ]


def is_of_texts(node: dict[str, Any]) -> bool:
    """Return whether the node reads turns, memories, chunks or a wiki, by whatever index."""
    name = str(node.get("Relation Name") or node.get("Index Name", ""))
    return name.startswith(("turns", "memories", "chunks", "wiki_page"))


async def plan_of(connection: Connection, query: Query, *, options: str = "FORMAT JSON") -> dict[str, Any]:
    arguments = await arguments_of(connection, query)
    return _plan(await connection.fetchval(f"EXPLAIN ({options}) {query.sql}", *arguments))


async def generic_plan_of(connection: Connection, query: Query) -> dict[str, Any]:
    await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
    try:
        return await plan_of(connection, query)
    finally:
        await connection.execute("SET LOCAL plan_cache_mode = auto")


@spread
async def test_no_query_scans_a_whole_tenants_table(pools_on_rows: Pools, superuser: Connection) -> None:
    assert await superuser.fetchval("SELECT count(*) FROM memories") == ROWS
    looked_at = 0
    wholes: dict[str, list[str]] = {}
    for query in queries.all_queries():
        if query.file.name in NOT_OF_A_TENANT:
            continue
        looked_at += 1
        async with scoped(pools_on_rows.background, SCOPE) as connection:
            for plan in (await plan_of(connection, query), await generic_plan_of(connection, query)):
                if found := scanned_whole(plan):
                    wholes[f"{query.file.name}: {query.name}"] = found
    assert looked_at > 50
    assert wholes == {}


@crowded
async def test_memories_and_their_hubs_are_matched_by_key_and_not_each_with_each(superuser: Connection) -> None:
    query = next(one for one in queries.all_queries() if one.name == "unlinked")
    transaction = superuser.transaction()
    await transaction.start()
    try:
        await superuser.execute("UPDATE wiki_pages SET type = 'topic', status = 'active'")
        await superuser.execute("UPDATE memory_ledger SET hub_keys = ARRAY[left(md5(memory_id), 2)]")
        await superuser.execute("ANALYZE wiki_pages, memory_ledger")
        plan = await plan_of(superuser, query)
    finally:
        await transaction.rollback()
    matched = [
        node for node in nodes(plan) if {inner.get("CTE Name") for inner in read_by(node)} == {"named", "topics"}
    ]
    assert [node["Node Type"] for node in matched] in (["Hash Join"], ["Merge Join"])


def read_by(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the two inputs of a join, below the nodes that hash or sort them."""
    inputs = [inner for inner in node.get("Plans", ()) if inner.get("Parent Relationship") in {"Outer", "Inner"}]
    return [inner["Plans"][0] if inner["Node Type"] in {"Hash", "Sort"} else inner for inner in inputs]


@crowded
async def test_no_query_sorts_more_than_a_page(pools_on_rows: Pools, superuser: Connection) -> None:
    """Pages come in the index's own order: what a page costs does not depend on how much is behind it."""
    listings = [query for query in queries.all_queries() if query.name.startswith("list_") and "LIMIT" in query.sql]
    assert len(listings) > 5
    for query in listings:
        async with scoped(pools_on_rows.background, SCOPE) as connection:
            plan = await plan_of(connection, query)
        sorts = [node["Plan Rows"] for node in nodes(plan) if node["Node Type"] == "Sort"]
        assert [rows for rows in sorts if rows > VALUES["limit"]] == [], query.name


@crowded
async def test_search_reads_few_rows_beyond_its_results(pools_on_rows: Pools, superuser: Connection) -> None:
    assert await superuser.fetchval("SELECT count(*) FROM turns WHERE thread_id = 'x0'") == ROWS
    searches = [query for query in queries.all_queries() if query.name.startswith("recall_")]
    assert len(searches) == 4
    for query in searches:
        async with scoped(pools_on_rows.turn, SCOPE) as connection:
            plan = await plan_of(connection, query, options="ANALYZE, FORMAT JSON")
        read = sum(
            node["Actual Loops"] * (node["Actual Rows"] + node.get("Rows Removed by Filter", 0))
            for node in nodes(plan)
            if "Relation Name" in node
        )
        # Recall brings what words find, what vectors find, and the neighbours of the best.
        assert 0 < read <= 9 * VALUES["limit"], query.name


class Explained:
    """Collects the plans that auto_explain reports, nested statements included."""

    def __init__(self) -> None:
        self.plans: list[dict[str, Any]] = []

    def __call__(self, _: Any, message: Any) -> None:
        if found := re.search(r"plan:\s*(\{.*\})", message.message, re.DOTALL):
            self.plans.append(json.loads(found[1])["Plan"])


SEARCHES = {
    "recall_turns": "'{t}', '{o}', 'x0', ARRAY['ferry', 'word17', 'nowhere'], 1, ARRAY['[0.6,0.8]'], 20",
    "recall_memories": "'{t}', '{o}', ARRAY['ferry', 'word17', 'nowhere'], 1, ARRAY['[0.6,0.8]'], 20",
    "recall_chunks": "'{t}', ARRAY[md5('base0')::uuid], ARRAY['ferry', 'word17', 'nowhere'], 1, ARRAY['[0.6,0.8]'], 20",
    "recall_pages": "'{t}', '{o}', ARRAY['ferry', 'word17', 'nowhere'], 1, ARRAY['[0.6,0.8]'], 20, NULL",
    "recall_sections": "'{t}', '{o}', ARRAY['ferry', 'word17', 'nowhere'], 1, ARRAY['[0.6,0.8]'], 20",
}


async def plans_inside(connection: Connection, calls: dict[str, str], mode: str) -> dict[str, list[dict[str, Any]]]:
    """Call functions of the schema under the product's role; return the nodes of all plans inside each."""
    explained = Explained()
    connection.add_log_listener(explained)
    await connection.execute(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;"
        " SET auto_explain.log_format = json; SET auto_explain.log_level = notice; SET client_min_messages = notice"
    )
    found = {}
    for name, arguments in calls.items():
        async with connection.transaction():
            await connection.execute(
                f"SET LOCAL ROLE sidecar_app; SET LOCAL app.tenant_id = '{SCOPE.tenant_id}';"
                f" SET LOCAL app.owner_id = '{SCOPE.owner_id}'; SET LOCAL plan_cache_mode = {mode}"
            )
            explained.plans.clear()
            filled = arguments.format(t=SCOPE.tenant_id, o=SCOPE.owner_id)
            rows = await connection.fetch(f"SELECT * FROM {name}({filled})")
        assert name not in SEARCHES or 20 <= len(rows) <= 100, name
        found[name] = [node for plan in explained.plans for node in nodes(plan) if not _is_of_catalogue(node)]
    connection.remove_log_listener(explained)
    return found


LOOKUPS = {
    "match_words": "'{t}', '{o}', ARRAY['ferry', 'word17', 'word1'], 50",
    "pages_about": "'{t}', '{o}', ARRAY[1, 1], ARRAY['word17', 'word18'], 5",
}


@crowded
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_search_uses_its_index_under_row_security(superuser: Connection, mode: str) -> None:
    for name, inner in (await plans_inside(superuser, SEARCHES, mode)).items():
        signs = [node for node in inner if str(node.get("Index Name")).endswith("_signs")]
        assert {node["Node Type"] for node in signs} == {"Index Only Scan"}, name
        assert_searched_by_words(name, inner)
        for node in inner:
            assert node["Node Type"] != "Seq Scan", (name, node.get("Relation Name"))
            if node["Node Type"] == "Bitmap Index Scan" and not node["Index Name"].endswith("_search"):
                # Vectors, and the documents of a base, within an owner or a base.
                assert re.search("tenant_id = .*(owner|base)_id = ", node["Index Cond"]), name


@crowded
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_passages_of_given_pages_are_read_by_the_pages(superuser: Connection, mode: str) -> None:
    calls = {
        "recall_of_pages": "'{t}', '{o}', ARRAY(SELECT md5('page' || n)::uuid FROM generate_series(1, 20) AS n),"
        " ARRAY['ferry', 'word17'], 1, ARRAY['[0.6,0.8]'], 2"
    }
    [inner] = (await plans_inside(superuser, calls, mode)).values()
    assert {str(node.get("Relation Name")) for node in inner} >= {"wiki_pages", "wiki_page_sections"}
    for node in inner:
        assert node["Node Type"] != "Seq Scan", node.get("Relation Name")
        if "Index Name" in node:
            assert "page_id" in node["Index Cond"] or "section_id" in node["Index Cond"], node


@crowded
@pytest.mark.parametrize("mode", ["force_custom_plan", "force_generic_plan"])
async def test_search_uses_its_index_before_a_table_is_analysed(unanalysed: Connection, mode: str) -> None:
    for name, inner in (await plans_inside(unanalysed, SEARCHES | LOOKUPS, mode)).items():
        assert_searched_by_words(name, inner)


def assert_searched_by_words(name: str, inner: list[dict[str, Any]]) -> None:
    """Words lead through the search index, by scope and word at once, and never are what rows found otherwise are asked for."""
    by_words = [node for node in inner if str(node.get("Index Name")).endswith("_search")]
    assert len(by_words) >= 1 + (name in SEARCHES), f"{name} looks for words, and recall for close words too"
    for node in by_words:
        assert node["Node Type"] == "Bitmap Index Scan", name
        assert re.match(r"\(scoped_words\(.*tenant_id.*, search_tsv\) @@ ", node["Index Cond"]), name
    for node in inner:
        is_asked_for_words = "Relation Name" in node and "@@" in node.get("Filter", "")
        assert not is_asked_for_words or "scoped_words" in node.get("Recheck Cond", ""), (name, node["Node Type"])


def _is_of_catalogue(node: dict[str, Any]) -> bool:
    """Return whether the driver asks about types there."""
    return str(node.get("Relation Name") or node.get("Index Name", "")).startswith("pg_")


@crowded
async def test_search_under_row_security_alone_would_use_no_index(pools_on_rows: Pools, superuser: Connection) -> None:
    """The reason for the functions: should this ever fail, they can go."""
    async with scoped(pools_on_rows.background, SCOPE) as connection:
        found = await connection.fetchval(
            "EXPLAIN (FORMAT JSON) SELECT memory_id FROM memories WHERE tenant_id = $1 AND owner_id = $2"
            " AND search_tsv @@ word_query('word17')",
            SCOPE.tenant_id,
            SCOPE.owner_id,
        )
    assert not [node for node in nodes(_plan(found)) if "search_tsv" in str(node.get("Index Cond"))]


def _plan(explained: Any) -> dict[str, Any]:
    parsed = json.loads(explained) if isinstance(explained, str) else explained
    plan: dict[str, Any] = parsed[0]["Plan"]
    return plan
