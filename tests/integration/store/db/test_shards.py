"""Conditions for spreading the tenants over several servers, checked on one server.

A cluster finds the server of a query by `tenant_id = …` for each table, sends a statement there whole, and plans it there. So
keys hold the tenant, no trigger stands on a tenant's table, notices are statements of their own, and no plan is forced.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import pytest
from aiosql.types import SQLOperationType as Operation

from store.db import queries
from store.db.distribution import distribute, in_order
from store.db.placements import DISTRIBUTED, LOCAL
from store.db.queries import Connection
from store.errors import NotACluster
from tests.support.store.arguments import arguments_of

# What works for the installation reads all tenants: each asks every server.
ACROSS_TENANTS = {
    "waiting_to_be_embedded": "the embedding worker takes the places that wait longest",
    "places_with_texts": "a change of model walks through all places",
    "places_without_marks": "texts of earlier releases get their marks",
    "scopes_with_work": "hints of work are made again after a crash",
    "compile_state": "the gauges of the whole installation",
    "scope_of_webhook": "a webhook names its subscription, not its tenant",
    "tenants_with_budgets": "the watch over budgets",
    "scopes_due_lint": "the nightly lint",
    "owners_due_decay": "the nightly decay",
    "owners_with_expired_texts": "the sweep of receipts' texts",
    "owners_to_prune": "the sweep of what is kept for so long",
    "owners_with_old_rows": "that sweep by the release before this one",
    "tenants_to_prune": "the same sweep",
    "tenants_with_old_audit": "the sweep of audit entries",
}
# Functions that look tables up by name say so themselves, with `t.tenant_id = $1`.
BY_NAME = {"rows_holding", "rewrite_table", "spread_search", "settle_search"}

# Keep the planner on the search indexes while it knows nothing of a table yet. They bind the server that runs the function only.
STEERED = {
    "active_pages",
    "count_active_pages",
    "match_names",
    "match_words",
    "pages_about",
    "pages_near",
    "places_with_texts",
    "places_without_marks",
    "recall_chunks",
    "recall_memories",
    "recall_of_pages",
    "recall_pages",
    "recall_sections",
    "recall_turns",
    "similar_names",
}

OF_THE_SERVER = {
    "distribution.sql",
    "orphaned_files.sql",
    "purging.sql",
    "purging_servers.sql",
    "server.sql",
    "migrate.sql",
}  # ask its catalogues alone

_IS_ONE_TENANT = re.compile(r"\btenant_id = (\$\d+|'[0-9a-f-]{36}'::uuid)")
_READ = re.compile(
    r"\b(?:FROM|JOIN|UPDATE|USING|,)\s+(?:ONLY\s+)?(?:public\.)?(\w+)(?:\s+(?:AS\s+)?(?!WHERE|SET|ON|USING|LEFT|CROSS|JOIN|FROM)(\w+))?"
)


@pytest.fixture
async def schema(database: str) -> AsyncIterator[Connection]:
    """A connection to the migrated schema, as its owner."""
    connection = await asyncpg.connect(database)
    for name in ("json", "jsonb"):
        await connection.set_type_codec(name, schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    yield connection
    await connection.close()


async def test_every_table_of_the_schema_has_one_placement(schema: Connection) -> None:
    rows = await schema.fetch(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')"
    )
    lists = [DISTRIBUTED, frozenset(LOCAL)]
    assert sorted(name for places in lists for name in places) == sorted(row["relname"] for row in rows)


async def test_keys_of_distributed_tables_hold_the_tenant(schema: Connection) -> None:
    rows = await schema.fetch(
        "SELECT c.relname, i.indexrelid::regclass::text AS key FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " WHERE c.relname = ANY($1) AND (i.indisunique OR i.indisexclusion) AND NOT EXISTS (SELECT FROM pg_attribute a"
        "  WHERE a.attrelid = c.oid AND a.attname = 'tenant_id' AND a.attnum = ANY(i.indkey))",
        sorted(DISTRIBUTED),
    )
    assert [tuple(row) for row in rows] == []


async def test_foreign_keys_lead_with_the_tenant_and_stay_among_distributed_tables(schema: Connection) -> None:
    rows = await schema.fetch(
        "SELECT k.conrelid::regclass::text AS child, k.confrelid::regclass::text AS parent, k.conname,"
        " (SELECT attname FROM pg_attribute WHERE attrelid = k.conrelid AND attnum = k.conkey[1]) AS first,"
        " (SELECT attname FROM pg_attribute WHERE attrelid = k.confrelid AND attnum = k.confkey[1]) AS to_first"
        " FROM pg_constraint k WHERE k.contype = 'f' AND k.connamespace = 'public'::regnamespace"
    )
    assert len(rows) > 50
    for row in rows:
        assert (row["first"], row["to_first"]) == ("tenant_id", "tenant_id"), row["conname"]
        assert {row["child"], row["parent"]} <= DISTRIBUTED, row["conname"]
    order = in_order(DISTRIBUTED, [(row["child"], row["parent"]) for row in rows if row["child"] != row["parent"]])
    assert all(order.index(row["parent"]) <= order.index(row["child"]) for row in rows)


async def test_no_tenant_table_has_a_trigger(schema: Connection) -> None:
    rows = await schema.fetch("SELECT tgrelid::regclass::text, tgname FROM pg_trigger WHERE NOT tgisinternal")
    assert [tuple(row) for row in rows] == []


def test_no_query_counts_the_rows_that_its_own_session_changed() -> None:
    # On a cluster they change in a session on their tenant's server: changes_so_far() counts them there.
    assert [query.name for query in queries.all_queries() if "pg_stat_xact" in query.sql] == []


async def test_searches_under_another_role_go_to_the_server_of_their_tenant_whole(schema: Connection) -> None:
    # By itself, the function runs on the coordinator, which refuses to read what the transaction wrote under its own role.
    rows = await schema.fetch("SELECT proname FROM pg_proc WHERE proowner = 'sidecar_search'::regrole AND prosecdef")
    searches = {row["proname"] for row in rows} - {"settle_search", "owners_of_tenant"}  # they read nothing of that
    calls = re.compile(rf"\b({'|'.join(sorted(searches))})\(")
    looked_at = 0
    for query in queries.all_queries():
        called = calls.search(query.sql)
        if called and called[1] not in ACROSS_TENANTS:
            looked_at += 1
            assert {table for table, _ in tables_read(query.sql)}, f"{query.name} names no table beside {called[1]}()"
    assert looked_at > 15


async def test_no_notice_is_sent_while_rows_are_written(schema: Connection) -> None:
    for query in queries.all_queries():
        if "pg_notify" in query.sql:
            assert not re.search(r"\b(INSERT|UPDATE|DELETE)\b", query.sql), query.name
    notifying = await schema.fetch(
        "SELECT proname FROM pg_proc WHERE prosrc LIKE '%pg\\_notify%' AND pronamespace = 'public'::regnamespace"
    )
    assert [row["proname"] for row in notifying] == []


def nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """Yield every node of a plan in JSON."""
    yield plan
    for inner in plan.get("Plans", ()):
        yield from nodes(inner)


def is_of_one_tenant(node: dict[str, Any]) -> bool:
    """Return whether a node that reads a table reads one tenant's rows, known before the query runs."""
    said = " ".join(str(node.get(key, "")) for key in ("Index Cond", "Recheck Cond", "Filter"))
    return bool(_IS_ONE_TENANT.search(said))


async def plan_of(schema: Connection, query: queries.Query) -> Any:
    """Return the plan of a query whatever its arguments, in JSON."""
    arguments = await arguments_of(schema, query)
    async with schema.transaction():
        await schema.execute("SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan")
        [said] = await schema.fetchval(f"EXPLAIN (FORMAT JSON) {query.sql}", *arguments)
    return said["Plan"]


async def test_conflict_updates_depend_on_their_own_row_alone(schema: Connection) -> None:
    # A cluster refuses ON CONFLICT … WHERE with a subquery on a table under row security.
    looked_at = 0
    for query in queries.all_queries():
        if query.operation is not Operation.SCRIPT and re.search(r"\bDO\s+UPDATE\b", query.sql):
            filters = [str(node.get("Conflict Filter", "")) for node in nodes(await plan_of(schema, query))]
            looked_at += any(filters)
            assert not any("SubPlan" in one or "EXISTS" in one for one in filters), query.name
    assert looked_at > 10


def is_copied(node: dict[str, Any]) -> bool:
    """Return whether a node inserts rows that it reads, with no word on conflicts, into a distributed table."""
    return (
        node.get("Operation") == "Insert"
        and node.get("Relation Name") in DISTRIBUTED
        and "Conflict Resolution" not in node
        and any(inner["Node Type"] not in ("Result", "Values Scan") for inner in node["Plans"])
    )


async def test_no_rows_are_copied_into_a_distributed_table(schema: Connection) -> None:
    # A cluster sends INSERT … SELECT without ON CONFLICT by COPY, which row security refuses.
    looked_at = 0
    for query in queries.all_queries():
        if query.operation is not Operation.SCRIPT and re.search(r"\bINSERT\s+INTO\b", query.sql):
            looked_at += 1
            assert not any(map(is_copied, nodes(await plan_of(schema, query)))), query.name
    assert looked_at > 80


def read_again(plan: Any) -> set[str]:
    """Return the subqueries whose rows a statement inserts into a distributed table and reads elsewhere, too."""
    read = [node["CTE Name"] for node in nodes(plan) if "CTE Name" in node]
    inserts = [
        node for node in nodes(plan) if node.get("Operation") == "Insert" and node.get("Relation Name") in DISTRIBUTED
    ]
    inserted = [inner["CTE Name"] for node in inserts for inner in nodes(node) if "CTE Name" in inner]
    return {name for name in inserted if read.count(name) > inserted.count(name)}


async def test_no_rows_are_inserted_and_read_again_in_one_statement(schema: Connection) -> None:
    # A cluster copies such rows to every server, so that a write waits for all of them and fails if one is lost.
    for query in queries.all_queries():
        if query.operation is not Operation.SCRIPT and re.search(r"\bINSERT\s+INTO\b", query.sql):
            assert read_again(await plan_of(schema, query)) == set(), query.name


async def test_every_query_names_its_tenant_for_every_distributed_table(schema: Connection) -> None:
    found: dict[str, list[str]] = {}
    looked_at = 0
    for query in queries.all_queries():
        if query.operation is Operation.SCRIPT or query.file.name in OF_THE_SERVER:
            continue
        plan = await plan_of(schema, query)
        read = [
            node
            for node in nodes(plan)
            if node.get("Relation Name") in DISTRIBUTED and node["Node Type"] != "ModifyTable"
        ]
        looked_at += bool(read)
        if wide := sorted({str(node["Relation Name"]) for node in read if not is_of_one_tenant(node)}):
            found[f"{query.file.name}: {query.name}"] = wide
    assert looked_at > 300
    assert found == {}


async def test_every_function_names_its_tenant_for_every_distributed_table(schema: Connection) -> None:
    async with schema.transaction():
        await schema.execute("SELECT spread_search()")
        assert await schema.fetchval("SELECT spread_search()") == 0
        rows = await schema.fetch(
            "SELECT p.proname, p.prosrc, pg_get_functiondef(p.oid) AS whole FROM pg_proc p"
            " JOIN pg_language l ON l.oid = p.prolang"
            " WHERE p.pronamespace = 'public'::regnamespace AND l.lanname IN ('sql', 'plpgsql') AND p.prokind = 'f'"
        )
    found: dict[str, list[str]] = {}
    names = {row["proname"] for row in rows}
    for row in rows:
        assert "plan_cache_mode" not in row["whole"] or row["proname"] == "spread_search", row["proname"]
        is_readable = not re.search(r"uuid_eq\(\w+\.tenant_id", row["prosrc"])
        assert is_readable or row["proname"] == "spread_search", row["proname"]
        wide = [table for table, alias in tables_read(row["prosrc"]) if not is_said(row["prosrc"], alias)]
        if row["proname"] in ACROSS_TENANTS or row["proname"] in BY_NAME:
            continue
        if wide:
            found[row["proname"]] = wide
    assert found == {}
    assert names >= ACROSS_TENANTS.keys()


def tables_read(source: str) -> list[tuple[str, str]]:
    """Return the distributed tables that a function's text reads, each with its alias; empty if it has none."""
    text = re.sub(r"--[^\n]*", "", source)
    return [(table, alias) for table, alias in _READ.findall(text) if table in DISTRIBUTED]


def is_said(source: str, alias: str) -> bool:
    """Return whether the text compares the tenant of that alias with the tenant it is given."""
    column = rf"{alias}\.tenant_id" if alias else r"\btenant_id"
    return bool(re.search(rf"{column} = (p_tenant|\w+\.tenant_id)\b", source))


async def test_plans_are_steered_in_listed_functions_alone(schema: Connection) -> None:
    rows = await schema.fetch(
        "SELECT proname FROM pg_proc, unnest(proconfig) AS s (setting) WHERE pronamespace = 'public'::regnamespace"
        " AND setting ~ '^(enable_\\w+|plan_cache_mode)='"
    )
    assert {row["proname"] for row in rows} == STEERED
    for query in queries.all_queries():
        assert not re.search(r"(?<!citus\.)\benable_\w+\s*(=|TO)|plan_cache_mode|/\*\+", query.sql, re.IGNORECASE), (
            query.name
        )


async def test_plain_server_refuses_to_spread_and_is_not_changed(database: str) -> None:
    with pytest.raises(NotACluster, match="Citus cluster"):
        await distribute(database)
