"""Errors of the database and its connection have names of ours, say what to do, and hold no values."""

from __future__ import annotations

from typing import Any

import pytest

from store.db.postgres import DatabaseRole, Pools, Transaction, installation, open_pools, scoped
from store.db.server_checks import check_server
from store.errors import (
    AlreadyExists,
    DatabaseRefused,
    DatabaseUnavailable,
    ReferenceMissing,
    SchemaOutdated,
    ServerUnsuitable,
    StoreError,
    TransactionConflict,
    UnstorableValue,
)
from tests.support.store.notes import (
    ADA,
    CONFIG,
    assert_clean,
    dsn_fixture,
    insert,
    opened_fixture,
)

FIXTURES = (
    dsn_fixture,
    opened_fixture,
)  # found by pytest in the names of this module


@pytest.mark.parametrize(
    ("columns", "expected", "detail"),
    [
        ({"note_id": 1}, AlreadyExists, "notes_pkey"),
        ({"note_id": 2, "parent": 9}, ReferenceMissing, "notes_tenant_id_parent_fkey"),
        ({"note_id": 2, "body": "long" * 100}, StoreError, "short_body"),
        ({"note_id": 2, "body": "nul \0 inside"}, UnstorableValue, "SQLSTATE 22021"),
        ({"note_id": 2, "body": "half \ud800 a pair"}, UnstorableValue, "argument 4"),
        ({"note_id": 2, "facts": {"nul": "\0"}}, UnstorableValue, "SQLSTATE 22P05"),
        ({"note_id": 2, "facts": {"half": "\ud800"}}, UnstorableValue, "argument 5"),
        ({"note_id": 2, "facts": {"big": 2**70}}, UnstorableValue, "argument 5"),
        ({"note_id": 2**31}, UnstorableValue, "argument 3"),
        ({"note_id": "secret words"}, UnstorableValue, "argument 3"),
    ],
)
async def test_refusal_by_postgres_becomes_our_error_without_the_value(
    opened: Pools, columns: dict[str, Any], expected: type[StoreError], detail: str
) -> None:
    async with scoped(opened.turn, ADA) as connection:
        await insert(connection, ADA, 1)
    with pytest.raises(expected) as caught:
        async with scoped(opened.turn, ADA) as connection:
            await insert(connection, ADA, **columns)
    assert caught.value.detail == detail
    assert "secret" not in str(caught.value)
    await assert_clean(opened)


@pytest.mark.parametrize("query", ["SELECT * FROM nowhere", "SELECT nothing FROM notes", "SELECT f()"])
async def test_outdated_schema_error_points_at_the_migrations(opened: Pools, query: str) -> None:
    with pytest.raises(SchemaOutdated, match="sidecar migrate"):
        async with scoped(opened.turn, ADA) as connection:
            await connection.execute(query)


async def test_missing_role_points_at_the_migrations(opened: Pools) -> None:
    opening = installation(opened.turn).opening.replace(DatabaseRole.APP.value, "sidecar_unknown")
    with pytest.raises(SchemaOutdated, match="role"):
        async with Transaction(opened.turn, opening):
            pass


async def test_row_locked_by_another_transaction_is_a_conflict(opened: Pools) -> None:
    async with scoped(opened.turn, ADA) as connection:
        await insert(connection, ADA, 1)
    async with scoped(opened.turn, ADA) as holder:
        await holder.execute("SELECT FROM notes FOR UPDATE")
        with pytest.raises(TransactionConflict):
            async with scoped(opened.turn, ADA) as connection:
                await connection.execute("SELECT FROM notes FOR UPDATE NOWAIT")


async def test_error_in_the_callers_files_is_not_taken_for_a_database_error(opened: Pools) -> None:
    with pytest.raises(FileNotFoundError):
        async with scoped(opened.turn, ADA):
            raise FileNotFoundError("a file of the caller's")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (("run&port", "nowhere&port"), DatabaseUnavailable),
        (("@/test_", "@/no_"), DatabaseRefused),
        (("postgres@", "stranger@"), DatabaseRefused),
        (("postgresql:", "mysql:"), DatabaseRefused),
        (("5432", "seven"), DatabaseRefused),
    ],
)
async def test_unreachable_server_is_a_clear_error(
    dsn: str, change: tuple[str, str], expected: type[StoreError]
) -> None:
    with pytest.raises(expected, match="SIDECAR_DATABASE_URL"):
        await open_pools(dsn.replace(*change), CONFIG)


async def test_server_version_and_extensions_are_recognised(opened: Pools) -> None:
    async with installation(opened.turn) as connection:
        facts = await check_server(connection)
    assert facts.version >= 150000
    assert facts.has_vector


class OtherServer:
    """A connection to a server that is not there: answers what `check_server` asks."""

    def __init__(self, version: int, extensions: dict[str, str], encoding: str = "UTF8") -> None:
        self.version = version
        self.extensions = extensions
        self.encoding = encoding

    async def fetchrow(self, _query: str, _extensions: list[str]) -> dict[str, object]:
        found = {"version": self.version, "connections": 97, "encoding": self.encoding}
        return found | {"elsewhere": [], "is_hidden": False}

    async def fetch(self, _query: str, names: list[str]) -> list[dict[str, str]]:
        return [{"name": name, "version": self.extensions[name]} for name in names if name in self.extensions]


NEEDED = {"pg_trgm": "1.6", "btree_gin": "1.3", "unaccent": "1.1"}


@pytest.mark.parametrize(
    ("version", "extensions", "encoding", "problem"),
    [
        (140011, NEEDED, "UTF8", "is 14"),
        (160000, {"pg_trgm": "1.6"}, "UTF8", "missing: btree_gin, unaccent"),
        (180006, NEEDED, "SQL_ASCII", "encoding is SQL_ASCII"),
    ],
)
async def test_unsuitable_server_is_refused(
    version: int, extensions: dict[str, str], encoding: str, problem: str
) -> None:
    server: Any = OtherServer(version, extensions, encoding)
    with pytest.raises(ServerUnsuitable, match=problem):
        await check_server(server)


@pytest.mark.parametrize(("vector", "expected"), [({}, False), ({"vector": "0.7.4"}, False), ({"vector": "0.8"}, True)])
async def test_vectors_are_available_from_a_version_on(vector: dict[str, str], expected: bool) -> None:
    server: Any = OtherServer(150000, NEEDED | vector)
    assert (await check_server(server)).has_vector is expected
