"""Reads the standing rulings of a scope, and their views for readers: merged pages and reported sentences.

Every function takes a connection inside a scoped transaction.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256

from compiler.plan.contract import PageKey, Ruling, RulingKind
from compiler.state.row_mapping import ruling
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import rulings


@dataclass(frozen=True, slots=True)
class Report:
    """A sentence that was reported as wrong."""

    ruling: Ruling
    reported_at: datetime

    @property
    def report_id(self) -> str:
        """The report's id, made of the page's path and the sentence's key."""
        return sha256(f"{self.ruling.page.path} {self.ruling.ref}".encode()).hexdigest()[:32]

    @property
    def memory_id(self) -> str:
        """The id of the memory that the sentence came from; empty if unknown."""
        return next(iter(self.ruling.memory_ids), "")

    def is_of(self, ruling: Ruling) -> bool:
        """Return whether this is the report of the ruling."""
        return (self.ruling.page, self.ruling.ref) == (ruling.page, ruling.ref)


async def standing(connection: Connection, scope: Scope) -> list[Ruling]:
    """Return every ruling of the scope."""
    return [ruling(row) for row in await rulings.listed(connection, scope)]


async def reports(connection: Connection, scope: Scope) -> list[Report]:
    """Return the sentences that were reported as wrong."""
    rows = [row for row in await rulings.listed(connection, scope) if row.kind == RulingKind.SENTENCE]
    return [Report(ruling(row), row.ruled_at) for row in rows if row.ruled_at is not None]


async def parts(connection: Connection, scope: Scope, key: PageKey) -> list[str]:
    """Return the paths of the pages that were merged into a page."""
    every = await standing(connection, scope)
    return [one.page.path for one in every if one.kind is RulingKind.MERGED and one.into == key]
