"""Loads the .sql twins of the store's modules and provides one Python method per query.

aiosql parses the files; calls go directly to the driver, because aiosql's own adapter is too slow.

    -- name: read_page^
    -- The page, or no row.

The sign after the name gives the result. None: a list of rows. `^`: one row or None. `$`: one value or None.
`!`: the number of affected rows. `<!`: the RETURNING row, or its value if it has one column. `*!`: nothing, run once
per row of values. `#`: nothing, a script without parameters. A parameter that the SQL casts to jsonb[] takes a list of
JSON values. A comment stands on a line of its own, because aiosql would read parameters in any other.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from aiosql.adapters.asyncpg import AsyncPGAdapter
from aiosql.query_loader import QueryLoader
from aiosql.types import QueryDatum
from aiosql.types import SQLOperationType as Operation
from aiosql.utils import SQLParseException

from store.errors import QueryFileInvalid

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"
_COMMENT_IN_CODE = re.compile(r"^[ \t]*+(?!--)[^\n]*?(?:--|/\*)", re.MULTILINE)
_JSON_ARRAY = re.compile(r"\$(\d+)::jsonb?\[\]")
Call: TypeAlias = Callable[..., Awaitable[Any]]
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Json:
    """A JSON value in an array parameter. The driver would read a bare list as a dimension of the array."""

    value: object


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a twin: the SQL in the driver's syntax, and its parameter names in order of their numbers."""

    name: str
    file: Path
    sql: str
    parameters: tuple[str, ...]
    operation: Operation


class Queries:
    """The queries of one twin as methods: `await queries.read_page(connection, tenant_id=…, page_id=…)`.

    The file is read at the first call, because a process uses few of the twins. That call raises QueryFileInvalid.
    """

    def __init__(self, twin: Path) -> None:
        self._twin = twin

    @cached_property
    def _calls(self) -> dict[str, Call]:
        return {query.name: _CALLS[query.operation](query) for query in read(self._twin)}

    def __getattr__(self, name: str) -> Call:
        try:
            call = self._calls[name]
        except KeyError:
            known = ", ".join(sorted(self._calls))
            raise AttributeError(f"no query is named {name!r}; the twin has: {known}") from None
        setattr(self, name, call)
        return call


def load(module_file: str) -> Queries:
    """Return the queries of a module's twin, the .sql file of the same name."""
    return Queries(Path(module_file).with_suffix(".sql"))


def value_of(kind: type[V], row: Any, /, **made: Any) -> V:
    """Return the row as a value of a dataclass with slots: each field from the column of its name, except those given."""
    return kind(**{name: row[name] for name in kind.__slots__ if name not in made}, **made)  # type: ignore[attr-defined]  # it has


def all_queries() -> tuple[Query, ...]:
    """Return every query of every twin in the store, in order of file and position. Raises QueryFileInvalid."""
    twins = sorted(Path(__file__).parents[1].rglob("*.sql"))
    return tuple(query for twin in twins for query in read(twin))


def read(twin: Path) -> tuple[Query, ...]:
    """Return the queries of one file, in order. Raises QueryFileInvalid with the file and the place."""
    try:
        text = twin.read_text(encoding="utf-8")
        if misplaced := _COMMENT_IN_CODE.search(text):
            line = text.count("\n", 0, misplaced.end()) + 1
            raise QueryFileInvalid(f"{twin.name}: put the comment of line {line} on a line of its own, after --")
        found = _parse(text, twin)
    except (OSError, UnicodeDecodeError, SQLParseException) as error:
        raise QueryFileInvalid(f"{twin.name}: {error}") from error
    names = [query.name for query in found]
    if twice := {name for name in names if names.count(name) > 1}:
        raise QueryFileInvalid(f"{twin.name}: defined twice: {', '.join(sorted(twice))}")
    return found


def _parse(text: str, twin: Path) -> tuple[Query, ...]:
    adapter = AsyncPGAdapter()  # type: ignore[no-untyped-call]  # aiosql annotates no constructor
    loader = QueryLoader(adapter, None, attribute=None, mandatory_parameters=False)
    data = loader.load_query_data_from_sql(text, [], twin)
    return tuple(_query(twin, datum, adapter.var_sorted[datum.query_name]) for datum in data)


def _query(twin: Path, datum: QueryDatum, parameters: Sequence[str]) -> Query:
    if any(parameter.isdigit() for parameter in parameters):
        raise QueryFileInvalid(f"{twin.name}: {datum.query_name} has a slice read as a parameter; space out its colon")
    return Query(datum.query_name, twin, datum.sql, tuple(parameters), datum.operation_type)


def _ordered(query: Query) -> Callable[[Mapping[str, object]], list[object]]:
    """Return a function that orders values given by name as the query's parameter numbers require."""
    names = query.parameters
    json_arrays = {names[int(number) - 1] for number in _JSON_ARRAY.findall(query.sql)}

    def order(values: Mapping[str, object]) -> list[object]:
        if len(values) != len(names) or not values.keys() >= set(names):
            raise TypeError(f"{query.name} takes {', '.join(names) or 'nothing'}; got {', '.join(values) or 'nothing'}")
        if not json_arrays:
            return [values[name] for name in names]
        return [_as_json(values[name]) if name in json_arrays else values[name] for name in names]

    return order


def _as_json(values: Any) -> list[Json | None]:
    """Wrap the elements so that the driver encodes a list among them as JSON; None stays null."""
    return [None if value is None else Json(value) for value in values]


def _rows(query: Query) -> Call:
    sql, order = query.sql, _ordered(query)

    async def rows(connection: Connection, **values: object) -> list[asyncpg.Record]:
        return await connection.fetch(sql, *order(values))

    return rows


def _row(query: Query) -> Call:
    sql, order = query.sql, _ordered(query)

    async def row(connection: Connection, **values: object) -> asyncpg.Record | None:
        return await connection.fetchrow(sql, *order(values))

    return row


def _value(query: Query) -> Call:
    sql, order = query.sql, _ordered(query)

    async def value(connection: Connection, **values: object) -> Any:
        return await connection.fetchval(sql, *order(values))

    return value


def _returned(query: Query) -> Call:
    sql, order = query.sql, _ordered(query)

    async def returned(connection: Connection, **values: object) -> Any:
        row = await connection.fetchrow(sql, *order(values))
        return row[0] if row is not None and len(row) == 1 else row

    return returned


def _touched(query: Query) -> Call:
    sql, order = query.sql, _ordered(query)

    async def touched(connection: Connection, **values: object) -> int:
        status = await connection.execute(sql, *order(values))
        return int(status.rpartition(" ")[2])

    return touched


def _many(query: Query) -> Call:
    sql, order = query.sql, _ordered(query)

    async def many(connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        await connection.executemany(sql, [order(row) for row in rows])

    return many


def _script(query: Query) -> Call:
    sql = query.sql

    async def script(connection: Connection) -> None:
        await connection.execute(sql)

    return script


_CALLS: dict[Operation, Callable[[Query], Call]] = {
    Operation.SELECT: _rows,
    Operation.SELECT_ONE: _row,
    Operation.SELECT_VALUE: _value,
    Operation.INSERT_RETURNING: _returned,
    Operation.INSERT_UPDATE_DELETE: _touched,
    Operation.INSERT_UPDATE_DELETE_MANY: _many,
    Operation.SCRIPT: _script,
}


def utc_day(moment: datetime) -> str:
    """Return the day (UTC) of an instant as days are stored: 2026-03-01."""
    return moment.astimezone(UTC).date().isoformat()
