"""A change set for review: its items with evidence and differences, the validity of the whole set, and its impact."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology import changes
from sidecar.services.ontology.changes import TermChange, TermDifference
from sidecar.services.ontology.term_reading import read_term
from store.db.postgres import enter_owner
from store.db.queries import Connection
from store.ontology import change_sets, evidence, versions
from store.ontology.change_sets import ChangeItem, ChangeSet, ChangeSetStatus, ItemDecision
from store.ontology.evidence import Example
from store.ontology.terms import EntityType, FacetTemplate, Ontology, RelationshipType, Term
from store.scope import Scope
from store.text.texts import fold


@dataclass(frozen=True, slots=True)
class ItemView:
    """An item with its change to the version in force, its evidence, and the present use of its term."""

    item: ChangeItem
    difference: TermDifference
    evidence: tuple[Example, ...]
    uses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ChangeSetView:
    """A change set for review. `problem` is the reason why it cannot be approved now; empty if it can be, or has ended.

    `impact` has the effects of its approval; empty if it was not requested, or the set has ended or cannot be approved.
    """

    change_set: ChangeSet
    items: tuple[ItemView, ...]
    base_version: int
    problem: str
    impact: Mapping[str, int]

    @property
    def kept(self) -> list[ChangeItem]:
        """The items that an approval would apply."""
        return [one.item for one in self.items if one.item.decision is not ItemDecision.REJECTED]


async def view(connection: Connection, tenant_id: UUID, change_set: ChangeSet) -> ChangeSetView:
    """Return a change set for review. The transaction enters the scopes of the owners whose memories are quoted."""
    base = await versions.at_version(connection, tenant_id, await versions.newest(connection, tenant_id)) or Ontology()
    items = await change_sets.items(connection, tenant_id, change_set.change_set_id)
    uses = await use_of(connection, tenant_id, items)
    quoted = await _evidence(connection, tenant_id, items)
    is_open = change_set.status is ChangeSetStatus.OPEN
    item_views = tuple(
        ItemView(one, _difference(base, one), tuple(quoted[one.item_id]), uses.get(one.item_id, {})) for one in items
    )
    kept = [one for one in items if one.decision is not ItemDecision.REJECTED]
    return ChangeSetView(change_set, item_views, base.version, problem_of(base, kept) if is_open else "", {})


def changes_of(items: Iterable[ChangeItem]) -> list[TermChange]:
    """Return the items as changes, named by their positions in the change set."""
    return [TermChange(one.action, term_of(one), f"items[{one.position}]", one.before) for one in items]


def term_of(item: ChangeItem) -> Term:
    """Return the term that an item would apply."""
    return read_term(item.subject_kind, item.value, field=f"items[{item.position}]")


def fingerprint_of(item: ChangeItem) -> str:
    """Return the fingerprint of the term that an item would apply."""
    return changes.fingerprint(item.action, term_of(item))


def problem_of(base: Ontology, items: Sequence[ChangeItem]) -> str:
    """Return the reason why the items cannot be applied; empty if they can."""
    try:
        changes.apply(base, changes_of(items))
    except InvalidArgument as error:
        return str(error)
    return ""


async def use_of(connection: Connection, tenant_id: UUID, items: Sequence[ChangeItem]) -> dict[UUID, Mapping[str, int]]:
    """Return, by item, the numbers of pages, sections and edges of all owners that use its term."""
    words = {one.item_id: _words(term_of(one)) for one in items}
    words_by_kind: dict[str, set[str]] = defaultdict(set)
    for pairs in words.values():
        for kind, word in pairs:
            words_by_kind[kind].add(word)
    found = await change_sets.use_of(
        connection,
        tenant_id,
        names=sorted(words_by_kind["page"]),
        sections=sorted(words_by_kind["section"]),
        edge_types=sorted(words_by_kind["edge"]),
    )
    counts = {(one.kind, one.name): one.use_count for one in found}
    return {item_id: _summed(pairs, counts) for item_id, pairs in words.items()}


def _summed(pairs: Iterable[tuple[str, str]], counts: Mapping[tuple[str, str], int]) -> dict[str, int]:
    sums: dict[str, int] = defaultdict(int)
    for kind, word in pairs:
        sums[f"{kind}s"] += counts.get((kind, word), 0)
    return dict(sums)


def _words(term: Term) -> list[tuple[str, str]]:
    match term:
        case EntityType():
            names = (term.slug.replace("_", " "), term.name, *term.aliases)
            return [("page", word) for word in dict.fromkeys(map(fold, names))]
        case RelationshipType():
            return [("edge", term.slug)]
        case FacetTemplate():
            return [("section", term.slug)]
        case _:
            return []


def _difference(base: Ontology, item: ChangeItem) -> TermDifference:
    term = term_of(item)
    before = changes.find(base, item.subject_kind, term.key)
    match item.action.value:
        case "remove":
            return changes.difference(before or term, None)
        case "deprecate":
            after = changes.deprecated(term)
            return changes.difference(before or term, after)
    return changes.difference(before, term)


async def _evidence(
    connection: Connection, tenant_id: UUID, items: Sequence[ChangeItem]
) -> defaultdict[UUID, list[Example]]:
    """Return the evidence of items, read owner by owner under each owner's own row security."""
    item_ids = [one.item_id for one in items]
    evidence_by_item: defaultdict[UUID, list[Example]] = defaultdict(list)
    for owner_id in await evidence.owners_of(connection, tenant_id, item_ids):
        await enter_owner(connection, owner_id)
        for one in await evidence.listed(connection, Scope(tenant_id, owner_id), item_ids):
            evidence_by_item[one.item_id].append(one)
    for examples in evidence_by_item.values():
        examples.sort(key=lambda one: one.position)
    return evidence_by_item
