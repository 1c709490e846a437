"""The second wall: a query that forgets its tenant, or names another's, finds nothing and writes nothing."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from store.content import documents, memories
from store.content.recalling import RecallQuery
from store.db.postgres import DatabaseRole, Pools, installation, scoped, tenant_scoped
from store.db.queries import Connection
from store.errors import AccessRefused
from store.scope import Scope
from store.wiki import pages
from tests.support.store.schema_rows import INSTALLATION_TABLES, Table, fill, insert_of, tenant_tables

MINE = Scope(UUID(int=1), UUID(int=11))
HOUSEMATE = Scope(UUID(int=1), UUID(int=12))
THEIRS = Scope(UUID(int=2), UUID(int=21))
ROLES = (DatabaseRole.APP, DatabaseRole.WORKER)

# Functions that pass row security check their tenant argument against the one in force; these work across tenants
# instead, and return ids of tenants and scopes, never content.
ACROSS_TENANTS = {
    "places_with_texts",
    "places_without_marks",
    "waiting_to_be_embedded",
    "compile_state",
    "scope_of_webhook",
    "scopes_due_lint",
    "scopes_with_work",
    "tenants_with_budgets",
    "tenants_with_old_audit",
    "owners_due_decay",
    "owners_with_expired_texts",
    "owners_to_prune",
    "owners_with_old_rows",
    "tenants_to_prune",
}


@pytest.fixture
async def tables(superuser: Connection) -> list[Table]:
    """Every tenant table, with a row of each of three owners in two tenants, or one a tenant where it has no owners."""
    found = await tenant_tables(superuser)
    for place, scope in enumerate((MINE, THEIRS, HOUSEMATE)):
        filled = [table for table in found if scope != HOUSEMATE or table.has_owner]
        await fill(superuser, filled, _own(scope, place))
    return found


@asynccontextmanager
async def no_settings(pools: Pools, role: DatabaseRole) -> AsyncIterator[Connection]:
    async with installation(pools.background, role=role) as connection:
        yield connection


async def count(connection: Connection, table: Table, condition: str = "true") -> int:
    return int(await connection.fetchval(f"SELECT count(*) FROM {table.name} WHERE {condition}"))


async def test_every_tenant_table_has_row_security_and_a_policy(superuser: Connection) -> None:
    rows = await superuser.fetch(
        "SELECT c.relname, c.relrowsecurity, p.permissive, p.cmd, p.roles::text[], p.qual, p.with_check"
        " FROM pg_class c LEFT JOIN pg_policies p ON p.tablename = c.relname"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'f', 'v', 'm')"
    )
    assert {row["relname"] for row in rows} > INSTALLATION_TABLES
    with_owner = {table.name for table in await tenant_tables(superuser) if table.has_owner}
    for row in rows:
        if row["relname"] in INSTALLATION_TABLES:
            continue
        assert row["relrowsecurity"], f"{row['relname']} has no row security"
        expected = "(tenant_id = app_tenant())"
        if row["relname"] in with_owner:
            expected = "((tenant_id = app_tenant()) AND (owner_id = app_owner()))"
        assert (row["qual"], row["with_check"], row["cmd"]) == (expected, None, "ALL"), row["relname"]
        assert (row["permissive"], row["roles"]) == ("PERMISSIVE", ["public"]), row["relname"]


async def test_roles_are_subject_to_row_security_and_own_nothing(superuser: Connection) -> None:
    rows = await superuser.fetch(
        "SELECT rolname, rolsuper, rolbypassrls, rolcanlogin, rolcreaterole, rolcreatedb,"
        " (SELECT count(*) FROM pg_class WHERE relowner = pg_roles.oid) AS owned"
        " FROM pg_roles WHERE rolname IN ('sidecar_app', 'sidecar_worker', 'sidecar_search') ORDER BY 1"
    )
    assert [tuple(row) for row in rows] == [
        ("sidecar_app", False, False, False, False, False, 0),
        ("sidecar_search", False, True, False, False, False, 0),
        ("sidecar_worker", False, False, False, False, False, 0),
    ]


async def test_query_without_a_tenant_returns_nothing(pools: Pools, tables: list[Table]) -> None:
    assert len(tables) > 25
    for role in ROLES:
        async with no_settings(pools, role) as connection:
            assert {table.name: await count(connection, table) for table in tables} == {t.name: 0 for t in tables}


async def test_query_without_an_owner_returns_no_owners_rows(pools: Pools, tables: list[Table]) -> None:
    for role in ROLES:
        async with tenant_scoped(pools.background, MINE.tenant_id, role=role) as connection:
            for table in tables:
                assert await count(connection, table) == (0 if table.has_owner else 1), table.name


async def test_scope_sees_only_its_own_rows(pools: Pools, tables: list[Table]) -> None:
    for role in ROLES:
        for scope in (MINE, HOUSEMATE, THEIRS):
            async with scoped(pools.background, scope, role=role) as connection:
                for table in tables:
                    own = f"tenant_id = '{scope.tenant_id}'"
                    own += f" AND owner_id = '{scope.owner_id}'" if table.has_owner else ""
                    assert await count(connection, table) == await count(connection, table, own) == 1, table.name


async def test_row_of_another_scope_is_never_written(pools: Pools, tables: list[Table]) -> None:
    for table in tables:
        for scope in (THEIRS, HOUSEMATE) if table.has_owner else (THEIRS,):
            with pytest.raises(AccessRefused):
                async with scoped(pools.background, MINE) as connection:
                    # Without a word on conflicts, a cluster sends the row by COPY, which row security refuses in any case.
                    await connection.execute(f"{insert_of(table, _own(scope, 7))} ON CONFLICT DO NOTHING")


async def test_rows_of_another_scope_are_neither_changed_nor_deleted(
    pools: Pools, superuser: Connection, tables: list[Table]
) -> None:
    granted = 0
    for table in tables:
        for verb, statement in (
            ("UPDATE", f"UPDATE {table.name} SET tenant_id = tenant_id"),
            ("DELETE", f"DELETE FROM {table.name}"),
        ):
            if not await superuser.fetchval("SELECT has_table_privilege('sidecar_app', $1, $2)", table.name, verb):
                continue
            granted += 1
            async with scoped(pools.background, MINE) as connection:
                await connection.execute("SAVEPOINT before")
                touched = await connection.execute(f"{statement} WHERE tenant_id = '{THEIRS.tenant_id}'")
                assert touched.endswith(" 0"), table.name
                if table.has_owner:
                    touched = await connection.execute(f"{statement} WHERE owner_id = '{HOUSEMATE.owner_id}'")
                    assert touched.endswith(" 0"), table.name
                await connection.execute("ROLLBACK TO SAVEPOINT before")
    assert granted > 40
    for table in tables:
        assert await count(superuser, table) == (3 if table.has_owner else 2), table.name


async def test_functions_that_bypass_row_security_are_listed_and_granted_by_name(superuser: Connection) -> None:
    rows = await superuser.fetch(
        "SELECT p.proname, p.proargnames[1:p.pronargs] AS arguments, p.proconfig, r.rolname AS owner, p.provolatile,"
        " ARRAY(SELECT coalesce(g.rolname, 'PUBLIC') FROM aclexplode(p.proacl) a"
        "   LEFT JOIN pg_roles g ON g.oid = a.grantee WHERE a.grantee <> p.proowner ORDER BY 1)::text[] AS granted"
        " FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner"
        " WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND p.proname <> 'settle_search'"
    )
    assert {row["proname"] for row in rows} > ACROSS_TENANTS
    for row in rows:
        assert "search_path=public, pg_temp" in row["proconfig"], row["proname"]
        assert row["owner"] == "sidecar_search", row["proname"]
        assert row["granted"] == ["sidecar_app", "sidecar_worker"], row["proname"]
        assert ("p_tenant" in row["arguments"]) == (row["proname"] not in ACROSS_TENANTS), row["proname"]


async def test_schema_owners_only_function_reads_no_table_and_is_restricted(
    superuser: Connection,
) -> None:
    rows = await superuser.fetch(
        "SELECT p.proname, p.proconfig, p.prosrc, p.pronargs, p.proacl::text AS granted FROM pg_proc p"
        " JOIN pg_roles r ON r.oid = p.proowner"
        " WHERE p.pronamespace = 'public'::regnamespace AND p.prosecdef AND r.rolname <> 'sidecar_search'"
    )
    assert [(row["proname"], row["pronargs"]) for row in rows] == [("settle_search", 0)]
    assert rows[0]["proconfig"] == ["search_path=public, pg_temp"]
    assert re.findall(r"(\w*)=X/", rows[0]["granted"])[1:] == ["sidecar_app", "sidecar_worker"]
    assert not {"FROM", "EXECUTE"} & set(rows[0]["prosrc"].split())


SEARCHES = {
    "recall_turns": "'{tenant}', '{owner}', 'x1', ARRAY['ferry'], 1, ARRAY['[0.6,0.8]'], 10",
    "recall_memories": "'{tenant}', '{owner}', ARRAY['ferry'], 1, ARRAY['[0.6,0.8]'], 10",
    "recall_chunks": "'{tenant}', ARRAY(SELECT md5('chunks.base_id1')::uuid), ARRAY['ferry'], 1, ARRAY['[0.6,0.8]'], 10",
    "recall_pages": "'{tenant}', '{owner}', ARRAY['ferry'], 1, ARRAY['[0.6,0.8]'], 10, NULL",
    "recall_sections": "'{tenant}', '{owner}', ARRAY['ferry'], 1, ARRAY['[0.6,0.8]'], 10",
}


@pytest.mark.usefixtures("tables")
async def test_search_functions_search_the_current_scope_only(pools: Pools, superuser: Connection) -> None:
    known = await superuser.fetch(
        "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef AND proname LIKE 'recall%'"
    )
    assert {row["proname"] for row in known} == SEARCHES.keys()
    for name, arguments in SEARCHES.items():

        async def hits(connection: Connection, scope: Scope, name: str = name, arguments: str = arguments) -> int:
            filled = arguments.format(tenant=scope.tenant_id, owner=scope.owner_id)
            return len(await connection.fetch(f"SELECT * FROM {name}({filled})"))

        async with scoped(pools.background, MINE) as connection:
            assert await hits(connection, MINE) == 1, name
            assert await hits(connection, THEIRS) == 0, name
            if "{owner}" in arguments:
                assert await hits(connection, HOUSEMATE) == 0, name
        async with no_settings(pools, DatabaseRole.APP) as connection:
            assert await hits(connection, MINE) == 0, name


@pytest.mark.usefixtures("tables")
async def test_search_in_the_wrong_scope_finds_nothing(pools: Pools) -> None:
    wanted = RecallQuery(("ferry",), 9)
    async with scoped(pools.turn, MINE) as connection:
        for scope in (THEIRS, HOUSEMATE):
            assert (await memories.recall(connection, scope, wanted)).texts == ()
            assert [found.texts for found in await pages.recall(connection, scope, wanted)] == [(), ()]
        chunks = await documents.recall(connection, THEIRS.tenant_id, [UUID(int=5)], wanted)
        assert chunks.texts == ()


async def test_role_that_searches_across_rows_cannot_read_content(superuser: Connection) -> None:
    rows = await superuser.fetch(
        "SELECT c.relname, priv FROM pg_class c, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE', 'TRUNCATE']) priv"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')"
        " AND has_table_privilege('sidecar_search', c.oid, priv)"
    )
    assert rows == []


def _own(scope: Scope, place: int) -> dict[str, str]:
    """Return the expressions that make a row this scope's, and its keys unlike another scope's."""
    return {
        "tenant_id": f"'{scope.tenant_id}'::uuid",
        "owner_id": f"'{scope.owner_id}'::uuid",
        "turn_id": f"'{UUID(int=100 + place)}'::uuid",
        "page_id": f"'{UUID(int=100 + place)}'::uuid",
        "section_id": f"'{UUID(int=100 + place)}'::uuid",
        "link_id": f"'{UUID(int=100 + place)}'::uuid",
        "mention_id": f"'{UUID(int=100 + place)}'::uuid",
        "item_id": f"'{UUID(int=100 + place)}'::uuid",
        "job_id": f"'{UUID(int=100 + place)}'::uuid",
        "receipt_id": f"'{UUID(int=100 + place)}'::uuid",
        "from_page_id": f"'{UUID(int=100 + place)}'::uuid",
        "parent_page_id": f"'{UUID(int=100 + place)}'::uuid",
        "dedupe_key": f"'x{place}'",
    }
