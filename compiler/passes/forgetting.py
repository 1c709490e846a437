"""Removal of what was kept of forgotten memories: when they are forgotten, and again when the pages they fed are rebuilt.

In between, a turn may have read those pages and a model may have answered a question asked earlier. Both times are
noted, so that a receipt written afterwards for a turn that read before keeps none of the memories' words.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from compiler.plan.contract import DeletePage, Item
from store.accounting import receipts
from store.compile import answers, batches, ledger, scopes
from store.content import feed
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import forgotten
from store.tenancy.forgotten import Notes
from store.wiki import upkeep


async def forget(
    connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime, is_built_in: bool = True
) -> Notes:
    """Delete what was kept of the memories, and mark what they fed for the next job; the caller deletes the memories themselves.

    Supersedes a plan under way, so that none of their words is written any more. The caller enqueues the job, and
    passes the returned notes to `forgotten.date` after the commit.
    """
    if not memory_ids:
        return ()
    await scopes.lock(connection, scope, now=now)
    notes = await _let_go(connection, scope, memory_ids)
    await _mark(connection, scope, memory_ids, now=now)
    through = await feed.announce_forgotten(connection, scope) if is_built_in else None
    await scopes.mark_dirty(connection, scope, through=through, now=now)
    return notes


async def withdraw(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    """Mark what the memories fed for the next job, as `forget` does, for memories that stay but are no longer accepted.

    Receipts keep their words. The caller enqueues the job.
    """
    await scopes.lock(connection, scope, now=now)
    await _drop_quotes(connection, scope, memory_ids)
    await _mark(connection, scope, memory_ids, now=now)
    await scopes.mark_dirty(connection, scope, through=await feed.announce_forgotten(connection, scope), now=now)


async def settle(connection: Connection, scope: Scope, memory_ids: Sequence[str], items: Iterable[Item]) -> Notes:
    """Delete what was kept of the memories since they were forgotten, and of the pages that the items delete.

    Called in the transaction that applies the items, before they are applied. The caller passes the returned notes to
    `forgotten.date` after the commit.
    """
    deleted = [item.page for item in items if isinstance(item, DeletePage)]
    if deleted:
        await batches.forget_names(connection, scope, [(key.slug, key.path) for key in deleted])
    return await _let_go(connection, scope, memory_ids) if memory_ids else ()


async def restate(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    """Delete quotes of edited memories under settled names: a plan quotes anew only under open names."""
    if memory_ids:
        await upkeep.forget_settled_sightings(connection, scope, memory_ids)


async def _let_go(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> Notes:
    page_ids = await upkeep.pages_resting_on(connection, scope, memory_ids)
    notes = await forgotten.note(connection, scope, memory_ids, page_ids)
    known = await ledger.read(connection, scope, memory_ids)
    hashes = [entry.text_hash for entry in known.values() if entry.text_hash]
    await receipts.forget_texts(connection, scope, hashes)
    await receipts.forget_texts_resting_on(connection, scope, memory_ids, page_ids)
    await _drop_quotes(connection, scope, memory_ids)
    return notes


async def _drop_quotes(connection: Connection, scope: Scope, memory_ids: Sequence[str]) -> None:
    await answers.forget(connection, scope, memory_ids)
    await upkeep.forget_sightings(connection, scope, memory_ids)


async def _mark(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> None:
    await ledger.mark_gone(connection, scope, memory_ids, now=now)
    await batches.forget(connection, scope, memory_ids)
    await scopes.bump_revision(connection, scope, now=now)
