"""Decides which typed edges an ontology allows. An edge that it does not allow is held: it counts as an untyped reference, and is
judged again when the ontology or the type of a page changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from compiler.plan.edge_types import EDGE_TYPES, is_edge_type
from compiler.plan.ontology.page_types import HeldReason, PageTyping
from compiler.plan.vocabulary import Vocabulary, is_approved, name_key
from store.ontology.terms import Cardinality, RelationshipType

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_ONE_TARGET = frozenset({Cardinality.MANY_TO_ONE, Cardinality.ONE_TO_ONE})
_ONE_SOURCE = frozenset({Cardinality.ONE_TO_MANY, Cardinality.ONE_TO_ONE})


@dataclass(frozen=True, slots=True)
class EdgeClaim:
    """An edge that competes for its ends: `source` and `target` name the pages by sort keys that do not depend on ids.

    It is true from `valid_from` to just before `valid_until`; `said_at` is the time of its latest statement. `is_manual` means
    stated by hand.
    """

    link_id: UUID
    type: str
    source: str
    target: str
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    said_at: datetime | None = None
    is_manual: bool = False

    @property
    def begins(self) -> datetime:
        """The beginning of the edge; if it is unknown and the edge has no end, the time of its statement."""
        return self.valid_from or (self.said_at if self.valid_until is None else None) or _FIRST


def held_reason(edge_type: str, source: PageTyping, target: PageTyping, known: Vocabulary) -> HeldReason:
    """Return why an edge of a type is held between pages of these types; NONE if it is allowed.

    A built-in type that the ontology does not name is allowed between any pages. A page without a type fits every end.
    """
    found = known.relationship(edge_type)
    if found is None:
        return HeldReason.NONE if edge_type in EDGE_TYPES else HeldReason.RELATIONSHIP_NOT_APPROVED
    if not is_approved(found):
        return HeldReason.RELATIONSHIP_DEPRECATED
    return _ends(found, source, target, known)


def _ends(one: RelationshipType, source: PageTyping, target: PageTyping, known: Vocabulary) -> HeldReason:
    if source.slug and one.source_types and not known.is_kind_of(source.slug, one.source_types):
        return HeldReason.SOURCE_TYPE
    if target.slug and one.target_types and not known.is_kind_of(target.slug, one.target_types):
        return HeldReason.TARGET_TYPE
    return HeldReason.NONE


def limited_types(known: Vocabulary) -> frozenset[str]:
    """Return the approved relationship types that allow an end only one edge at a time."""
    every = known.ontology.relationship_types
    return frozenset(one.slug for one in every if is_approved(one) and one.cardinality in _ONE_TARGET | _ONE_SOURCE)


def over_cardinality(claims: Iterable[EdgeClaim], known: Vocabulary) -> set[UUID]:
    """Return the ids of edges that exceed the cardinality of their type at an end; `claims` are all edges of these ends.

    Edges by hand take precedence, then those that began later, then those stated later. Whether an edge is in excess depends
    only on the edges of its own two ends.
    """
    taken: dict[tuple[str, str, str], list[EdgeClaim]] = {}
    over: set[UUID] = set()
    for claim in sorted(claims, key=_precedence):
        found = known.relationship(claim.type)
        for end in _limited_ends(claim, found) if found is not None else ():
            before = taken.setdefault(end, [])
            if any(_clash(claim, other) for other in before):
                over.add(claim.link_id)
            before.append(claim)
    return over


def _precedence(claim: EdgeClaim) -> tuple[bool, float, float, str, str, str]:
    stated_at = claim.said_at or _FIRST
    moments = (-_seconds(claim.begins), -_seconds(stated_at))
    return (not claim.is_manual, *moments, claim.source, claim.target, str(claim.valid_from))


def _seconds(moment: datetime) -> float:
    return (moment - _FIRST).total_seconds()


def _limited_ends(claim: EdgeClaim, one: RelationshipType) -> Iterable[tuple[str, str, str]]:
    """Yield the ends that may have only one edge of the type. A type that is its own inverse has no direction."""
    has_direction = name_key(one.inverse) != name_key(one.name)
    if one.cardinality in _ONE_TARGET:
        yield one.slug, "from" if has_direction else "", claim.source
    if one.cardinality in _ONE_SOURCE:
        yield one.slug, "to" if has_direction else "", claim.target


def _clash(one: EdgeClaim, other: EdgeClaim) -> bool:
    if {one.source, one.target} == {other.source, other.target}:
        return False
    return one.begins < (other.valid_until or _LAST) and other.begins < (one.valid_until or _LAST)


def proposed_type(name: str, known: Vocabulary | None) -> str:
    """Return the edge type that a planner's word means: a built-in type, the relationship type with this slug, name or alias, or
    a well-formed slug unchanged, to be held. Empty for any other word, and without an ontology for all but built-in types.
    """
    if known is None or name in EDGE_TYPES:
        return name if name in EDGE_TYPES else ""
    found = known.relationship(name)
    if found is not None:
        return found.slug
    return name if is_edge_type(name) else ""
