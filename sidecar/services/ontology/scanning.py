"""The suggestion scan: reads a tenant's wikis owner by owner, and proposes terms in one change set.

A rescan adds to the open change set of the previous scan. It changes no item that an operator edited or decided, and proposes
no term that was rejected or is in another open change set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from uuid import UUID, uuid4

from sidecar.services.ontology import changes, page_signals, suggesting, views
from sidecar.services.ontology.drafting import new_item
from sidecar.services.ontology.model_signals import ScanModel
from sidecar.services.ontology.page_signals import SectionSighting
from sidecar.services.ontology.suggesting import SeenText, Sighted, Signal, Suggestion, TermSighting
from sidecar.services.ontology.term_reading import write_term
from sidecar.services.ontology.views import ChangeSetView
from store.db.pacing import in_slices
from store.db.postgres import Pools, enter_owner, scoped, tenant_scoped
from store.db.queries import Connection
from store.ontology import change_sets, evidence, signals, versions
from store.ontology.change_sets import ChangeAction, ChangeItem, ChangeOrigin, ChangeSet, ChangeSetStatus, ItemDecision
from store.ontology.evidence import Example
from store.ontology.signals import OwnerSignals, SignalText
from store.ontology.terms import Ontology
from store.scope import Scope, is_brain
from store.tenancy import tenants
from store.text.texts import fold

MOST_OWNERS = 50
MOST_OF_EACH = 300
MOST_REJECTED = 100
"""The maximum number of rejected items that the scan's open change set still shows. Older ones are not proposed again either."""
TITLE = "What the memories suggest"
_SCAN = "scan"

Examples = Mapping[UUID, Sequence[TermSighting]]
"""The sightings of items, by item."""


@dataclass(slots=True)
class ScanReport:
    """The result of a scan; `change_set` is None if nothing is or was proposed."""

    change_set: ChangeSetView | None = None
    new_items: int = 0
    known_items: int = 0
    rejected_items: int = 0
    owners: int = 0
    looked_at: Counter[str] = field(default_factory=Counter)


class Scans:
    """Scans tenants' wikis for suggestions: at most 50 owners, and of each at most 300 memories, pages, waiting names and edges.

    `model` opens the optional model of a scan; it may yield None.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        model: Callable[[], AbstractAsyncContextManager[ScanModel | None]] = nullcontext,
    ) -> None:
        self._pool = pools.background
        self._now = now
        self._model = model

    async def scan(self, tenant_id: UUID) -> ScanReport:
        """Scan a tenant, and return the counts and the change set."""
        async with self._model() as model:
            return await self._scan(tenant_id, model)

    async def _scan(self, tenant_id: UUID, model: ScanModel | None) -> ScanReport:
        report = ScanReport()
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            there = await versions.owners_with_wikis(connection, tenant_id, limit=MOST_OWNERS + 1)
        owner_ids = [one for one in there if not is_brain(one)][
            :MOST_OWNERS
        ]  # the Brain only has copies of these memories
        found: list[Sighted] = []
        page_counts = Counter[str]()
        for owner_id in owner_ids:
            scope = Scope(tenant_id, owner_id)
            async with scoped(self._pool, scope, read_only=True) as connection:
                seen = await signals.read(connection, scope, limit=MOST_OF_EACH)
            report.owners += 1
            counts = {"memories": seen.texts, "pages": seen.titles, "waiting_names": seen.waiting, "edges": seen.edges}
            page_counts.update(seen.page_counts)
            report.looked_at.update({name: len(values) for name, values in counts.items()})
            found += await _signals(owner_id, seen)
            if model is not None:
                texts = [_seen(owner_id, one) for one in seen.texts]
                found += await model.signals(scope, texts)
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=self._now())
            await self._propose(connection, tenant_id, (found, page_counts), report)
        return report

    async def _propose(
        self,
        connection: Connection,
        tenant_id: UUID,
        seen: tuple[Sequence[Sighted], Counter[str]],
        report: ScanReport,
    ) -> None:
        found, page_counts = seen
        wanted = await _still_said(connection, tenant_id, found)
        await versions.lock(connection, tenant_id)
        ontology = await versions.ontology_in_force(connection, tenant_id) or Ontology()
        signals_said = [one for one in wanted if isinstance(one, Signal)]
        sections = [one for one in wanted if isinstance(one, SectionSighting)]
        made = [
            *suggesting.suggestions(signals_said, ontology),
            *page_signals.facet_suggestions(sections, page_counts, ontology),
        ]
        suggested = {_fingerprint(one): one for one in made}
        open_id = await change_sets.open_of(connection, tenant_id, ChangeOrigin.SCAN)
        rejected = await change_sets.rejected_among(connection, tenant_id, list(suggested))
        elsewhere = await change_sets.open_elsewhere(connection, tenant_id, open_id or UUID(int=0))
        report.rejected_items = len(rejected)
        wanted_prints = [one for one in suggested if one not in rejected and one not in elsewhere]
        if open_id is not None:
            await change_sets.drop_rejected(connection, tenant_id, open_id, keep=MOST_REJECTED)
            await _drop_overtaken(connection, tenant_id, open_id, ontology, suggested)
        there = {one.fingerprint: one for one in await _items(connection, tenant_id, open_id)}
        report.known_items = sum(1 for one in wanted_prints if one in there)
        if open_id is None and wanted_prints:
            open_id = uuid4()
            opened = ChangeSet(open_id, ChangeOrigin.SCAN, TITLE, ChangeSetStatus.OPEN, 1, _SCAN, self._now())
            await change_sets.insert(connection, tenant_id, opened)
        if open_id is None:
            return
        examples = await self._write(connection, tenant_id, open_id, (there, suggested, wanted_prints), report)
        await _write_examples(connection, tenant_id, examples)
        known = await change_sets.get(connection, tenant_id, open_id)
        assert known is not None, "the change set was just written"
        report.change_set = await views.view(connection, tenant_id, known)

    async def _write(
        self,
        connection: Connection,
        tenant_id: UUID,
        open_id: UUID,
        found: tuple[Mapping[str, ChangeItem], Mapping[str, Suggestion], Sequence[str]],
        report: ScanReport,
    ) -> Examples:
        """Write new items, update existing ones, and return the sightings of all written items."""
        there, suggested, prints = found
        start = 1 + max((one.position for one in there.values()), default=-1)
        examples: dict[UUID, Sequence[TermSighting]] = {}
        new: list[ChangeItem] = []
        for fingerprint in prints:
            suggestion = suggested[fingerprint]
            if fingerprint in there:
                item = _item(suggestion, there[fingerprint])
                if await change_sets.refresh_item(connection, tenant_id, item):
                    examples[item.item_id] = suggestion.sightings
            elif len(there) + len(new) < changes.MAX_ITEMS:
                item = replace(_item(suggestion), position=start + len(new))
                examples[item.item_id] = suggestion.sightings
                new.append(item)
        await change_sets.add_items(connection, tenant_id, open_id, new)
        if there and new:
            await change_sets.touch(connection, tenant_id, open_id)
        report.new_items = len(new)
        return examples


async def _signals(owner_id: UUID, seen: OwnerSignals) -> list[Sighted]:
    """Return the signals of one owner, read off the event loop."""
    names = suggesting.names_pattern((*seen.titles, *seen.waiting))
    waiting = frozenset(map(fold, seen.waiting))
    stated = (
        suggesting.edge_signal(
            SeenText(owner_id, one.memory_id, one.text, one.occurred_at), one.edge_type, one.source, one.target
        )
        for one in seen.edges
    )
    shown = (page_signals.page_signal(owner_id, one) for one in seen.pages)
    parts = (page_signals.section_sighting(owner_id, one) for one in seen.sections)
    found: list[Sighted] = [one for one in (*stated, *shown, *parts) if one is not None]
    if names is None:
        return found
    texts = [_seen(owner_id, one) for one in seen.texts]
    read = await in_slices(
        lambda some: [suggesting.signals(one, names, waiting) for one in some], texts, lambda one: len(one.text)
    )
    return [*found, *(signal for signals_of_text in read for signal in signals_of_text)]


def _seen(owner_id: UUID, one: SignalText) -> SeenText:
    return SeenText(owner_id, one.memory_id, one.text, one.occurred_at)


async def _still_said(connection: Connection, tenant_id: UUID, sightings: Sequence[Sighted]) -> list[Sighted]:
    """Return the signals whose memories still contain the quotation, and lock these memories until the transaction ends."""
    by_owner: dict[UUID, list[Sighted]] = defaultdict(list)
    for one in sightings:
        by_owner[one.sighting.owner_id].append(one)
    unchanged: list[Sighted] = []
    for owner_id in sorted(by_owner):
        await enter_owner(connection, owner_id)
        quotes = [(one.sighting.memory_id, one.sighting.quote) for one in by_owner[owner_id]]
        held = await evidence.hold_quotes(connection, Scope(tenant_id, owner_id), quotes)
        unchanged += [one for place, one in enumerate(by_owner[owner_id]) if place in held]
    return unchanged


async def _write_examples(connection: Connection, tenant_id: UUID, examples: Examples) -> None:
    """Replace the evidence of items."""
    item_ids = sorted(examples)
    by_owner: dict[UUID, list[Example]] = defaultdict(list)
    for owner_id in await evidence.owners_of(connection, tenant_id, item_ids):
        by_owner[owner_id] = []
        await enter_owner(connection, owner_id)
        await evidence.replace(connection, Scope(tenant_id, owner_id), item_ids, [])
    for item_id in item_ids:
        for place, one in enumerate(examples[item_id]):
            where = (one.memory_id, one.source, one.label, one.quote, one.said_at)
            by_owner[one.owner_id].append(Example(one.owner_id, item_id, place + 1, *where))
    for owner_id in sorted(by_owner):
        await enter_owner(connection, owner_id)
        await evidence.replace(connection, Scope(tenant_id, owner_id), item_ids, by_owner[owner_id])


async def _drop_overtaken(
    connection: Connection, tenant_id: UUID, open_id: UUID, ontology: Ontology, suggested: Collection[str]
) -> None:
    """Delete undecided proposals that no longer apply to the ontology in force: the set could not be approved with them."""
    items = await change_sets.items(connection, tenant_id, open_id)
    pending = [one for one in items if one.decision is ItemDecision.PENDING and one.fingerprint not in suggested]
    gone = [one.item_id for one in pending if views.problem_of(ontology, [one])]
    if gone and await change_sets.drop_items(connection, tenant_id, gone):
        await change_sets.touch(connection, tenant_id, open_id)


async def _items(connection: Connection, tenant_id: UUID, open_id: UUID | None) -> list[ChangeItem]:
    return [] if open_id is None else await change_sets.items(connection, tenant_id, open_id)


def _item(suggestion: Suggestion, there: ChangeItem | None = None) -> ChangeItem:
    """Return the item of a suggestion: a new one, or the existing one updated."""
    item = there or new_item(ChangeAction.CREATE, suggestion.term, None, ChangeOrigin.SCAN)
    return replace(
        item,
        proposed=write_term(suggestion.term),
        rationale=suggestion.rationale,
        confidence=suggestion.confidence,
        frequency=suggestion.frequency,
    )


def _fingerprint(suggestion: Suggestion) -> str:
    return changes.fingerprint(ChangeAction.CREATE, suggestion.term)
