"""Watches transactions for what only a cluster refuses: a write, then a search by a function that has another role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import asyncpg
import pytest

from store.db.placements import DISTRIBUTED
from tests.support.places import ROOT

_READS = re.compile(r"\b(?:FROM|JOIN) (\w+)\b(?!\()")
_WRITES = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM) (\w+)")
_NEVER_ON_A_CLUSTER = {"settle_search"}


@cache
def _with_a_role() -> re.Pattern[str]:
    """Return what a call of a function with the role of searches looks like."""
    texts = [path.read_text() for path in (ROOT / "migrations").glob("*.sql")]
    given = re.compile(r"FUNCTION (\w+)\([^;]*OWNER TO sidecar_search")
    names = {name for text in texts for name in given.findall(text)} - _NEVER_ON_A_CLUSTER
    return re.compile(rf"\b({'|'.join(sorted(names))})\(")


class _Watch:
    """Notes what the transaction of a connection wrote, and which of the functions it called after that.

    A query that reads a table beside the function goes to the table's server whole, and changes its role there.
    """

    def __init__(self, found: list[str]) -> None:
        self._found = found
        self._written: set[str] = set()

    def __call__(self, record: asyncpg.connection.LoggedQuery) -> None:
        if record.query.startswith("BEGIN"):
            self._written = set()
        called = _with_a_role().search(record.query)
        goes_whole = bool(DISTRIBUTED.intersection(_READS.findall(record.query)))
        if called and self._written and not goes_whole:
            self._found.append(f"{called[1]}() after a write to {', '.join(sorted(self._written))}")
        self._written |= DISTRIBUTED.intersection(_WRITES.findall(record.query))


@contextmanager
def no_search_after_a_write(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail at the end if a transaction wrote rows and called such a function after that."""
    found: list[str] = []
    make = asyncpg.Connection.__init__

    def watched(connection: Any, *given: Any, **named: Any) -> None:
        make(connection, *given, **named)
        connection.add_query_logger(_Watch(found))

    monkeypatch.setattr(asyncpg.Connection, "__init__", watched)
    yield
    assert not found, f"a cluster refuses {found}"
