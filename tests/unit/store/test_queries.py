"""Files of queries become methods that take exactly their parameters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from store.db.queries import Json, Queries, load, read
from store.errors import QueryFileInvalid
from tests.support.places import ROOT

PAGES = """
-- Prose before the first query: it's ignored.
-- name: read_page^
-- The page; don't read :this.
SELECT p.id::text, p.tags[1 : 2], '12:30:15' AS time, "odd:name"
    -- why: it's :never a parameter
FROM pages p
WHERE tenant_id = :tenant_id::uuid AND id = ANY(:ids::uuid[]) AND parent IS DISTINCT FROM :tenant_id;

-- name: advance_cursor!
-- Ends in a word that the library uses for itself.
UPDATE pages SET cursor = :cursor;
"""


class Recorder:
    """Stands for a connection: records what it is asked."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: tuple[Any, ...] = ()

    async def fetchrow(self, *asked: Any) -> Any:
        self.asked = asked
        return self.answer

    execute = fetchrow


def write(folder: Path, text: str) -> Path:
    twin = folder / "pages.sql"
    twin.write_text(text)
    return twin


def test_casts_slices_quotes_and_comments_hold_no_parameters(tmp_path: Path) -> None:
    page, cursor = read(write(tmp_path, PAGES))
    assert (page.name, page.parameters) == ("read_page", ("tenant_id", "ids"))
    assert "tenant_id = $1::uuid AND id = ANY($2::uuid[]) AND parent IS DISTINCT FROM $1" in page.sql
    assert "p.tags[1 : 2], '12:30:15' AS time, \"odd:name\"" in page.sql
    assert "never" not in page.sql
    assert (cursor.name, cursor.parameters) == ("advance_cursor", ("cursor",))


async def test_values_are_sent_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    write(tmp_path, PAGES)
    connection = Recorder("the row")
    queries = load(str(tmp_path / "pages.py"))
    assert await queries.read_page(connection, ids=[1], tenant_id=2) == "the row"
    assert connection.asked[1:] == (2, [1])


async def test_write_returns_the_number_of_rows(tmp_path: Path) -> None:
    queries = Queries(write(tmp_path, PAGES))
    assert await queries.advance_cursor(Recorder("UPDATE 17"), cursor=1) == 17


async def test_lists_in_a_json_array_stay_json(tmp_path: Path) -> None:
    queries = Queries(write(tmp_path, "-- name: a^\n-- Prose.\nSELECT :x::jsonb[], :y::int[]"))
    connection = Recorder(None)
    await queries.a(connection, x=[["deep"], None, {}], y=[1])
    assert connection.asked[1:] == ([Json(["deep"]), None, Json({})], [1])


@pytest.mark.parametrize("values", [{}, {"ids": []}, {"ids": [], "tenant": 1}, {"ids": [], "tenant_id": 1, "more": 2}])
async def test_missing_or_unknown_values_are_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    queries = Queries(write(tmp_path, PAGES))
    with pytest.raises(TypeError, match="read_page takes tenant_id, ids"):
        await queries.read_page(Recorder(None), **values)


def test_misspelt_query_name_raises_attribute_error_listing_the_names(tmp_path: Path) -> None:
    queries = Queries(write(tmp_path, PAGES))
    with pytest.raises(AttributeError, match="advance_cursor, read_page"):
        _ = queries.read_pages


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-- name: a\nSELECT 1\n  , 2 -- :two", "line 3"),
        ("-- name: a\nSELECT 1 /* :two */", "line 2"),
        ("-- name: a b c\nSELECT 1", "invalid query name"),
        ("-- name: a\n-- prose only", "empty sql"),
        ("-- name: a\nSELECT 1;\n-- name: a\nSELECT 2;", "defined twice: a"),
        ("-- name: a\nSELECT tags[1:2]", "slice"),
        ("-- name: a(x)\nSELECT :y", "undeclared parameter"),
    ],
)
def test_unreadable_query_file_is_refused_by_name(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(QueryFileInvalid, match=f"pages.sql: .*{problem}"):
        read(write(tmp_path, text))


def test_missing_sql_twin_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QueryFileInvalid, match=r"pages\.sql"):
        _ = load(str(tmp_path / "pages.py")).read_page


def test_every_query_of_the_store_has_a_description() -> None:
    twins = list((ROOT / "store").rglob("*.sql"))
    assert twins
    for twin in twins:
        lines = twin.read_text().splitlines()
        names = [number for number, line in enumerate(lines) if line.startswith("-- name:")]
        assert all(lines[number + 1].startswith("-- ") for number in names), twin.name
