"""A tenant's Brain: its settings, the rules of release, and the released copies of memories.

Settings and rules belong to the tenant. Copies belong to the Brain's own owner, so that a transaction of another owner sees
none of them. Every function takes a connection inside a transaction of the scope or tenant that is passed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from store.db import queries
from store.db.queries import Connection, value_of
from store.scope import Scope

_sql = queries.load(__file__)

RELEASE_KIND = "brain_release"
"""The kind of background job that compares an owner's memories with the rules."""
SPREAD_KIND = "brain_spread"
"""The kind of background job that queues such a comparison for every owner of a tenant."""
RECEIPTS_KIND = "brain_receipts"
"""The kind of background job that removes withdrawn copies from every owner's receipts; its subject names the copies."""


class RuleState(StrEnum):
    """A rule is proposed, then approved by an admin, and withdrawn for good."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    WITHDRAWN = "withdrawn"


class CopyState(StrEnum):
    """A copy is in the Brain, is held back by a more trusted one, or was withdrawn by an admin."""

    RELEASED = "released"
    HELD = "held"
    WITHDRAWN = "withdrawn"


@dataclass(frozen=True, slots=True)
class BrainSettings:
    """Whether turns see the Brain, and the version of the tenant's rules."""

    is_shown: bool
    rules_version: int


@dataclass(frozen=True, slots=True)
class ReleaseRule:
    """Which memories to release: with one of the tags, one of the types, all of the metadata, and at least the authority.

    An empty field matches everything. With a `knowledge_base`, its documents are released instead, or the one at `document_path`.
    A `trust_tier` above 0 is the minimum tier of its copies, for the `reason`.
    """

    rule_id: UUID
    name: str
    tags: tuple[str, ...] = ()
    memory_types: tuple[str, ...] = ()
    metadata: Mapping[str, str] | None = None
    least_authority: str = "Agent"
    trust_tier: int = 0
    reason: str = ""
    state: RuleState = RuleState.PROPOSED
    proposed_by: str = ""
    proposed_at: datetime | None = None
    approved_by: str = ""
    approved_at: datetime | None = None
    withdrawn_by: str = ""
    withdrawn_at: datetime | None = None
    knowledge_base: str = ""
    document_path: str = ""


@dataclass(frozen=True, slots=True)
class BrainCopy:
    """A released copy of a memory. `fingerprint` is that of the copy's content; a held copy names the copy that it contradicts.

    Of a piece of a document, `document_id` is set, the origin's owner is the Brain's own, and its id is the piece's.
    """

    copy_id: str
    origin_owner_id: UUID
    origin_memory_id: str
    fingerprint: bytes
    rule_id: UUID
    trust_tier: int
    state: CopyState
    held_by: str
    reason: str
    changed_by: str
    changed_at: datetime
    document_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class SharedDocument:
    """A document of a knowledge base that some rule names."""

    document_id: UUID
    knowledge_base: str
    path: str
    title: str
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class SharedPiece:
    """A piece of a document."""

    chunk_id: UUID
    text: str


async def settings(connection: Connection, tenant_id: UUID) -> BrainSettings | None:
    """Return the settings; None for a tenant that never had a rule."""
    row = await _sql.read_settings(connection, tenant_id=tenant_id)
    return row and BrainSettings(row["is_shown"], row["rules_version"])


async def share_settings(connection: Connection, tenant_id: UUID) -> BrainSettings | None:
    """Return the settings as `settings` does; no rule is approved or withdrawn until the transaction ends."""
    row = await _sql.share_settings(connection, tenant_id=tenant_id)
    return row and BrainSettings(row["is_shown"], row["rules_version"])


async def set_shown(connection: Connection, tenant_id: UUID, *, is_shown: bool) -> None:
    """Show the Brain in turns, or leave it out."""
    await _sql.set_shown(connection, tenant_id=tenant_id, is_shown=is_shown)


async def propose(connection: Connection, tenant_id: UUID, rule: ReleaseRule, *, now: datetime) -> None:
    """Write a proposed rule. It releases nothing."""
    await _sql.insert_rule(
        connection,
        tenant_id=tenant_id,
        rule_id=rule.rule_id,
        name=rule.name,
        tags=list(rule.tags),
        memory_types=list(rule.memory_types),
        metadata=dict(rule.metadata or {}),
        least_authority=rule.least_authority,
        trust_tier=rule.trust_tier,
        reason=rule.reason,
        knowledge_base=rule.knowledge_base,
        document_path=rule.document_path,
        proposed_by=rule.proposed_by,
        now=now,
    )


async def lock_rule(connection: Connection, tenant_id: UUID, rule_id: UUID) -> ReleaseRule | None:
    """Lock a rule until the transaction ends, and return it; None if there is none."""
    row = await _sql.lock_rule(connection, tenant_id=tenant_id, rule_id=rule_id)
    return row and _rule(row)


async def approve(connection: Connection, tenant_id: UUID, rule_id: UUID, *, by: str, now: datetime) -> int:
    """Approve a rule, and return the version of the rules that this makes."""
    await _sql.approve_rule(connection, tenant_id=tenant_id, rule_id=rule_id, by=by, now=now)
    return int(await _sql.raise_version(connection, tenant_id=tenant_id))


async def withdraw(connection: Connection, tenant_id: UUID, rule_id: UUID, *, by: str, now: datetime) -> int:
    """Withdraw a rule, and return the version of the rules that this makes. Its copies stay until they are withdrawn too."""
    await _sql.withdraw_rule(connection, tenant_id=tenant_id, rule_id=rule_id, by=by, now=now)
    return int(await _sql.raise_version(connection, tenant_id=tenant_id))


async def rules(connection: Connection, tenant_id: UUID) -> list[ReleaseRule]:
    """Return the tenant's rules, oldest first."""
    return [_rule(row) for row in await _sql.list_rules(connection, tenant_id=tenant_id)]


async def rule_count(connection: Connection, tenant_id: UUID) -> int:
    """Return how many rules are proposed or approved."""
    return int(await _sql.count_rules(connection, tenant_id=tenant_id))


async def cursor(connection: Connection, scope: Scope) -> tuple[int, int]:
    """Lock the owner's cursor until the transaction ends; return its version of the rules and its feed number."""
    row = await _sql.read_cursor(connection, **scope.key)
    return row["rules_version"], row["change_seq"]


async def move_cursor(connection: Connection, scope: Scope, *, rules_version: int, change_seq: int) -> None:
    """Record the feed number up to which the owner's memories were compared, and the version of the rules."""
    await _sql.move_cursor(connection, **scope.key, rules_version=rules_version, change_seq=change_seq)


async def changed_after(
    connection: Connection, scope: Scope, change_seq: int, *, limit: int
) -> tuple[tuple[str, ...], int]:
    """Return the ids of memories after a feed number, in feed order, and the number of the last one."""
    rows = await _sql.changed_memories(connection, **scope.key, change_seq=change_seq, limit=limit)
    return tuple(row["memory_id"] for row in rows), rows[-1]["change_seq"] if rows else change_seq


async def has_copies_of(connection: Connection, brain: Scope, origin_owner_id: UUID, memory_ids: Sequence[str]) -> bool:
    """Return whether there is a copy of one of the owner's memories, in any state."""
    named = {"origin_owner_id": origin_owner_id, "memory_ids": list(memory_ids)}
    return bool(await _sql.peek_copies_of(connection, **brain.key, **named))


async def lock_copies_of(
    connection: Connection, brain: Scope, origin_owner_id: UUID, memory_ids: Sequence[str]
) -> list[BrainCopy]:
    """Lock the copies of an owner's memories until the transaction ends, and return them."""
    rows = await _sql.lock_copies_of(
        connection, **brain.key, origin_owner_id=origin_owner_id, memory_ids=list(memory_ids)
    )
    return [_copy(row) for row in rows]


async def copies_by_ids(connection: Connection, brain: Scope, copy_ids: Sequence[str]) -> list[BrainCopy]:
    """Return the copies that exist, in order of id."""
    return [_copy(row) for row in await _sql.read_copies(connection, **brain.key, copy_ids=list(copy_ids))]


async def lock_copies(connection: Connection, brain: Scope, copy_ids: Sequence[str]) -> list[BrainCopy]:
    """Lock copies until the transaction ends, and return those that exist."""
    return [_copy(row) for row in await _sql.lock_copies(connection, **brain.key, copy_ids=list(copy_ids))]


async def origins_of_owner(connection: Connection, brain: Scope, origin_owner_id: UUID, *, limit: int) -> list[str]:
    """Return up to `limit` ids of an owner's memories with a copy in any state."""
    rows = await _sql.origins_of_owner(connection, **brain.key, origin_owner_id=origin_owner_id, limit=limit)
    return [row["origin_memory_id"] for row in rows]


async def held_by(connection: Connection, brain: Scope, copy_ids: Sequence[str]) -> list[BrainCopy]:
    """Lock the copies that one of these holds back until the transaction ends, and return them."""
    return [_copy(row) for row in await _sql.lock_held_by(connection, **brain.key, copy_ids=list(copy_ids))]


async def copies_of_rule(connection: Connection, brain: Scope, rule_id: UUID, *, limit: int) -> list[str]:
    """Return up to `limit` copies that a rule released or that are held under it."""
    rows = await _sql.copies_of_rule(connection, **brain.key, rule_id=rule_id, limit=limit)
    return [row["copy_id"] for row in rows]


async def copies(
    connection: Connection, brain: Scope, *, state: str = "", after: str = "", limit: int
) -> list[BrainCopy]:
    """Return copies in order of id, after the id `after`; an empty `state` means all."""
    if state:
        rows = await _sql.list_copies_in(connection, **brain.key, state=state, after=after, limit=limit)
    else:
        rows = await _sql.list_copies(connection, **brain.key, after=after, limit=limit)
    return [_copy(row) for row in rows]


async def copy_counts(connection: Connection, brain: Scope) -> dict[str, int]:
    """Return how many copies there are, by state."""
    return {row["state"]: row["copies"] for row in await _sql.count_copies(connection, **brain.key)}


async def tiers_of(connection: Connection, brain: Scope, copy_ids: Sequence[str]) -> dict[str, int]:
    """Return the trust tier of each copy that is released."""
    rows = await _sql.tiers_of(connection, **brain.key, copy_ids=list(copy_ids))
    return {row["copy_id"]: row["trust_tier"] for row in rows}


async def put_copy(connection: Connection, brain: Scope, copy: BrainCopy) -> None:
    """Write or replace the copy of a memory."""
    await _sql.put_copy(
        connection,
        **brain.key,
        copy_id=copy.copy_id,
        origin_owner_id=copy.origin_owner_id,
        origin_memory_id=copy.origin_memory_id,
        fingerprint=copy.fingerprint,
        rule_id=copy.rule_id,
        trust_tier=copy.trust_tier,
        state=copy.state.value,
        held_by=copy.held_by,
        reason=copy.reason,
        changed_by=copy.changed_by,
        changed_at=copy.changed_at,
        document_id=copy.document_id,
    )


async def next_document(
    connection: Connection, tenant_id: UUID, bases: Sequence[str], after: tuple[str, str]
) -> SharedDocument | None:
    """Return the next document of some knowledge bases in order of base and path, locked against changes until the transaction
    ends; None after the last.
    """
    named = {"bases": list(bases), "base": after[0], "path": after[1]}
    row = await _sql.next_document(connection, tenant_id=tenant_id, **named)
    return row and value_of(SharedDocument, row)


async def documents_by_ids(
    connection: Connection, tenant_id: UUID, document_ids: Collection[UUID]
) -> dict[UUID, SharedDocument]:
    """Return the documents that exist, by id."""
    rows = await _sql.documents_by_ids(connection, tenant_id=tenant_id, document_ids=sorted(document_ids))
    return {row["document_id"]: value_of(SharedDocument, row) for row in rows}


async def lock_piece(
    connection: Connection, tenant_id: UUID, chunk_id: UUID
) -> tuple[SharedDocument, SharedPiece] | None:
    """Return a piece with its document, both locked against changes until the transaction ends; None if it does not exist."""
    row = await _sql.lock_piece(connection, tenant_id=tenant_id, chunk_id=chunk_id)
    return row and (value_of(SharedDocument, row), value_of(SharedPiece, row))


async def pieces_to_share(
    connection: Connection, brain: Scope, document_id: UUID, under: tuple[UUID, int], *, limit: int
) -> list[SharedPiece]:
    """Return up to `limit` pieces of a document that have no copy, or one by a rule under another rule or tier than `under`."""
    named = {"document_id": document_id, "rule_id": under[0], "trust_tier": under[1], "limit": limit}
    return [value_of(SharedPiece, row) for row in await _sql.pieces_to_share(connection, **brain.key, **named)]


async def copies_without_piece(connection: Connection, brain: Scope, document_id: UUID) -> list[str]:
    """Return the ids of copies of pieces that the document does not have (any more)."""
    rows = await _sql.copies_without_piece(connection, **brain.key, document_id=document_id)
    return [row["copy_id"] for row in rows]


async def delete_copies(connection: Connection, brain: Scope, copy_ids: Sequence[str]) -> None:
    """Delete the rows of copies; their memories are deleted separately."""
    await _sql.delete_copies(connection, **brain.key, copy_ids=list(copy_ids))


async def note_withdrawals(
    connection: Connection, brain: Scope, refs: Sequence[tuple[str, str]], *, now: datetime
) -> None:
    """Record references (kind, id) of withdrawn copies, until `settle_withdrawals`."""
    kinds, ids = [kind for kind, _ in refs], [ref for _, ref in refs]
    await _sql.note_withdrawals(connection, **brain.key, kinds=kinds, refs=ids, now=now)


async def withdrawals(connection: Connection, brain: Scope, *, limit: int) -> list[tuple[str, str]]:
    """Return up to `limit` references of withdrawn copies that may still be in receipts."""
    rows = await _sql.list_withdrawals(connection, **brain.key, limit=limit)
    return [(row["ref_kind"], row["ref"]) for row in rows]


async def settle_withdrawals(connection: Connection, brain: Scope, refs: Sequence[tuple[str, str]]) -> None:
    """Delete references that no receipt holds any more."""
    await _sql.settle_withdrawals(
        connection, **brain.key, kinds=[kind for kind, _ in refs], refs=[ref for _, ref in refs]
    )


async def owners_with_memories(connection: Connection, tenant_id: UUID) -> list[UUID]:
    """Return the tenant's owners that have memories, including the Brain's."""
    return [row["owner_id"] for row in await _sql.owners_with_memories(connection, tenant_id=tenant_id)]


def _rule(row: Any) -> ReleaseRule:
    return ReleaseRule(
        row["rule_id"], row["name"], tuple(row["tags"]), tuple(row["memory_types"]), row["metadata"], row["least_authority"],
        row["trust_tier"], row["reason"], RuleState(row["state"]), row["proposed_by"], row["proposed_at"], row["approved_by"],
        row["approved_at"], row["withdrawn_by"], row["withdrawn_at"], row["knowledge_base"], row["document_path"],
    )  # fmt: skip


def _copy(row: Any) -> BrainCopy:
    return BrainCopy(
        row["copy_id"], row["origin_owner_id"], row["origin_memory_id"], row["fingerprint"], row["rule_id"], row["trust_tier"],
        CopyState(row["state"]), row["held_by"], row["reason"], row["changed_by"], row["changed_at"],
        row["document_id"],
    )  # fmt: skip
