"""The functions behind the search for pages: through their indexes, for the scope in force alone."""

from __future__ import annotations

import asyncpg
import pytest

from store.db.postgres import DatabaseRole, Pools, installation, scoped
from store.db.queries import Connection
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import page_search
from tests.integration.store.db.test_query_plans import (
    Explained,
    analysed,  # noqa: F401  # fixtures, each beneath the next
    crowded,
    filled,  # noqa: F401
    nodes,
    rows,  # noqa: F401
    superuser,  # noqa: F401
)
from tests.support.compiler.wiki_pages import put_wiki
from tests.support.store.arguments import SCOPE

MINE = Scope(tenant_uuid("acme"), owner_uuid("ann"))
HOUSEMATE = Scope(tenant_uuid("acme"), owner_uuid("bob"))
THEIRS = Scope(tenant_uuid("globex"), owner_uuid("ann"))
CALLS = {
    "match_words": "'{t}', '{o}', ARRAY['nowhere', 'wor'], 20",
    "match_names": "'{t}', '{o}', 'x12', ARRAY['x12', 'x4'], 20",
}


@crowded
async def test_page_searches_use_indexes_under_row_security(superuser: Connection) -> None:  # noqa: F811
    explained = Explained()
    superuser.add_log_listener(explained)
    await superuser.execute(
        "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on;"
        " SET auto_explain.log_format = json; SET auto_explain.log_level = notice; SET client_min_messages = notice"
    )
    for mode in ("force_custom_plan", "force_generic_plan"):
        for name, arguments in CALLS.items():
            async with superuser.transaction():
                await superuser.execute(
                    f"SET LOCAL ROLE sidecar_app; SET LOCAL app.tenant_id = '{SCOPE.tenant_id}';"
                    f" SET LOCAL app.owner_id = '{SCOPE.owner_id}'; SET LOCAL plan_cache_mode = {mode}"
                )
                explained.plans.clear()
                filled = arguments.format(t=SCOPE.tenant_id, o=SCOPE.owner_id)
                assert await superuser.fetch(f"SELECT * FROM {name}({filled})"), name
            for node in (node for plan in explained.plans for node in nodes(plan)):
                assert node["Node Type"] != "Seq Scan", (name, mode)
                if node["Node Type"] == "Bitmap Index Scan":
                    assert "tenant_id" in node["Index Cond"], (name, mode)
    superuser.remove_log_listener(explained)


async def test_page_searches_find_in_the_current_scope_only(pools: Pools) -> None:
    for scope in (MINE, HOUSEMATE, THEIRS):
        await put_wiki(pools, scope)
    calls = {name: text.replace("nowhere", "empanada").replace("x12", "lola") for name, text in CALLS.items()}
    for name, arguments in calls.items():

        async def hits(connection: Connection, scope: Scope, name: str = name, arguments: str = arguments) -> int:
            written = arguments.format(t=scope.tenant_id, o=scope.owner_id)
            return len(await connection.fetch(f"SELECT * FROM {name}({written})"))

        async with scoped(pools.background, MINE) as connection:
            assert await hits(connection, MINE) > 0, name
            assert await hits(connection, HOUSEMATE) == await hits(connection, THEIRS) == 0, name
        async with installation(pools.background, role=DatabaseRole.APP) as connection:
            assert await hits(connection, MINE) == 0, name
    async with scoped(pools.turn, MINE) as connection:
        for scope in (HOUSEMATE, THEIRS):
            assert await page_search.search(connection, scope, "empanada") == []


@pytest.mark.parametrize("function", CALLS)
async def test_page_search_functions_are_not_callable_by_other_roles(database: str, function: str) -> None:
    connection = await asyncpg.connect(database)
    granted = await connection.fetchval(
        "SELECT has_function_privilege('public', p.oid, 'EXECUTE') FROM pg_proc p WHERE p.proname = $1", function
    )
    await connection.close()
    assert granted is False
