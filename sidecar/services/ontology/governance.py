"""The life cycle of a tenant's ontology: changes are drafted, reviewed one by one, and approved as the next version, or rejected.

Every operation is one transaction that locks the tenant's ontology. Its result is read in another transaction, because a
distributed database refuses to count the use of terms in a transaction that wrote. `changes` decides validity.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID, uuid4

from compiler.job import reprocess
from sidecar.runtime.errors import FailedPrecondition, InvalidArgument, NotFound
from sidecar.services.ontology import changes, drafting, exchange, impact, views
from sidecar.services.ontology.drafting import WantedChange
from sidecar.services.ontology.exchange import ExchangeFormat
from sidecar.services.ontology.term_reading import choice, merged
from sidecar.services.ontology.views import ChangeSetView
from sidecar.services.validation import read_text
from store.db.postgres import Pools, tenant_scoped
from store.db.queries import Connection
from store.errors import VersionConflict
from store.ontology import change_sets, reprocess_jobs, versions
from store.ontology.change_sets import (
    ChangeItem,
    ChangeOrigin,
    ChangeSet,
    ChangeSetEnding,
    ChangeSetStatus,
    ItemDecision,
    ItemRuling,
)
from store.ontology.reprocess_jobs import ReprocessJob, ReprocessWish
from store.ontology.terms import Ontology
from store.ontology.versions import OntologyVersion
from store.tenancy import tenants

MAX_TITLE_CHARS = 200
MAX_VERSION = 2**31 - 1
MAX_SET_ITEMS = 1_000
"""The maximum number of items in a change set, including rejected ones."""


@dataclass(frozen=True, slots=True)
class ChangeSetLine:
    """A change set in a list, with the number of its items by decision."""

    change_set: ChangeSet
    pending_count: int
    accepted_count: int
    rejected_count: int


class Governance:
    """Manages tenants' ontologies. With `has_four_eyes`, an admin that drafted or edited a change set may not approve it."""

    def __init__(
        self, pools: Pools, *, now: Callable[[], datetime], has_four_eyes: bool = False, most_items: int = MAX_SET_ITEMS
    ) -> None:
        self._pool = pools.background
        self._most_items = most_items
        self._now = now
        self.has_four_eyes = has_four_eyes

    async def ontology(self, tenant_id: UUID, version: int = 0) -> Ontology:
        """Return the ontology of a version, for 0 the one in force, which is empty if none was approved. Raises NotFound."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await _ontology(connection, tenant_id, version)

    async def compare(self, tenant_id: UUID, before: int | None, after: int) -> tuple[changes.TermDifference, ...]:
        """Return the differences of two versions; 0 is the version in force, None an empty one. Raises NotFound."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            old = Ontology() if before is None else await _ontology(connection, tenant_id, before)
            new = await _ontology(connection, tenant_id, after)
        return changes.differences(old, new)

    async def history(self, tenant_id: UUID, *, limit: int, before: int = MAX_VERSION) -> list[OntologyVersion]:
        """Return a page of the versions below `before`, newest first."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await versions.history(connection, tenant_id, limit=limit, before=before)

    async def jobs(
        self, tenant_id: UUID, *, limit: int, after: tuple[datetime, UUID] | None = None
    ) -> list[ReprocessJob]:
        """Return a page of the reprocess jobs, newest first."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await reprocess_jobs.page(connection, tenant_id, limit=limit, after=after)

    async def listed(
        self, tenant_id: UUID, *, limit: int, status: str = "", after: tuple[datetime, UUID] | None = None
    ) -> list[ChangeSetLine]:
        """Return a page of the change sets, newest first; only of `status` if set. Raises InvalidArgument."""
        if status:
            choice("status", status, ChangeSetStatus)
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            found = await change_sets.page(connection, tenant_id, limit=limit, status=status, after=after)
            counts = await change_sets.item_counts(connection, tenant_id, [one.change_set_id for one in found])
        return [
            ChangeSetLine(one, *(counts.get((one.change_set_id, decision.value), 0) for decision in ItemDecision))
            for one in found
        ]

    async def view(self, tenant_id: UUID, change_set_id: UUID) -> ChangeSetView:
        """Return a change set with its items, their evidence and differences, and its impact. Raises NotFound."""
        return await self._with_impact(tenant_id, await self._view(tenant_id, change_set_id))

    async def _view(self, tenant_id: UUID, change_set_id: UUID) -> ChangeSetView:
        """Return a change set for review, without its impact. Raises NotFound."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await views.view(connection, tenant_id, await _get(connection, tenant_id, change_set_id))

    async def _with_impact(self, tenant_id: UUID, found: ChangeSetView) -> ChangeSetView:
        """Return a change set for review with the impact of its approval, from a dry run of the typing."""
        if found.change_set.status is not ChangeSetStatus.OPEN or found.problem or not found.kept:
            return found
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            base = await _ontology(connection, tenant_id)
        if base.version != found.base_version:
            return found
        made = changes.apply(base, views.changes_of(found.kept))
        return replace(found, impact=await impact.dry_run(self._pool, tenant_id, made))

    async def draft(
        self,
        tenant_id: UUID,
        title: str,
        wanted: Sequence[WantedChange],
        *,
        author: str,
        change_set_id: UUID | None = None,
    ) -> ChangeSetView:
        """Draft changes, in a new change set or an open one, and return it. Raises InvalidArgument, NotFound."""
        if not wanted or len(wanted) > changes.MAX_ITEMS:
            raise InvalidArgument("changes", f"has {len(wanted)} entries", f"send 1 to {changes.MAX_ITEMS}")
        if change_set_id is None:
            read_text("title", title, min_chars=1, max_chars=MAX_TITLE_CHARS)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            base = await _ontology(connection, tenant_id)
            items = [drafting.item(base, one, f"changes[{place}]") for place, one in enumerate(wanted)]
            if change_set_id is None:
                made = self._new_set(ChangeOrigin.OPERATOR, title.strip(), author)
                await change_sets.insert(connection, tenant_id, made)
            else:
                made = await _open(connection, tenant_id, change_set_id)
                if author != made.drafted_by:
                    items = [replace(one, edited_by=author, editors=(author,)) for one in items]
            await self._add(connection, tenant_id, made, items, base)
        return await self.view(tenant_id, made.change_set_id)

    async def draft_seed(self, tenant_id: UUID) -> ChangeSetView:
        """Propose the terms of the packaged ontology that the tenant lacks; a repeat returns the same change set.

        Raises FailedPrecondition if the tenant has all of it.
        """
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            drafted_id = await change_sets.open_of(connection, tenant_id, ChangeOrigin.SEED)
            if drafted_id is None:
                made = self._new_set(ChangeOrigin.SEED, "The ontology that comes with the sidecar", "seed")
                await self._draft_terms(connection, tenant_id, made, exchange.seed())
                drafted_id = made.change_set_id
        return await self.view(tenant_id, drafted_id)

    async def import_text(self, tenant_id: UUID, text: str, *, author: str) -> ChangeSetView:
        """Draft the terms of an exported ontology that the one in force lacks or has otherwise. Terms that the text lacks stay.

        Raises InvalidArgument, and FailedPrecondition if nothing differs.
        """
        imported = exchange.read(text)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            made = self._new_set(ChangeOrigin.IMPORT, "An imported ontology", author)
            await self._draft_terms(connection, tenant_id, made, imported)
        return await self.view(tenant_id, made.change_set_id)

    async def export_text(self, tenant_id: UUID, version: int = 0, form: str = "json") -> str:
        """Return a version, or for 0 the one in force, as text (`json` or `jsonld`). Raises NotFound, InvalidArgument."""
        wanted = choice("format", form or ExchangeFormat.JSON.value, ExchangeFormat)
        return exchange.write(await self.ontology(tenant_id, version), wanted)

    async def rule(
        self, tenant_id: UUID, change_set_id: UUID, ruling: ItemRuling, *, author: str, revision: int = 0
    ) -> ChangeSetView:
        """Accept, reject or edit an item of an open change set. No scan proposes a rejected item again.

        An edit is merged into the item's term. With a revision above 0, raises VersionConflict if the set has changed since. The
        same ruling by the same author again changes nothing. Also raises NotFound, InvalidArgument, FailedPrecondition.
        """
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            opened = await _open(connection, tenant_id, change_set_id)
            items = await change_sets.items(connection, tenant_id, change_set_id)
            item = next((one for one in items if one.item_id == ruling.item_id), None)
            if item is None:
                raise NotFound("item of the change set")
            if ruling.edited is not None:
                ruling = replace(ruling, edited=merged(item.subject_kind, item.value, ruling.edited, field="edited"))
            if not _is_ruled(item, ruling, author):
                _check_open(opened, revision)
                if ruling.edited is not None:
                    edited = [replace(one, edited=ruling.edited) if one is item else one for one in items]
                    changes.check_distinct(views.changes_of(edited))
                await change_sets.rule(connection, tenant_id, change_set_id, ruling, author=author)
                if ruling.decision is ItemDecision.REJECTED:
                    now = self._now()
                    await change_sets.reject_fingerprints(
                        connection, tenant_id, [item.fingerprint], author=author, now=now
                    )
                else:
                    await change_sets.allow_fingerprints(connection, tenant_id, [item.fingerprint])
                await change_sets.touch(connection, tenant_id, change_set_id)
        return await self._view(tenant_id, change_set_id)

    async def approve(self, tenant_id: UUID, change_set_id: UUID, *, author: str, revision: int = 0) -> OntologyVersion:
        """Make the next version from the items that were not rejected, and queue the reprocess. A repeat returns that version.

        Raises NotFound, InvalidArgument for an item that does not apply, VersionConflict if the set has changed since `revision`,
        and FailedPrecondition for a set that another admin approved or rejected, or that the caller may not approve.
        """
        seen = await self.view(tenant_id, change_set_id)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            known = await _get(connection, tenant_id, change_set_id)
            if known.status is ChangeSetStatus.APPROVED and known.decided_by == author:
                return await _version(connection, tenant_id, known.applied_version or 0)
            _check_open(known, revision)
            items = [
                one
                for one in await change_sets.items(connection, tenant_id, change_set_id)
                if one.decision is not ItemDecision.REJECTED
            ]
            if not items:
                raise FailedPrecondition(f"change set {change_set_id}", "has no item to approve: accept one first")
            self._check_eyes(known, items, author)
            base = await _ontology(connection, tenant_id)
            made = changes.apply(base, views.changes_of(items))
            counts = seen.impact if seen.change_set.revision == known.revision else {}
            return await self._apply(connection, tenant_id, (known, items), (base, made), author=author, counts=counts)

    async def reject(self, tenant_id: UUID, change_set_id: UUID, *, author: str) -> ChangeSetView:
        """Reject an open change set; no scan proposes its items again. A repeat changes nothing.

        Raises NotFound, and FailedPrecondition for an approved set.
        """
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            known = await _get(connection, tenant_id, change_set_id)
            if known.status is not ChangeSetStatus.REJECTED:
                _check_open(known)
                items = await change_sets.items(connection, tenant_id, change_set_id)
                prints, now = [one.fingerprint for one in items], self._now()
                await change_sets.reject_fingerprints(connection, tenant_id, prints, author=author, now=now)
                ending = ChangeSetEnding(ChangeSetStatus.REJECTED, author, now)
                await change_sets.close(connection, tenant_id, change_set_id, ending)
        return await self._view(tenant_id, change_set_id)

    async def roll_back(self, tenant_id: UUID, version: int, *, author: str) -> OntologyVersion:
        """Make a new version equal to an older one (empty for 0), and queue the reprocess. A repeat returns the same version.

        Raises NotFound, and FailedPrecondition for the version in force.
        """
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await self._hold(connection, tenant_id)
            newest = await versions.newest(connection, tenant_id)
            if version == newest:
                raise FailedPrecondition(f"version {version}", "is in force already")
            wanted = Ontology() if version == 0 else await _ontology(connection, tenant_id, version)
            in_force = await _version(connection, tenant_id, newest)
            if in_force.change_set_id is None and (in_force.restores or 0) == version:
                return in_force
            made = OntologyVersion(newest + 1, author, self._now(), restores=version or None)
            await versions.write(connection, tenant_id, made, replace(wanted, version=made.version))
            wish = ReprocessWish(newest, made.version)
            await reprocess_jobs.queue_reprocess(connection, tenant_id, wish, now=made.created_at)
            await reprocess.wake(connection, tenant_id, now=made.created_at)
            return made

    async def _apply(
        self,
        connection: Connection,
        tenant_id: UUID,
        approved: tuple[ChangeSet, Sequence[ChangeItem]],
        between: tuple[Ontology, Ontology],
        *,
        author: str,
        counts: Mapping[str, int],
    ) -> OntologyVersion:
        (known, items), (base, ontology), now = approved, between, self._now()
        made = OntologyVersion(ontology.version, author, now, known.change_set_id)
        await versions.write(connection, tenant_id, made, ontology)
        await change_sets.accept_pending(connection, tenant_id, known.change_set_id, author=author)
        # A term that was approved under another key must not be proposed again under its original key.
        renamed = [one.fingerprint for one in items if one.fingerprint != views.fingerprint_of(one)]
        await change_sets.reject_fingerprints(connection, tenant_id, renamed, author=author, now=now)
        ending = ChangeSetEnding(ChangeSetStatus.APPROVED, author, now, made.version)
        await change_sets.close(connection, tenant_id, known.change_set_id, ending)
        wish = ReprocessWish(base.version, made.version, known.change_set_id, counts)
        await reprocess_jobs.queue_reprocess(connection, tenant_id, wish, now=now)
        await reprocess.wake(connection, tenant_id, now=now)
        return made

    async def _draft_terms(self, connection: Connection, tenant_id: UUID, made: ChangeSet, proposed: Ontology) -> None:
        base = await _ontology(connection, tenant_id)
        items = drafting.items_of(base, proposed, made.origin)
        if not items:
            raise FailedPrecondition("the ontology", "has all of these terms as they are: there is nothing to draft")
        await change_sets.insert(connection, tenant_id, made)
        await self._add(connection, tenant_id, made, items, base)

    async def _add(
        self, connection: Connection, tenant_id: UUID, made: ChangeSet, new: Sequence[ChangeItem], base: Ontology
    ) -> None:
        """Add items to an open change set, if the whole set is then valid."""
        there = await change_sets.items(connection, tenant_id, made.change_set_id)
        if len(there) + len(new) > self._most_items:
            problem = f"would give the change set {len(there) + len(new)} items, including rejected ones"
            raise InvalidArgument("items", problem, f"keep at most {self._most_items}, or draft another change set")
        start = 1 + max((one.position for one in there), default=-1)
        placed = [replace(one, position=start + place) for place, one in enumerate(new)]
        kept = [one for one in there if one.decision is not ItemDecision.REJECTED]
        drafted = [replace(change, field=f"items[{place}]") for place, change in enumerate(views.changes_of(placed))]
        changes.apply(base, [*views.changes_of(kept), *drafted] if kept else drafted)
        if taken := {one.fingerprint for one in there} & {one.fingerprint for one in placed}:
            place = next(place for place, one in enumerate(placed) if one.fingerprint in taken)
            problem = "changes a term for which an item of the change set was rejected"
            raise InvalidArgument(f"items[{place}]", problem, "accept or edit that item")
        await change_sets.add_items(connection, tenant_id, made.change_set_id, placed)
        if there:
            await change_sets.touch(connection, tenant_id, made.change_set_id)

    async def _hold(self, connection: Connection, tenant_id: UUID) -> None:
        await tenants.ensure_tenant(connection, tenant_id, now=self._now())
        await versions.lock(connection, tenant_id)

    def _new_set(self, origin: ChangeOrigin, title: str, author: str) -> ChangeSet:
        return ChangeSet(uuid4(), origin, title, ChangeSetStatus.OPEN, 1, author, self._now())

    def _check_eyes(self, known: ChangeSet, items: Sequence[ChangeItem], author: str) -> None:
        if self.has_four_eyes and author in {known.drafted_by, *(name for one in items for name in one.editors)}:
            problem = f"was drafted or edited by {author}: another admin has to approve it (SIDECAR_ONTOLOGY_FOUR_EYES)"
            raise FailedPrecondition(f"change set {known.change_set_id}", problem)


async def _ontology(connection: Connection, tenant_id: UUID, version: int = 0) -> Ontology:
    if version:
        found = await versions.at_version(connection, tenant_id, version)
        if found is None:
            raise NotFound("version of the ontology")
        return found
    return await versions.newest_ontology(connection, tenant_id) or Ontology()


async def _version(connection: Connection, tenant_id: UUID, version: int) -> OntologyVersion:
    found = await versions.get(connection, tenant_id, version)
    if found is None:
        raise NotFound("version of the ontology")
    return found


async def _get(connection: Connection, tenant_id: UUID, change_set_id: UUID) -> ChangeSet:
    found = await change_sets.get(connection, tenant_id, change_set_id)
    if found is None:
        raise NotFound("change set")
    return found


async def _open(connection: Connection, tenant_id: UUID, change_set_id: UUID, *, revision: int = 0) -> ChangeSet:
    found = await _get(connection, tenant_id, change_set_id)
    _check_open(found, revision)
    return found


def _is_ruled(item: ChangeItem, ruling: ItemRuling, author: str) -> bool:
    """Return whether the author has already ruled so."""
    is_decided = (item.decision, item.decided_by) == (ruling.decision, author)
    return is_decided and (ruling.edited is None or (item.edited, item.edited_by) == (ruling.edited, author))


def _check_open(known: ChangeSet, revision: int = 0) -> None:
    if known.status is not ChangeSetStatus.OPEN:
        made = f" as version {known.applied_version}" if known.applied_version else ""
        problem = f"was {known.status.value} by {known.decided_by}{made}: draft another"
        raise FailedPrecondition(f"change set {known.change_set_id}", problem)
    if revision and revision != known.revision:
        raise VersionConflict(newest_version=known.revision)
