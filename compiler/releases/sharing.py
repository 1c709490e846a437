"""Copies documents of a tenant's knowledge bases to its Brain and withdraws them, by pieces, in a transaction in the Brain.

A piece keeps its id while its text is unchanged, so that an edit of a document withdraws only changed pieces. The document is
locked before the Brain's scope, as memories are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID, uuid4

from compiler.releases.releasing import AT_ONCE, BY_RULE, ReleaseCounts, let_compile, put, together, withdraw
from compiler.releases.rules import copy_of_piece, document_trust, fingerprint_of, rule_for_document
from store.compile import background, scopes
from store.db.postgres import enter_owner
from store.db.queries import Connection
from store.scope import Scope, brain_of
from store.tenancy import brain, forgotten
from store.tenancy.brain import BrainCopy, CopyState, ReleaseRule, RuleState, SharedDocument, SharedPiece

FIRST = ("", "")


async def share_next(
    connection: Connection, brain_scope: Scope, after: tuple[str, str], *, now: datetime
) -> tuple[ReleaseCounts, tuple[str, str] | None]:
    """Release the next document, after a place (base, path), that the rules name: at most AT_ONCE pieces of it.

    Return the counts, and the place after which to continue; None if no document is left.
    """
    if await brain.share_settings(connection, brain_scope.tenant_id) is None:
        return ReleaseCounts(), None
    rules = await brain.rules(connection, brain_scope.tenant_id)
    bases = sorted({one.knowledge_base for one in rules if one.state is RuleState.APPROVED and one.knowledge_base})
    document = await brain.next_document(connection, brain_scope.tenant_id, bases, after) if bases else None
    if document is None:
        return ReleaseCounts(), None
    place = (document.knowledge_base, document.path)
    rule = rule_for_document(document, rules)
    if rule is None:
        return ReleaseCounts(), place
    await scopes.lock(connection, brain_scope, now=now)
    under = (rule.rule_id, document_trust(rule))
    pieces = await brain.pieces_to_share(connection, brain_scope, document.document_id, under, limit=AT_ONCE)
    done = await _share(connection, brain_scope, document, pieces, rule, now=now)
    return done, place if len(pieces) < AT_ONCE else after


async def follow_document(
    connection: Connection, tenant_id: UUID, document_id: UUID, *, now: datetime
) -> ReleaseCounts:
    """Withdraw the copies of pieces that a document no longer has, and queue the release of its new pieces.

    Call it last in the tenant's transaction that wrote or deleted the document; the transaction is in the Brain afterwards.
    """
    if await brain.settings(connection, tenant_id) is None:
        return ReleaseCounts()
    brain_scope = brain_of(tenant_id)
    await enter_owner(connection, brain_scope.owner_id)
    rules = await brain.rules(connection, tenant_id)
    if any(one.knowledge_base and one.state is RuleState.APPROVED for one in rules):
        await background.enqueue(connection, brain_scope, brain.RELEASE_KIND, "", now=now)
    if not await brain.copies_without_piece(connection, brain_scope, document_id):
        return ReleaseCounts()
    await scopes.lock(connection, brain_scope, now=now)
    gone = await brain.copies_without_piece(connection, brain_scope, document_id)
    return await withdraw(connection, brain_scope, await brain.lock_copies(connection, brain_scope, gone), now=now)


async def forget_document(connection: Connection, tenant_id: UUID, document_id: UUID, *, now: datetime) -> None:
    """Withdraw the copies of a deleted document, and record that receipts of all owners and running turns must lose its texts.

    Call it last in the tenant's transaction that deleted the document; the transaction is in the Brain afterwards. A worker
    removes the texts if the caller does not (`settle`).
    """
    await follow_document(connection, tenant_id, document_id, now=now)
    brain_scope, refs = brain_of(tenant_id), [("document", str(document_id))]
    await enter_owner(connection, brain_scope.owner_id)
    await forgotten.note_refs(connection, brain_scope, refs)
    await brain.note_withdrawals(connection, brain_scope, refs, now=now)
    await background.enqueue(connection, brain_scope, brain.RECEIPTS_KIND, "", now=now)


def piece_copy(
    document: SharedDocument, piece: SharedPiece, rule: ReleaseRule, *, owner: UUID, now: datetime
) -> BrainCopy:
    """Return the row of a new copy of a piece; `owner` is the Brain's."""
    return BrainCopy(
        copy_id=str(uuid4()),
        origin_owner_id=owner,
        origin_memory_id=str(piece.chunk_id),
        fingerprint=fingerprint_of(copy_of_piece(document, piece, "")),
        rule_id=rule.rule_id,
        trust_tier=document_trust(rule),
        state=CopyState.RELEASED,
        held_by="",
        reason="",
        changed_by=BY_RULE,
        changed_at=now,
        document_id=document.document_id,
    )


async def _share(
    connection: Connection,
    brain_scope: Scope,
    document: SharedDocument,
    pieces: Sequence[SharedPiece],
    rule: ReleaseRule,
    *,
    now: datetime,
) -> ReleaseCounts:
    ids = [str(one.chunk_id) for one in pieces]
    stale = await brain.lock_copies_of(connection, brain_scope, brain_scope.owner_id, ids) if ids else []
    done = await withdraw(connection, brain_scope, stale, now=now)
    for piece in pieces:
        copy = piece_copy(document, piece, rule, owner=brain_scope.owner_id, now=now)
        new = copy_of_piece(document, piece, copy.copy_id)
        done = together(done, await put(connection, brain_scope, copy, new, now=now))
    if done.released:
        await let_compile(connection, brain_scope, now=now)
    return replace(done, is_last=len(pieces) < AT_ONCE)
