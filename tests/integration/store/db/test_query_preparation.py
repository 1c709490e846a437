"""Every query of the store is understood by the migrated schema, and every call of one names a query that is there."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from aiosql.types import SQLOperationType as Operation

import store
from store.db.queries import Query, all_queries, read

STORE = Path(store.__file__).parent
# What asks the catalogue of a cluster is prepared where there is one, by tests/servers/real_citus.py.
OF_A_CLUSTER = {"distribution.sql", "purging_servers.sql"}
PREPARED = [
    query for query in all_queries() if query.operation is not Operation.SCRIPT and query.file.name not in OF_A_CLUSTER
]


async def prepare(dsn: str, query: Query) -> int:
    """Return how many parameters Postgres finds in the query."""
    connection = await asyncpg.connect(dsn)
    try:
        statement = await connection.prepare(query.sql)
        return len(statement.get_parameters())
    finally:
        await connection.close()


async def test_every_query_prepares_with_exactly_its_named_parameters(database: str) -> None:
    problems: list[str] = []
    for query in PREPARED:
        try:
            count = await prepare(database, query)
        except asyncpg.PostgresError as error:
            problems.append(f"{query.file.name}: {query.name}: {error}")
            continue
        if count != len(query.parameters):
            problems.append(f"{query.file.name}: {query.name}: {count} parameters, {len(query.parameters)} names")
    assert not problems, "\n".join(problems)


async def test_misspelt_column_is_detected(database: str, tmp_path: Path) -> None:
    twin = tmp_path / "migrate.sql"
    twin.write_text((STORE / "db" / "migrate.sql").read_text().replace("applied_at FROM", "aplied_at FROM"))
    (query,) = (query for query in read(twin) if query.name == "read_ledger")
    with pytest.raises(asyncpg.UndefinedColumnError, match="aplied_at"):
        await prepare(database, query)


def calls(module: Path) -> Iterator[ast.Call]:
    """Yield the calls of the module's own queries: `_sql.name(…)`."""
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            if isinstance(owner, ast.Name) and owner.id == "_sql":
                yield node


@pytest.mark.parametrize("module", sorted(STORE.rglob("*.py")), ids=lambda path: path.name)
def test_every_call_names_a_query_of_its_twin_and_its_parameters(module: Path) -> None:
    twin = module.with_suffix(".sql")
    known = {query.name: set(query.parameters) for query in read(twin)} if twin.exists() else {}
    for call in calls(module):
        assert isinstance(call.func, ast.Attribute)
        name = call.func.attr
        assert name in known, f"line {call.lineno}: {twin.name} has no {name}"
        given = {keyword.arg for keyword in call.keywords if keyword.arg}
        assert given <= known[name], f"line {call.lineno}: {name} takes no {given - known[name]}"
        has_spread = any(keyword.arg is None for keyword in call.keywords)
        if not has_spread and len(call.args) == 1:
            assert given == known[name], f"line {call.lineno}: {name} misses {known[name] - given}"
