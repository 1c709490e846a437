"""SQL text is cut where Postgres' lexer would cut it, and nothing of it is lost."""

from __future__ import annotations

import pytest

from store.db.statements import Unterminated, split
from tests.support.each import each

# Pieces that hold a semicolon where it separates nothing.
WHOLE_PIECES = (
    "SELECT 1",
    "SELECT ';'",
    "SELECT 'it''s;'",
    r"SELECT E'\';'",
    r"SELECT e'\\', E'a;'",
    r"SELECT '\', ';'",
    "SELECT E'a' \n '\\';'",
    'SELECT ";"',
    'SELECT "a"";"',
    "SELECT $$;$$",
    "SELECT $body$ $$;$$ ; $b$ $body$",
    "SELECT $é$;$é$",
    "SELECT a$b$c FROM d$b$e",
    "SELECT $1",
    "SELECT 1 -- ;",
    "SELECT /* ; */ 1",
    "SELECT /* /* ; */ ; */ 1",
    "SELECT /* ' */ 1",
    "SELECT 1 -- don't",
    "CREATE RULE r AS ON INSERT TO t DO (SELECT 1; SELECT 2)",
    "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT CASE WHEN true THEN 2 END; END",
    "create or replace procedure p() begin atomic insert into t values (1); end",
    "DO $$ BEGIN PERFORM 1; END $$",
    "SELECT 'ж;' AS \"東;京\"",
    "BEGIN",
    "END",
)


@each("piece", WHOLE_PIECES)
def test_semicolon_inside_quotes_comments_or_bodies_splits_nothing(piece: str) -> None:
    found = split(f"{piece}\n;\n{piece}")
    assert len(found) == 2
    assert found[0].text == found[1].text
    assert piece.startswith(found[0].text)


def test_empty_statements_and_lone_comments_are_skipped() -> None:
    assert split(" ; ;; -- nothing\n; /* here */ ;") == ()


def test_statement_knows_its_first_line() -> None:
    found = split("-- first\n\nSELECT 1;\n/* two\nlines */ SELECT\n2;")
    assert [(statement.text, statement.line) for statement in found] == [("SELECT 1", 3), ("SELECT\n2", 5)]


@pytest.mark.parametrize("text", ["SELECT 'a", 'SELECT "a', "SELECT $x$ a $y$", "SELECT /* /* */", r"SELECT E'a\'"])
def test_unclosed_quote_is_refused_with_its_line(text: str) -> None:
    with pytest.raises(Unterminated, match=r"line 3"):
        split("SELECT 1;\n\n" + text)
