"""Reconciles the ledger with the memory service's full listing, for changes that no feed reports.

It finds deleted memories, memories under a new id, and memories that the feed missed. An incomplete or empty listing is no
proof of deletions. Archiving a large share of a wiki needs an operator's confirmation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.errors import ListingUnsafe
from compiler.job.compilation import Engine
from compiler.passes import forgetting
from compiler.state.substrates import ListingRow
from store.compile import jobs, ledger, scopes
from store.compile.jobs import Trigger
from store.compile.ledger import LedgerEntry, MemoryOutcome
from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.scope import Scope
from store.tenancy import forgotten
from store.wiki import candidates

RECONCILIATION = "sweep"
"""The kind of the background job, as it is stored."""


@dataclass(frozen=True, slots=True)
class Reconciled:
    """The numbers of memories that are gone, that have a new id, and that were missed or edited without notice."""

    gone: int = 0
    renamed: int = 0
    missed: int = 0


async def reconcile(engine: Engine, pool: Pool, scope: Scope, *, may_archive_many: bool = False) -> Reconciled:
    """Reconcile the ledger with the service's listing, mark gone and missed memories, and queue the job that repairs the pages.

    Raises ListingUnsafe if the listing is incomplete or empty, or if it would empty too many pages without an operator's
    confirmation.
    """
    async with scoped(pool, scope, role=DatabaseRole.WORKER, read_only=True) as connection:
        before = await ledger.read_all(connection, scope)  # the listing may lack memories compiled after it began
    listing = await engine.substrate.listing(scope)
    if not listing.is_complete:
        raise ListingUnsafe("the listing was incomplete")
    now = engine.now()
    async with scoped(pool, scope, role=DatabaseRole.WORKER) as connection:
        await scopes.lock(connection, scope, now=now)
        known = await ledger.read_all(connection, scope)
        existing = {memory_id: entry for memory_id, entry in known.items() if entry.outcome is not MemoryOutcome.GONE}
        gone = sorted((existing.keys() & before.keys()) - listing.memories.keys())
        if gone and not listing.memories and not may_archive_many:
            raise ListingUnsafe("the listing was empty")
        pairs = _renamed(existing, gone, listing.memories)
        await ledger.rename(connection, scope, pairs)
        lost = sorted(set(gone) - {old for old, _ in pairs})
        await _check_share(connection, scope, engine, lost, may_archive_many=may_archive_many)
        new_ids = {new for _, new in pairs}
        missed = sorted(
            memory_id
            for memory_id, one in listing.memories.items()
            if memory_id not in new_ids
            and (memory_id not in existing or existing[memory_id].text_hash != one.text_hash)
        )
        is_built_in = not engine.substrate.feed(scope).is_timed
        notes = await forgetting.forget(connection, scope, lost, now=now, is_built_in=is_built_in)
        if pairs:
            await scopes.bump_revision(connection, scope, now=now)
        if missed:
            await scopes.rewind(connection, scope, now=now)
        if lost or missed:
            await jobs.enqueue(connection, scope, trigger=Trigger.LINT, now=now)
    if notes:
        async with scoped(pool, scope, role=DatabaseRole.WORKER) as connection:
            await forgotten.date(connection, scope, notes, clock=engine.now)
    return Reconciled(len(lost), len(pairs), len(missed))


def _renamed(
    known: Mapping[str, LedgerEntry], gone: list[str], listed: Mapping[str, ListingRow]
) -> list[tuple[str, str]]:
    """Return pairs (old id, new id) of memories listed under another id, matched by document and text."""
    new: dict[tuple[str, bytes], list[str]] = {}
    for memory_id in sorted(listed.keys() - known.keys()):
        one = listed[memory_id]
        new.setdefault((one.document_id, one.text_hash), []).append(memory_id)
    pairs = []
    for memory_id in gone:
        entry = known[memory_id]
        found = new.get((entry.document_id, entry.text_hash), [])
        if entry.document_id and found:
            pairs.append((memory_id, found.pop(0)))
    return pairs


async def _check_share(
    connection: Connection, scope: Scope, engine: Engine, lost: list[str], *, may_archive_many: bool
) -> None:
    """Raise ListingUnsafe if a large share of the pages rests on the lost memories alone."""
    if may_archive_many or not lost:
        return
    patience = engine.settings.patience
    whole = await candidates.count_active(connection, scope)
    emptied = await candidates.count_resting_on(connection, scope, lost)
    most_pages = max(patience.largest_unconfirmed_archive_pages, whole * patience.largest_unconfirmed_archive_share)
    if emptied > most_pages:
        raise ListingUnsafe(f"{emptied} of {whole} pages rest on memories that are not listed")
