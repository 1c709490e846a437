"""Copies memories to a tenant's Brain and withdraws them, in the transaction of their owner.

The transaction has access to one owner at a time: it switches to the Brain and back. Locks are taken on the owner's rows first,
then on the Brain's scope. A withdrawn copy is forgotten in the Brain like a forgotten memory: its pages are rebuilt at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from compiler.passes import forgetting
from compiler.releases.rules import (
    MAX_COMPARED,
    contradicted,
    copy_of,
    fingerprint,
    is_releasable,
    rule_for,
    trust_of,
)
from store.compile import background, jobs, scopes
from store.compile.jobs import Trigger
from store.content import memories
from store.content.memories import Memory, NewMemory
from store.content.recalling import RecallQuery
from store.db import purging
from store.db.postgres import within
from store.db.queries import Connection
from store.ontology import evidence
from store.scope import Scope, brain_of, is_brain
from store.tenancy import brain
from store.tenancy.brain import BrainCopy, CopyState, ReleaseRule
from store.tenancy.forgotten import NO_NOTES, Notes
from store.text.texts import query_words
from store.wiki import upkeep

AT_ONCE = 100
BY_RULE = "rule"
_MOST_OF_OWNER = 100_000


@dataclass(frozen=True, slots=True)
class ReleaseCounts:
    """The numbers of copies released, held back and withdrawn. The caller dates `notes` for the Brain after the commit."""

    released: int = 0
    held: int = 0
    withdrawn: int = 0
    notes: Notes = NO_NOTES
    is_last: bool = True

    def __bool__(self) -> bool:
        return bool(self.released or self.held or self.withdrawn)


async def announce(connection: Connection, scope: Scope, *, now: datetime) -> None:
    """Queue a comparison of the owner's changed memories with the rules, if its tenant ever had one."""
    if not is_brain(scope.owner_id) and await brain.settings(connection, scope.tenant_id) is not None:
        await background.enqueue(connection, scope, brain.RELEASE_KIND, "", now=now)


async def reconcile(connection: Connection, scope: Scope, *, now: datetime) -> ReleaseCounts:
    """Compare the owner's next changed memories, at most AT_ONCE, with the rules: release, withdraw, or release again.

    If the rules changed since the last time, all memories are compared again. `is_last` is False while there are more.
    """
    settings = await brain.share_settings(connection, scope.tenant_id)
    if settings is None or is_brain(scope.owner_id):
        return ReleaseCounts()
    version, change_seq = await brain.cursor(connection, scope)
    change_seq = change_seq if version == settings.rules_version else 0
    ids, last = await brain.changed_after(connection, scope, change_seq, limit=AT_ONCE)
    done = await _release(connection, scope, ids, now=now)
    await brain.move_cursor(connection, scope, rules_version=settings.rules_version, change_seq=last)
    return replace(done, is_last=len(ids) < AT_ONCE)


async def compare(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> ReleaseCounts:
    """Compare some of the owner's memories with the rules, as `reconcile` does."""
    if is_brain(scope.owner_id) or await brain.share_settings(connection, scope.tenant_id) is None:
        return ReleaseCounts()
    return await _release(connection, scope, memory_ids, now=now)


async def follow(
    connection: Connection, scope: Scope, memory_ids: Collection[str] | None, *, now: datetime
) -> ReleaseCounts:
    """Withdraw the copies of memories that were deleted or differ from their copy; None means all of the owner's memories.

    Call it in the transaction that changed or deleted the memories. It queues a comparison of changed ones with the rules.
    """
    if is_brain(scope.owner_id) or await brain.settings(connection, scope.tenant_id) is None:
        return ReleaseCounts()
    brain_scope = brain_of(scope.tenant_id)
    async with within(connection, brain_scope, of=scope):
        named = memory_ids
        if named is None:
            named = await brain.origins_of_owner(connection, brain_scope, scope.owner_id, limit=_MOST_OF_OWNER)
        ids = list(named)
        if not ids or not await brain.has_copies_of(connection, brain_scope, scope.owner_id, ids):
            return ReleaseCounts()
    held = await memories.lock(connection, scope, ids)
    async with _brain(connection, scope):
        await scopes.lock(connection, brain_scope, now=now)
        copies = await brain.lock_copies_of(connection, brain_scope, scope.owner_id, ids)
        gone = [one for one in copies if not _may_stay(one, held.get(one.origin_memory_id), now=now)]
        done = await withdraw(connection, brain_scope, gone, now=now)
    if gone and held:
        await background.enqueue(connection, scope, brain.RELEASE_KIND, "", now=now)
    return done


async def withdraw(
    connection: Connection, brain_scope: Scope, copies: Sequence[BrainCopy], *, now: datetime
) -> ReleaseCounts:
    """Delete copies, their content on pages and their rows, in a transaction that is in the Brain and holds its scope."""
    done = await take_out(connection, brain_scope, copies, now=now)
    await brain.delete_copies(connection, brain_scope, [one.copy_id for one in copies])
    return done


async def take_out(
    connection: Connection, brain_scope: Scope, copies: Sequence[BrainCopy], *, now: datetime
) -> ReleaseCounts:
    """Delete copies and their content on pages, as `withdraw` does, but leave their rows to the caller."""
    ids = [one.copy_id for one in copies if one.state is CopyState.RELEASED]
    if not ids:
        return ReleaseCounts()
    page_ids = await upkeep.pages_resting_on(connection, brain_scope, ids)
    await memories.forget_all(connection, brain_scope, ids)
    await evidence.forget(connection, brain_scope, ids)
    notes = await forgetting.forget(connection, brain_scope, ids, now=now)
    notes += await forgetting.rebuild(connection, brain_scope, ids, now=now)
    refs = [*(("memory", one) for one in ids), *(("page", str(one)) for one in page_ids)]
    await brain.note_withdrawals(connection, brain_scope, refs, now=now)
    await background.enqueue(connection, brain_scope, brain.RECEIPTS_KIND, "", now=now)
    await purging.request(connection, now=now)
    await let_compile(connection, brain_scope, now=now)
    await _queue_comparison(connection, brain_scope, await brain.held_by(connection, brain_scope, ids), now=now)
    return ReleaseCounts(withdrawn=len(ids), notes=tuple(dict.fromkeys(notes)))


async def let_compile(connection: Connection, brain_scope: Scope, *, now: datetime) -> None:
    """Queue a compile of the Brain."""
    await jobs.enqueue(connection, brain_scope, trigger=Trigger.MEMORY_RETAIN, now=now)


async def put(
    connection: Connection, brain_scope: Scope, copy: BrainCopy, new: NewMemory, *, now: datetime
) -> ReleaseCounts:
    """Write a copy with its memory, or hold it back if a more trusted copy contradicts it. Less trusted contradicting copies are
    held back instead.

    Call it in a transaction that is in the Brain and holds its scope.
    """
    found = await _contradicting(connection, brain_scope, copy, new.text)
    above = [one for one in found if one.trust_tier > copy.trust_tier]
    if above:
        await brain.put_copy(connection, brain_scope, replace(copy, state=CopyState.HELD, held_by=above[0].copy_id))
        return ReleaseCounts(held=1)
    below = [one for one in found if one.trust_tier < copy.trust_tier]
    done = await take_out(connection, brain_scope, below, now=now)
    for one in below:
        held = replace(one, state=CopyState.HELD, held_by=copy.copy_id, reason="", changed_by=BY_RULE, changed_at=now)
        await brain.put_copy(connection, brain_scope, held)
    await memories.retain(connection, brain_scope, [new], now=now)
    await brain.put_copy(connection, brain_scope, replace(copy, state=CopyState.RELEASED, held_by=""))
    return ReleaseCounts(released=1, held=len(below), notes=done.notes)


async def _release(connection: Connection, scope: Scope, memory_ids: Sequence[str], *, now: datetime) -> ReleaseCounts:
    brain_scope, known = brain_of(scope.tenant_id), await memories.lock(connection, scope, memory_ids)
    rules = await brain.rules(connection, scope.tenant_id)
    wanted = {one.memory_id: rule_for(one, rules) if is_releasable(one, now=now) else None for one in known.values()}
    done = ReleaseCounts()
    async with _brain(connection, scope):
        if not any(wanted.values()) and not await brain.has_copies_of(
            connection, brain_scope, scope.owner_id, list(known)
        ):
            return ReleaseCounts()
        await scopes.lock(connection, brain_scope, now=now)
        copies = {
            one.origin_memory_id: one
            for one in await brain.lock_copies_of(connection, brain_scope, scope.owner_id, list(known))
        }
        stale = [one for one in copies.values() if _is_stale(one, known[one.origin_memory_id], wanted)]
        done = await withdraw(connection, brain_scope, stale, now=now)
        for memory_id, rule in wanted.items():
            if rule is None or (memory_id in copies and copies[memory_id] not in stale):
                continue
            new = _new_copy(scope.owner_id, known[memory_id], rule, now=now)
            copied = copy_of(known[memory_id], new.copy_id)
            done = together(done, await put(connection, brain_scope, new, copied, now=now))
        if done.released:
            await let_compile(connection, brain_scope, now=now)
    return done


async def _contradicting(connection: Connection, brain_scope: Scope, copy: BrainCopy, text: str) -> list[BrainCopy]:
    """Return the released copies that a text contradicts, most trusted first."""
    words = query_words(text)
    if not words:
        return []
    found = await memories.recall(connection, brain_scope, RecallQuery(tuple(words), MAX_COMPARED))
    others = {one.memory_id: one.text for one in found.texts if one.memory_id != copy.copy_id}
    ids = await asyncio.to_thread(contradicted, text, others)
    known = await brain.lock_copies(connection, brain_scope, ids)
    return sorted(
        (one for one in known if one.state is CopyState.RELEASED), key=lambda one: (-one.trust_tier, one.copy_id)
    )


async def _queue_comparison(
    connection: Connection, brain_scope: Scope, freed: Sequence[BrainCopy], *, now: datetime
) -> None:
    """Delete copies that a deleted copy held back, and queue a comparison of their memories with the rules."""
    await brain.delete_copies(connection, brain_scope, [one.copy_id for one in freed])
    for one in freed:
        origin = Scope(brain_scope.tenant_id, one.origin_owner_id)
        async with within(connection, origin, of=brain_scope):
            await background.enqueue(connection, origin, brain.RELEASE_KIND, one.origin_memory_id, now=now)


def _new_copy(owner_id: UUID, memory: Memory, rule: ReleaseRule, *, now: datetime) -> BrainCopy:
    return BrainCopy(
        copy_id=str(uuid4()),
        origin_owner_id=owner_id,
        origin_memory_id=memory.memory_id,
        fingerprint=fingerprint(memory),
        rule_id=rule.rule_id,
        trust_tier=trust_of(memory, rule),
        state=CopyState.RELEASED,
        held_by="",
        reason="",
        changed_by=BY_RULE,
        changed_at=now,
    )


def _may_stay(copy: BrainCopy, memory: Memory | None, *, now: datetime) -> bool:
    """Return whether a copy may stay after its memory changed. The row of a withdrawn copy stays while the memory exists."""
    if memory is None or copy.state is CopyState.WITHDRAWN:
        return memory is not None
    return is_releasable(memory, now=now) and fingerprint(memory) == copy.fingerprint


def _is_stale(copy: BrainCopy, memory: Memory, wanted: dict[str, ReleaseRule | None]) -> bool:
    """Return whether a copy must be replaced or withdrawn. A copy that an admin released by hand keeps its tier."""
    rule = wanted[copy.origin_memory_id]
    if copy.state is CopyState.WITHDRAWN:
        return False
    if rule is None or fingerprint(memory) != copy.fingerprint:
        return True
    return not copy.reason and (copy.rule_id, copy.trust_tier) != (rule.rule_id, trust_of(memory, rule))


def together(one: ReleaseCounts, other: ReleaseCounts) -> ReleaseCounts:
    """Return the sum of two counts, with the notes of both."""
    return ReleaseCounts(
        one.released + other.released,
        one.held + other.held,
        one.withdrawn + other.withdrawn,
        tuple(dict.fromkeys((*one.notes, *other.notes))),
    )


def _brain(connection: Connection, scope: Scope) -> AbstractAsyncContextManager[Connection]:
    """Switch the owner's transaction to the Brain."""
    return within(connection, brain_of(scope.tenant_id), of=scope)
