"""Lookup tables of an ontology: its types by name, the broader types of each, and its facets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from compiler.plan.edge_types import EDGE_TYPES
from compiler.plan.text.markdown import plain_key
from store.ontology.terms import EntityType, FacetTemplate, Lifecycle, Ontology, RelationshipType

_Named = TypeVar("_Named", EntityType, RelationshipType)

MOST_BROADER = 16


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """An ontology with lookup tables by name key. Of types with the same name, approved ones win, then the one with that slug.

    `broader` has the broader types of each entity type, nearest first; `facets` the approved facet templates of each.
    """

    ontology: Ontology
    entities: Mapping[str, EntityType] = field(default_factory=dict)
    relationships: Mapping[str, RelationshipType] = field(default_factory=dict)
    broader: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    facets: Mapping[str, tuple[FacetTemplate, ...]] = field(default_factory=dict)

    @property
    def version(self) -> int:
        """The ontology's version."""
        return self.ontology.version

    def entity(self, name: str) -> EntityType | None:
        """Return the entity type with this slug, name or alias, in any lifecycle; None if there is none."""
        return self.entities.get(name_key(name))

    def relationship(self, name: str) -> RelationshipType | None:
        """Return the relationship type with this slug, name or alias, in any lifecycle; None if there is none."""
        return self.relationships.get(name_key(name))

    def is_kind_of(self, slug: str, wanted: Iterable[str]) -> bool:
        """Return whether a type is one of the wanted types or a subtype of one."""
        kinds = {slug, *self.broader.get(slug, ())}
        return not kinds.isdisjoint(wanted)

    def edge_types(self) -> tuple[str, ...]:
        """Return the edge types that a planner may write: first the built-in ones that the ontology does not withhold."""
        by_slug = {one.slug: one for one in self.ontology.relationship_types}
        built_in = (name for name in EDGE_TYPES if name not in by_slug or is_approved(by_slug[name]))
        return tuple(dict.fromkeys((*built_in, *sorted(one.slug for one in by_slug.values() if is_approved(one)))))


def vocabulary(ontology: Ontology) -> Vocabulary:
    """Return the ontology with its lookup tables."""
    types = {one.slug: one for one in ontology.entity_types}
    facets: dict[str, list[FacetTemplate]] = {}
    for template in sorted(ontology.facet_templates, key=lambda one: (one.position, one.slug)):
        if is_approved(template):
            facets.setdefault(template.entity_type, []).append(template)
    return Vocabulary(
        ontology,
        _by_name(ontology.entity_types),
        _by_name(ontology.relationship_types),
        {slug: tuple(_broader(slug, types)) for slug in types},
        {slug: tuple(found) for slug, found in facets.items()},
    )


def name_key(name: str) -> str:
    """Return the lookup key of a type's name: `Art_Gallery` and `art gallery` have the same one."""
    return plain_key(name.replace("_", " "))


def is_approved(term: EntityType | RelationshipType | FacetTemplate) -> bool:
    """Return whether a term may shape pages and edges."""
    return term.lifecycle is Lifecycle.APPROVED


def _by_name(types: Iterable[_Named]) -> dict[str, _Named]:
    ordered = sorted(types, key=lambda one: (not is_approved(one), one.slug))
    found: dict[str, _Named] = {}
    for approved in (True, False):
        some = [one for one in ordered if is_approved(one) is approved]
        for names in ([(one.slug,) for one in some], [(one.name,) for one in some], [one.aliases for one in some]):
            for one, called in zip(some, names, strict=True):
                for name in called:
                    found.setdefault(name_key(name), one)
    found.pop("", None)
    return found


def _broader(slug: str, types: Mapping[str, EntityType]) -> Iterator[str]:
    """Yield the broader types of a type, nearest first, at most MOST_BROADER; a cycle ends where it began."""
    seen = {slug}
    while slug in types and len(seen) <= MOST_BROADER:
        slug = types[slug].broad_type
        if not slug or slug in seen:
            return
        seen.add(slug)
        yield slug
