"""Finds the rows of a target to forget, and the rows that hold a word.

Every function takes a connection inside a transaction of the scope that is passed. All return ids only; `hits` adds excerpts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from unicodedata import normalize
from uuid import UUID

from store.db import queries
from store.db.queries import Connection
from store.scope import Scope, is_uuid
from store.tenancy import forgotten

_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class WordHit:
    """A memory, turn, thread, receipt or page that contains a word: its id, and at most 160 characters around the word."""

    kind: str
    id: str
    excerpt: str

    @property
    def name(self) -> str:
        """The name to confirm it by, such as `memory:m1`."""
        return f"{self.kind}:{self.id}"


@dataclass(frozen=True, slots=True)
class Span:
    """A period of time [start, end)."""

    since: datetime
    until: datetime


async def memories_of_document(connection: Connection, scope: Scope, document_id: str) -> list[str]:
    """Return the owner's memories of a document."""
    rows = await _sql.memories_of_document(connection, **scope.key, document_id=document_id)
    return [row["memory_id"] for row in rows]


async def memories_from_turns(connection: Connection, scope: Scope, turn_ids: Collection[UUID]) -> list[str]:
    """Return the owner's memories that were drawn from one of the turns, without summaries: those are remade.

    Writers may have named the turns in upper case.
    """
    written = [form for one in turn_ids for form in (str(one), str(one).upper())]
    rows = await _sql.memories_from_turns(connection, **scope.key, turn_ids=written)
    return [row["memory_id"] for row in rows]


async def memories_between(connection: Connection, scope: Scope, span: Span) -> list[str]:
    """Return the owner's memories of a period."""
    rows = await _sql.memories_between(connection, **scope.key, since=span.since, until=span.until)
    return [row["memory_id"] for row in rows]


async def turns_of_thread(connection: Connection, scope: Scope, thread_id: str) -> list[UUID]:
    """Return a thread's turns."""
    return [row["turn_id"] for row in await _sql.turns_of_thread(connection, **scope.key, thread_id=thread_id)]


async def turns_between(connection: Connection, scope: Scope, span: Span) -> list[UUID]:
    """Return the owner's turns of a period, without forgotten ones."""
    rows = await _sql.turns_between(connection, **scope.key, since=span.since, until=span.until)
    return [row["turn_id"] for row in rows]


async def forgotten_turns(
    connection: Connection, scope: Scope, turn_ids: Collection[str], *, now: datetime
) -> list[str]:
    """Return those of the turns that were forgotten in the last hour and not said again. Blocks forgetting until the transaction
    ends. Ids that are no UUIDs are of no turn here.
    """
    refs = [("turn", one.lower()) for one in turn_ids if is_uuid(one)]
    gone = [one for _, one in await forgotten.lately(connection, scope, refs, now=now)] if refs else []
    if not gone:
        return []
    there = {str(row["turn_id"]) for row in await _sql.turns_there(connection, **scope.key, turn_ids=gone)}
    return [one for one in turn_ids if one.lower() in gone and one.lower() not in there]


async def receipts_of_thread(connection: Connection, scope: Scope, thread_id: str) -> list[UUID]:
    """Return the receipts of a thread."""
    rows = await _sql.receipts_of_thread(connection, **scope.key, thread_id=thread_id)
    return [row["receipt_id"] for row in rows]


async def receipts_between(connection: Connection, scope: Scope, span: Span) -> list[UUID]:
    """Return the owner's receipts of a period."""
    rows = await _sql.receipts_between(connection, **scope.key, since=span.since, until=span.until)
    return [row["receipt_id"] for row in rows]


async def hits(connection: Connection, scope: Scope, word: str, *, limit: int) -> list[WordHit]:
    """Return up to `limit` of the owner's rows that contain a word, in any case and in any form in which it may be stored."""
    found: dict[str, WordHit] = {}
    for form in await _forms(connection, word):
        for row in await _sql.hits(connection, **scope.key, word=form, limit=limit):
            hit = WordHit(row["kind"], row["id"], row["excerpt"])
            found.setdefault(hit.name, hit)
    return list(found.values())[:limit]


async def rows_holding(connection: Connection, scope: Scope, word: str) -> dict[str, int]:
    """Return how many of the owner's rows contain a word, in any case and in any column of texts, by table.

    Rows are counted for each form in which the word may be stored, and the largest number is returned.
    """
    counts: dict[str, int] = {}
    for form in await _forms(connection, word):
        for row in await _sql.rows_holding(connection, **scope.key, word=form):
            counts[row["table_name"]] = max(row["row_count"], counts.get(row["table_name"], 0))
    return counts


async def _forms(connection: Connection, word: str) -> list[str]:
    """Return the forms in which a word may be stored: as given, with its accents composed or decomposed, with σ or ς,
    and each as JSON writes it in metadata and tool calls. If the database's locale does not know its letters, also small, in
    capitals and capitalised.
    """
    small = word.lower()
    spelled = [word, *((small, small.replace("ς", "σ")) if "σ" in small or "ς" in small else ())]
    capitals = _each(str.upper, word)
    if not await _sql.lowers_letters(connection, capitals=capitals, small=_each(str.lower, capitals)):
        spelled += [small, capitals, small.title(), small.capitalize()]
    composed = [form for one in spelled for form in (one, normalize("NFC", one), normalize("NFD", one))]
    return list(dict.fromkeys(form for one in composed for form in (one, _in_json(one))))


def _each(change: Callable[[str], str], word: str) -> str:
    """Change each letter by itself; one that would become several stays."""
    return "".join(new if len(new := change(one)) == 1 else one for one in word)


def _in_json(word: str) -> str:
    return json.dumps(word, ensure_ascii=False)[1:-1]


async def owners_with_receipts(connection: Connection, tenant_id: UUID) -> list[UUID]:
    """Return the tenant's owners that have receipts."""
    return [row["owner_id"] for row in await _sql.owners_with_receipts(connection, tenant_id=tenant_id)]
