"""Evidence: the sentences of owners' memories that a scan's proposals rest on. They belong to the owners and are deleted with
their memories.

Functions that take a scope take a connection inside that owner's transaction, or inside one of the tenant that entered the owner
(`postgres.enter_owner`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.ontology import change_sets
from store.scope import Scope

MAX_QUOTE_CHARS = 280
MAX_EXAMPLES = 5
_sql = queries.load(__file__)


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence that an item rests on: at most 280 characters of a memory, and the finding in it (`label`).

    `position` is 1 to 5. `source_kind` is page, mention, edge or memory.
    """

    owner_id: UUID
    item_id: UUID
    position: int
    memory_id: str
    source_kind: str
    label: str
    quote: str
    observed_at: datetime


async def hold_quotes(connection: Connection, scope: Scope, quotes: Sequence[tuple[str, str]]) -> set[int]:
    """Return the indexes of the quotes (memory, text) that their memories contain, and lock these memories until the transaction
    ends.
    """
    ids, texts = [one[0] for one in quotes], [one[1] for one in quotes]
    rows = await _sql.hold_quotes(connection, **scope.key, memory_ids=ids, quotes=texts)
    return {row["place"] - 1 for row in rows}


async def replace(connection: Connection, scope: Scope, item_ids: Sequence[UUID], examples: Sequence[Example]) -> None:
    """Replace the owner's evidence of some items."""
    await _sql.delete_evidence_of_items(connection, **scope.key, item_ids=list(item_ids))
    rows = [
        {"tenant_id": scope.tenant_id, **{name: getattr(one, name) for name in Example.__slots__}} for one in examples
    ]
    await _sql.insert_evidence(connection, rows)


async def owners_of(connection: Connection, tenant_id: UUID, item_ids: Sequence[UUID]) -> list[UUID]:
    """Return the owners whose memories some items rest on, in order of their ids."""
    rows = await _sql.owners_with_evidence(connection, tenant_id=tenant_id, item_ids=list(item_ids))
    return [row["owner_id"] for row in rows]


async def listed(connection: Connection, scope: Scope, item_ids: Sequence[UUID]) -> list[Example]:
    """Return the owner's evidence of some items, by item and position, without quotes that their memories no longer contain."""
    rows = await _sql.list_evidence(connection, **scope.key, item_ids=list(item_ids))
    return [value_of(Example, row) for row in rows]


async def without(connection: Connection, tenant_id: UUID, item_ids: Sequence[UUID]) -> list[UUID]:
    """Return the items that rest on no memory."""
    rows = await _sql.items_without_evidence(connection, tenant_id=tenant_id, item_ids=list(item_ids))
    return [row["item_id"] for row in rows]


async def resting_on_owner(connection: Connection, scope: Scope) -> list[UUID]:
    """Return the items that rest on memories of the owner."""
    rows = await _sql.items_resting_on(connection, **scope.key, memory_ids=None)
    return [row["item_id"] for row in rows]


async def forget(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete the evidence from memories, and a scan's proposals without other evidence that no operator edited or accepted."""
    rows = await _sql.items_resting_on(connection, **scope.key, memory_ids=list(memory_ids))
    if rows:
        await _sql.forget_evidence(connection, **scope.key, memory_ids=list(memory_ids))
        await drop_unfounded(connection, scope, [row["item_id"] for row in rows])


async def forget_unsaid(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete, after an edit of memories, the evidence that they no longer contain, and proposals as in `forget`."""
    rows = await _sql.delete_unsaid_evidence(connection, **scope.key, memory_ids=list(memory_ids))
    if rows:
        await drop_unfounded(connection, scope, sorted({row["item_id"] for row in rows}))


async def drop_unfounded(connection: Connection, scope: Scope, item_ids: Sequence[UUID]) -> int:
    """Delete a scan's proposals that rest on no memory any more and that no operator edited or accepted; return how many."""
    if not item_ids:
        return 0
    unfounded = await without(connection, scope.tenant_id, item_ids)
    return await change_sets.drop_items(connection, scope.tenant_id, unfounded) if unfounded else 0
