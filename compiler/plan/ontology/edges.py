"""Which typed edges an ontology lets stand. An edge that is held counts as an untyped reference, and is looked at again when the
ontology or the type of a page changes.
"""

from __future__ import annotations

from compiler.plan.edge_types import EDGE_TYPES, is_edge_type
from compiler.plan.ontology.page_types import HeldReason, PageTyping
from compiler.plan.vocabulary import Vocabulary, is_approved
from store.ontology.terms import RelationshipType


def held_reason(edge_type: str, source: PageTyping, target: PageTyping, known: Vocabulary) -> HeldReason:
    """Return why an edge of a type is held between pages of these types; NONE if it stands.

    A built-in type that the ontology does not name stands between any pages. A page without a type fits every end: nothing
    is known that speaks against it.
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


def proposed_type(name: str, known: Vocabulary | None) -> str:
    """Return the edge type that a planner's word means: a built-in one, the relationship type of this slug, name or alias, else a
    well-formed slug as it is, to be held. Empty for anything else, and without an ontology for anything not built in.
    """
    if known is None or name in EDGE_TYPES:
        return name if name in EDGE_TYPES else ""
    found = known.relationship(name)
    if found is not None:
        return found.slug
    return name if is_edge_type(name) else ""
