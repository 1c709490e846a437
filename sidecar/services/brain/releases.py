"""The use cases of a tenant's Brain: release rules, released copies, and their visibility in turns.

Every method opens its own transactions. `compiler.releases` decides which memories are copied and when a copy is withdrawn.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from compiler.releases import releasing, sharing
from compiler.releases.releasing import ReleaseCounts
from compiler.releases.rules import (
    TrustTier,
    copy_of,
    copy_of_piece,
    document_trust,
    fingerprint,
    is_releasable,
    rule_for,
    rule_for_document,
    tier_of,
    trust_of,
)
from sidecar.runtime.errors import FailedPrecondition, NotFound
from sidecar.services.brain.rule_checks import MAX_REASON_CHARS, check_rule
from sidecar.services.brain.settling import settle
from sidecar.services.validation import read_id, read_text
from store.accounting import audit
from store.accounting.audit import Entry
from store.compile import background, scopes
from store.content import documents, memories
from store.content.memories import NewMemory
from store.db.postgres import DatabaseRole, Pool, Transaction, scoped, tenant_scoped, within
from store.db.queries import Connection
from store.scope import Scope, brain_of, is_brain
from store.tenancy import brain, tenants
from store.tenancy.brain import BrainCopy, BrainSettings, CopyState, ReleaseRule, RuleState, SharedDocument
from store.wiki import browse
from store.wiki.browse import PageRow

MAX_RULES = 100
PROMOTE = "BrainService/promote"
"""The method that an audit entry names when a statement is trusted more than its sources."""


@dataclass(frozen=True, slots=True)
class Actor:
    """The acting admin, as named in the audit log."""

    subject: str
    token_id: str = ""
    via: str = "rpc"


@dataclass(frozen=True, slots=True)
class BrainState:
    """The Brain's settings, its rules, and the number of copies by state."""

    settings: BrainSettings
    rules: Sequence[ReleaseRule]
    copies: dict[str, int]


class Brain:
    """Manages a tenant's Brain. `on_forgotten` is called with the Brain's scope when copies were withdrawn, ahead of the notice.

    `on_release` gets the numbers of released, held and withdrawn copies. With `has_four_eyes`, the admin that proposed a
    rule may not approve it.
    """

    def __init__(
        self,
        pool: Pool,
        *,
        now: Callable[[], datetime],
        on_forgotten: Callable[[Scope], None] = lambda _: None,
        on_release: Callable[[Mapping[str, int]], None] = lambda _: None,
        role: DatabaseRole = DatabaseRole.APP,
        has_four_eyes: bool = False,
    ) -> None:
        self.has_four_eyes = has_four_eyes
        self._pool = pool
        self._role = role
        self._now = now
        self._on_forgotten = on_forgotten
        self._on_release = on_release

    async def state(self, tenant_id: UUID) -> BrainState:
        """Return the Brain's settings, rules and counts; a tenant that never had a rule has version 0."""
        async with self._scoped(brain_of(tenant_id), read_only=True) as connection:
            return BrainState(
                await brain.settings(connection, tenant_id) or BrainSettings(is_shown=True, rules_version=0),
                await brain.rules(connection, tenant_id),
                await brain.copy_counts(connection, brain_of(tenant_id)),
            )

    async def show(self, tenant_id: UUID, *, is_shown: bool) -> None:
        """Show the Brain in turns, or hide it; in force within seconds."""
        async with tenant_scoped(self._pool, tenant_id, role=self._role) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=self._now())
            await brain.set_shown(connection, tenant_id, is_shown=is_shown)

    async def propose(self, tenant_id: UUID, rule: ReleaseRule, actor: Actor) -> ReleaseRule:
        """Propose a rule, and return it; it releases nothing until it is approved. Raises InvalidArgument, FailedPrecondition."""
        check_rule(rule)
        now = self._now()
        proposed = replace(rule, rule_id=uuid4(), proposed_by=actor.subject, state=RuleState.PROPOSED)
        async with tenant_scoped(self._pool, tenant_id, role=self._role) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            base = rule.knowledge_base
            if base and await documents.get_base(connection, tenant_id, base) is None:
                raise NotFound("knowledge base")
            if await brain.rule_count(connection, tenant_id) >= MAX_RULES:
                raise FailedPrecondition("rules", f"{MAX_RULES} exist already; withdraw one first")
            await brain.propose(connection, tenant_id, proposed, now=now)
        return replace(proposed, proposed_at=now)

    async def approve(self, tenant_id: UUID, rule_id: UUID, actor: Actor) -> ReleaseRule:
        """Approve a rule, and queue the comparison of every owner's memories with it. Approving again is no error.

        Raises NotFound, and FailedPrecondition for a withdrawn rule or one that the caller may not approve.
        """
        now, brain_scope = self._now(), brain_of(tenant_id)
        async with self._scoped(brain_scope) as connection:
            rule = await _rule(connection, tenant_id, rule_id)
            if rule.state is RuleState.WITHDRAWN:
                raise FailedPrecondition("rule_id", "is withdrawn; propose it again")
            if rule.state is RuleState.PROPOSED:
                if self.has_four_eyes and actor.subject == rule.proposed_by:
                    problem = (
                        f"was proposed by {actor.subject}: another admin has to approve it (SIDECAR_ONTOLOGY_FOUR_EYES)"
                    )
                    raise FailedPrecondition("rule_id", problem)
                await brain.approve(connection, tenant_id, rule_id, by=actor.subject, now=now)
                if rule.trust_tier:
                    await _promoted(
                        connection, tenant_id, actor, f"rule {rule_id}", (rule.trust_tier, rule.reason), now
                    )
                await background.enqueue(connection, brain_scope, brain.SPREAD_KIND, "", now=now)
            return await _rule(connection, tenant_id, rule_id)

    async def withdraw_rule(self, tenant_id: UUID, rule_id: UUID, actor: Actor) -> ReleaseRule:
        """Withdraw a rule with its copies, and return it. Another rule may release some of them again. Raises NotFound."""
        now, brain_scope = self._now(), brain_of(tenant_id)
        async with self._scoped(brain_scope) as connection:
            rule = await _rule(connection, tenant_id, rule_id)
            if rule.state is not RuleState.WITHDRAWN:
                await brain.withdraw(connection, tenant_id, rule_id, by=actor.subject, now=now)
                await background.enqueue(connection, brain_scope, brain.SPREAD_KIND, "", now=now)
        while await self._withdraw_some(tenant_id, rule_id):
            pass
        async with self._scoped(brain_scope) as connection:
            return await _rule(connection, tenant_id, rule_id)

    async def copies(
        self, tenant_id: UUID, *, state: str = "", after: str = "", limit: int
    ) -> list[tuple[BrainCopy, str]]:
        """Return up to `limit` copies, by id, with their texts; the text of a held or withdrawn copy is empty."""
        brain_scope = brain_of(tenant_id)
        async with self._scoped(brain_scope, read_only=True) as connection:
            page = await brain.copies(connection, brain_scope, state=state, after=after, limit=limit)
            texts = {
                one.memory_id: one.text
                for one in await memories.by_ids(connection, brain_scope, [one.copy_id for one in page])
            }
        return [(one, texts.get(one.copy_id, "")) for one in page]

    async def release(self, tenant_id: UUID, copy_id: str, reason: str, actor: Actor) -> BrainCopy:
        """Release a held or withdrawn copy with a reason, and return it. It gets the trust of the copy that it contradicts.

        Raises NotFound, and FailedPrecondition if its memory may not be copied, or if no approved rule releases it any longer.
        """
        read_id("copy_id", copy_id)
        read_text("reason", reason, min_chars=1, max_chars=MAX_REASON_CHARS)
        brain_scope = brain_of(tenant_id)
        async with self._scoped(brain_scope, read_only=True) as connection:
            found = next(iter(await brain.copies_by_ids(connection, brain_scope, [copy_id])), None)
        if found is None:
            raise NotFound("copy")
        if found.document_id is not None:
            copy = await self._release_piece(tenant_id, found, (reason, actor))
        else:
            copy = await self._release_memory(tenant_id, found, (reason, actor))
        await self.settle(tenant_id)
        return copy

    async def withdraw_copy(self, tenant_id: UUID, copy_id: str, actor: Actor) -> BrainCopy:
        """Withdraw a copy, and return it. Afterwards only `release` releases it, no rule does. Raises NotFound."""
        read_id("copy_id", copy_id)
        now, brain_scope = self._now(), brain_of(tenant_id)
        async with self._changing(brain_scope) as connection:
            copy = next(iter(await brain.lock_copies(connection, brain_scope, [copy_id])), None)
            if copy is None:
                raise NotFound("copy")
            self._report(await releasing.take_out(connection, brain_scope, [copy], now=now))
            withdrawn = replace(
                copy, state=CopyState.WITHDRAWN, held_by="", reason="", changed_by=actor.subject, changed_at=now
            )
            await brain.put_copy(connection, brain_scope, withdrawn)
        await self.settle(tenant_id)
        return withdrawn

    async def pages(self, tenant_id: UUID, *, limit: int, after: Any = None) -> list[PageRow]:
        """Return up to `limit` active pages of the Brain, by type and slug."""
        brain_scope = brain_of(tenant_id)
        async with self._scoped(brain_scope, read_only=True) as connection:
            return await browse.pages_by_name(connection, brain_scope, status="active", limit=limit, after=after)

    async def compare(self, scope: Scope, memory_id: str = "") -> ReleaseCounts:
        """Apply the rules to an owner's changed memories, or one of them, and return the counts of copies."""
        total = ReleaseCounts()
        while True:
            async with self._scoped(scope) as connection:
                if memory_id:
                    done = await releasing.compare(connection, scope, [memory_id], now=self._now())
                else:
                    done = await releasing.reconcile(connection, scope, now=self._now())
            self._report(done)
            total = releasing.together(total, done)
            if done.is_last:
                break
        if total:
            await self.settle(scope.tenant_id)
        return total

    async def spread(self, tenant_id: UUID) -> int:
        """Queue a comparison for each owner with memories, and for the documents; return the number of owners."""
        async with tenant_scoped(self._pool, tenant_id, role=self._role) as connection:
            owner_ids = [one for one in await brain.owners_with_memories(connection, tenant_id) if not is_brain(one)]
        for owner_id in owner_ids:
            scope = Scope(tenant_id, owner_id)
            async with self._scoped(scope) as connection:
                await background.enqueue(connection, scope, brain.RELEASE_KIND, "", now=self._now())
        brain_scope = brain_of(tenant_id)
        async with self._scoped(brain_scope) as connection:
            await background.enqueue(connection, brain_scope, brain.RELEASE_KIND, "", now=self._now())
        return len(owner_ids)

    async def settle(self, tenant_id: UUID) -> None:
        """Remove withdrawn copies from every owner's receipts and from this process's caches."""
        await settle(self._pool, tenant_id, now=self._now, on_forgotten=self._on_forgotten, role=self._role)

    async def share(self, tenant_id: UUID) -> ReleaseCounts:
        """Release the documents of approved rules that are not released yet, and return the counts of copies."""
        brain_scope, total = brain_of(tenant_id), ReleaseCounts()
        after: tuple[str, str] | None = sharing.FIRST
        while after is not None:
            async with self._scoped(brain_scope) as connection:
                done, after = await sharing.share_next(connection, brain_scope, after, now=self._now())
            self._report(done)
            total = releasing.together(total, done)
        if total:
            await self.settle(tenant_id)
        return total

    async def documents_of(self, tenant_id: UUID, copies: Iterable[BrainCopy]) -> dict[UUID, SharedDocument]:
        """Return the documents of the copies, by id."""
        ids = {one.document_id for one in copies if one.document_id is not None}
        async with tenant_scoped(self._pool, tenant_id, role=self._role, read_only=True) as connection:
            return await brain.documents_by_ids(connection, tenant_id, ids) if ids else {}

    async def _release_memory(self, tenant_id: UUID, found: BrainCopy, why: tuple[str, Actor]) -> BrainCopy:
        now, brain_scope = self._now(), brain_of(tenant_id)
        origin = Scope(tenant_id, found.origin_owner_id)
        async with self._scoped(origin) as connection:
            await brain.share_settings(connection, tenant_id)
            rules = await brain.rules(connection, tenant_id)
            memory = (await memories.lock(connection, origin, [found.origin_memory_id])).get(found.origin_memory_id)
            async with within(connection, brain_scope, of=origin):
                await scopes.lock(connection, brain_scope, now=now)
                copy = next(iter(await brain.lock_copies(connection, brain_scope, [found.copy_id])), None)
                if copy is None or memory is None:
                    raise NotFound("copy")
                if not is_releasable(memory, now=now):
                    raise FailedPrecondition(
                        "copy_id", "is the copy of a memory that is not accepted or no longer holds"
                    )
                rule = rule_for(memory, rules)
                if rule is None:
                    raise FailedPrecondition(
                        "copy_id", "is the copy of a memory that no approved rule releases; approve one first"
                    )
                if copy.state is not CopyState.RELEASED:
                    tier = trust_of(memory, rule)
                    under = replace(copy, rule_id=rule.rule_id, trust_tier=tier, fingerprint=fingerprint(memory))
                    new = (copy_of(memory, copy.copy_id), int(tier_of(memory)))
                    copy, done = await _release(connection, brain_scope, under, new, why, now)
                    self._report(done)
        return copy

    async def _release_piece(self, tenant_id: UUID, found: BrainCopy, why: tuple[str, Actor]) -> BrainCopy:
        now, brain_scope = self._now(), brain_of(tenant_id)
        async with self._scoped(brain_scope) as connection:
            await brain.share_settings(connection, tenant_id)
            rules = await brain.rules(connection, tenant_id)
            piece = await brain.lock_piece(connection, tenant_id, UUID(found.origin_memory_id))
            await scopes.lock(connection, brain_scope, now=now)
            copy = next(iter(await brain.lock_copies(connection, brain_scope, [found.copy_id])), None)
            if copy is None or piece is None:
                raise NotFound("copy")
            rule = rule_for_document(piece[0], rules)
            if rule is None:
                raise FailedPrecondition(
                    "copy_id", "is the copy of a document that no approved rule releases; approve one first"
                )
            if copy.state is not CopyState.RELEASED:
                under = replace(copy, rule_id=rule.rule_id, trust_tier=document_trust(rule))
                new = (copy_of_piece(*piece, copy.copy_id), int(TrustTier.KNOWLEDGE))
                copy, done = await _release(connection, brain_scope, under, new, why, now)
                self._report(done)
        return copy

    def _scoped(self, scope: Scope, *, read_only: bool = False) -> Transaction:
        return scoped(self._pool, scope, role=self._role, read_only=read_only)

    async def _withdraw_some(self, tenant_id: UUID, rule_id: UUID) -> bool:
        brain_scope = brain_of(tenant_id)
        async with self._changing(brain_scope) as connection:
            ids = await brain.copies_of_rule(connection, brain_scope, rule_id, limit=releasing.AT_ONCE)
            copies = await brain.lock_copies(connection, brain_scope, ids)
            self._report(await releasing.withdraw(connection, brain_scope, copies, now=self._now()))
        if ids:
            await self.settle(tenant_id)
        return bool(ids)

    @asynccontextmanager
    async def _changing(self, brain_scope: Scope) -> AsyncIterator[Connection]:
        async with self._scoped(brain_scope) as connection:
            await scopes.lock(connection, brain_scope, now=self._now())
            yield connection

    def _report(self, done: ReleaseCounts) -> None:
        if done:
            self._on_release({"released": done.released, "held": done.held, "withdrawn": done.withdrawn})


async def _release(
    connection: Connection,
    brain_scope: Scope,
    copy: BrainCopy,
    new: tuple[NewMemory, int],
    why: tuple[str, Actor],
    now: datetime,
) -> tuple[BrainCopy, ReleaseCounts]:
    """Release a copy by hand with the trust of the copy that it contradicts. `new` is its memory and the tier of its source."""
    (reason, actor), (memory, own_tier) = why, new
    above = await brain.tiers_of(connection, brain_scope, [copy.held_by]) if copy.held_by else {}
    tier = max(copy.trust_tier, *above.values()) if above else copy.trust_tier
    raised = replace(copy, trust_tier=tier, reason=reason, changed_by=actor.subject, changed_at=now)
    done = await releasing.put(connection, brain_scope, raised, memory, now=now)
    if not done.released:
        raise FailedPrecondition("copy_id", "contradicts another statement that is now trusted more; review it again")
    if tier > own_tier:
        await _promoted(connection, brain_scope.tenant_id, actor, f"copy {copy.copy_id}", (tier, reason), now)
    await releasing.let_compile(connection, brain_scope, now=now)
    return replace(raised, state=CopyState.RELEASED, held_by=""), done


async def _rule(connection: Connection, tenant_id: UUID, rule_id: UUID) -> ReleaseRule:
    rule = await brain.lock_rule(connection, tenant_id, rule_id)
    if rule is None:
        raise NotFound("rule")
    return rule


async def _promoted(
    connection: Connection, tenant_id: UUID, actor: Actor, what: str, raised: tuple[int, str], now: datetime
) -> None:
    """Log in the audit table that a statement is trusted more than its sources, with the reason, in the caller's transaction."""
    reason = "".join(one if one.isprintable() else " " for one in raised[1])
    entry = Entry(
        tenant_id=tenant_id,
        called_at=now,
        role="admin",
        subject=actor.subject,
        token_id=actor.token_id,
        via=actor.via,
        method=PROMOTE,
        about_owner=None,
        object=f"{what} to tier {raised[0]}: {reason}"[:MAX_REASON_CHARS],
        outcome="OK",
    )
    await audit.insert(connection, tenant_id, [entry])
