"""Change sets: proposals for the next version of an ontology, item by item, and their outcomes.

Terms are kept as JSON here; the caller validates items. Every function takes a connection inside a transaction
of the tenant; writers hold `versions.lock`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.ontology.terms import TermKind

_sql = queries.load(__file__)
MAX_REJECTIONS = 10_000
_END_OF_TIME = datetime.max.replace(tzinfo=UTC)


class ChangeOrigin(StrEnum):
    """Where a change set or an item comes from."""

    OPERATOR = "operator"
    SCAN = "scan"
    SEED = "seed"
    IMPORT = "import"


class ChangeSetStatus(StrEnum):
    """The status of a change set; the last two are final."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"


class ChangeAction(StrEnum):
    """The action of an item on its term. Only mappings are removed; other terms are deprecated."""

    CREATE = "create"
    UPDATE = "update"
    DEPRECATE = "deprecate"
    REMOVE = "remove"


class ItemDecision(StrEnum):
    """An operator's decision on an item. Approval accepts those that are pending."""

    PENDING = "pending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class ChangeSet:
    """A change set. `revision` counts its changes from 1; `applied_version` is the version that its approval created."""

    change_set_id: UUID
    origin: ChangeOrigin
    title: str
    status: ChangeSetStatus
    revision: int
    drafted_by: str
    drafted_at: datetime
    decided_by: str = ""
    decided_at: datetime | None = None
    applied_version: int | None = None


@dataclass(frozen=True, slots=True)
class ChangeItem:
    """One change: of a term as JSON, as it was proposed and, if an operator changed it, as edited.

    `before` is the digest of the term when the item was drafted, empty if there was none. `confidence` is 0 to 1; `frequency` is
    the number of names with which a scan saw it. `editors` are the users that edited it or added it to another user's change set.
    """

    item_id: UUID
    position: int
    subject_kind: TermKind
    action: ChangeAction
    proposed: Mapping[str, Any]
    fingerprint: str
    origin: ChangeOrigin = ChangeOrigin.OPERATOR
    edited: Mapping[str, Any] | None = None
    decision: ItemDecision = ItemDecision.PENDING
    decided_by: str = ""
    edited_by: str = ""
    editors: tuple[str, ...] = ()
    before: str = ""
    rationale: str = ""
    confidence: float = 1.0
    frequency: int = 0

    @property
    def value(self) -> Mapping[str, Any]:
        """The term as it would be applied."""
        return self.proposed if self.edited is None else self.edited


@dataclass(frozen=True, slots=True)
class ItemRuling:
    """An operator's decision on an item; `edited` replaces an earlier edit of its term, None leaves it."""

    item_id: UUID
    decision: ItemDecision
    edited: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class ChangeSetEnding:
    """The end of a change set: its outcome, the user and the time; `version` is the one that its approval created."""

    status: ChangeSetStatus
    author: str
    at: datetime
    version: int | None = None


@dataclass(frozen=True, slots=True)
class TermUse:
    """The number of pages, sections or edges (`kind`) with a name, section slug or edge type."""

    kind: str
    name: str
    use_count: int


async def insert(connection: Connection, tenant_id: UUID, made: ChangeSet) -> None:
    """Write an open change set without items. Raises AlreadyExists."""
    about = {"origin": made.origin.value, "title": made.title, "drafted_by": made.drafted_by, "now": made.drafted_at}
    await _sql.insert_set(connection, tenant_id=tenant_id, change_set_id=made.change_set_id, **about)


async def get(connection: Connection, tenant_id: UUID, change_set_id: UUID) -> ChangeSet | None:
    """Return one change set, or None."""
    row = await _sql.get_set(connection, tenant_id=tenant_id, change_set_id=change_set_id)
    return row and _set(row)


async def open_of(connection: Connection, tenant_id: UUID, origin: ChangeOrigin) -> UUID | None:
    """Return the newest open change set of an origin, or None."""
    found: UUID | None = await _sql.open_set_of(connection, tenant_id=tenant_id, origin=origin.value)
    return found


async def page(
    connection: Connection,
    tenant_id: UUID,
    *,
    limit: int,
    status: str = "",
    after: tuple[datetime, UUID] | None = None,
) -> list[ChangeSet]:
    """Return a page of the tenant's change sets, of one status if it is given, newest first."""
    before, after_id = after or (_END_OF_TIME, UUID(int=0))
    named = {"tenant_id": tenant_id, "before": before, "after_id": after_id, "limit": limit}
    if status:
        return [_set(row) for row in await _sql.list_sets_of_status(connection, **named, status=status)]
    return [_set(row) for row in await _sql.list_sets(connection, **named)]


async def item_counts(
    connection: Connection, tenant_id: UUID, change_set_ids: Sequence[UUID]
) -> dict[tuple[UUID, str], int]:
    """Return how many items the change sets have, by decision."""
    rows = await _sql.count_items(connection, tenant_id=tenant_id, change_set_ids=list(change_set_ids))
    return {(row["change_set_id"], row["decision"]): row["item_count"] for row in rows}


async def items(connection: Connection, tenant_id: UUID, change_set_id: UUID) -> list[ChangeItem]:
    """Return the items of a change set, in order."""
    rows = await _sql.list_items(connection, tenant_id=tenant_id, change_set_id=change_set_id)
    return [_item(row) for row in rows]


async def add_items(connection: Connection, tenant_id: UUID, change_set_id: UUID, new: Sequence[ChangeItem]) -> None:
    """Write new items, undecided and unedited. Raises AlreadyExists for a position or fingerprint that is taken."""
    rows = [
        {
            "tenant_id": tenant_id,
            "change_set_id": change_set_id,
            "item_id": one.item_id,
            "position": one.position,
            "subject_kind": one.subject_kind.value,
            "action": one.action.value,
            "proposed": dict(one.proposed),
            "edited_by": one.edited_by,
            "editors": list(one.editors),
            "origin": one.origin.value,
            "fingerprint": one.fingerprint,
            "before": one.before,
            "rationale": one.rationale,
            "confidence": one.confidence,
            "frequency": one.frequency,
        }
        for one in new
    ]
    await _sql.insert_items(connection, rows)


async def refresh_item(connection: Connection, tenant_id: UUID, item: ChangeItem) -> bool:
    """Update an item from a scan unless an operator edited or decided it; return whether it was updated."""
    about = {"rationale": item.rationale, "confidence": item.confidence, "frequency": item.frequency}
    named = {"tenant_id": tenant_id, "item_id": item.item_id, "proposed": dict(item.proposed)}
    return bool(await _sql.refresh_item(connection, **named, **about))


async def rule(
    connection: Connection, tenant_id: UUID, change_set_id: UUID, ruling: ItemRuling, *, author: str
) -> None:
    """Write an operator's ruling on an item."""
    named = {"change_set_id": change_set_id, "item_id": ruling.item_id, "decision": ruling.decision.value}
    edited = None if ruling.edited is None else dict(ruling.edited)
    await _sql.decide_item(connection, tenant_id=tenant_id, **named, edited=edited, author=author)


async def accept_pending(connection: Connection, tenant_id: UUID, change_set_id: UUID, *, author: str) -> None:
    """Accept the items of a change set that are undecided."""
    await _sql.accept_pending(connection, tenant_id=tenant_id, change_set_id=change_set_id, author=author)


async def drop_items(connection: Connection, tenant_id: UUID, item_ids: Sequence[UUID]) -> int:
    """Delete those items that a scan proposed and that no operator edited or accepted; return how many."""
    return int(await _sql.drop_items(connection, tenant_id=tenant_id, item_ids=list(item_ids)))


async def touch(connection: Connection, tenant_id: UUID, change_set_id: UUID) -> int:
    """Count a change of an open change set, and return its revision."""
    return int(await _sql.touch_set(connection, tenant_id=tenant_id, change_set_id=change_set_id))


async def close(connection: Connection, tenant_id: UUID, change_set_id: UUID, ending: ChangeSetEnding) -> None:
    """End an open change set."""
    about = {"status": ending.status.value, "author": ending.author, "now": ending.at, "version": ending.version}
    await _sql.close_set(connection, tenant_id=tenant_id, change_set_id=change_set_id, **about)


async def reject_fingerprints(
    connection: Connection,
    tenant_id: UUID,
    fingerprints: Sequence[str],
    *,
    author: str,
    now: datetime,
    most: int = MAX_REJECTIONS,
) -> None:
    """Record proposals that no scan may repeat; the tenant's newest `most` are kept."""
    named = {"fingerprints": list(fingerprints), "author": author, "now": now}
    await _sql.reject_fingerprints(connection, tenant_id=tenant_id, **named)
    await _sql.trim_rejections(connection, tenant_id=tenant_id, most=most)


async def drop_rejected(connection: Connection, tenant_id: UUID, change_set_id: UUID, *, keep: int) -> int:
    """Delete the rejected items of an open change set that a scan proposed, except the newest `keep`; return how many.

    Their fingerprints stay.
    """
    named = {"change_set_id": change_set_id, "keep": keep}
    return int(await _sql.drop_rejected(connection, tenant_id=tenant_id, **named))


async def allow_fingerprints(connection: Connection, tenant_id: UUID, fingerprints: Sequence[str]) -> None:
    """Allow scans to make these proposals again."""
    await _sql.allow_fingerprints(connection, tenant_id=tenant_id, fingerprints=list(fingerprints))


async def rejected_among(connection: Connection, tenant_id: UUID, fingerprints: Sequence[str]) -> set[str]:
    """Return those of the fingerprints that were rejected."""
    rows = await _sql.rejected_among(connection, tenant_id=tenant_id, fingerprints=list(fingerprints))
    return {row["fingerprint"] for row in rows}


async def open_elsewhere(connection: Connection, tenant_id: UUID, change_set_id: UUID) -> set[str]:
    """Return the fingerprints of the items of all other open change sets."""
    rows = await _sql.open_fingerprints(connection, tenant_id=tenant_id, change_set_id=change_set_id)
    return {row["fingerprint"] for row in rows}


async def use_of(
    connection: Connection,
    tenant_id: UUID,
    *,
    names: Sequence[str],
    sections: Sequence[str],
    edge_types: Sequence[str],
) -> list[TermUse]:
    """Return the numbers of the tenant's pages, sections and edges with some terms, over all owners."""
    named = {"names": list(names), "sections": list(sections), "edge_types": list(edge_types)}
    return [value_of(TermUse, row) for row in await _sql.count_use(connection, tenant_id=tenant_id, **named)]


def _set(row: Any) -> ChangeSet:
    return value_of(ChangeSet, row, origin=ChangeOrigin(row["origin"]), status=ChangeSetStatus(row["status"]))


def _item(row: Any) -> ChangeItem:
    return value_of(
        ChangeItem,
        row,
        subject_kind=TermKind(row["subject_kind"]),
        action=ChangeAction(row["action"]),
        origin=ChangeOrigin(row["origin"]),
        editors=tuple(row["editors"]),
        decision=ItemDecision(row["decision"]),
    )
