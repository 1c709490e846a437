"""An ontology as it is looked up: its types by every name that means them, and what each is a kind of."""

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
    """An ontology with its names as keys. Of types with one name, an approved one comes first, then one with that slug."""

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
        """Return the entity type that a word or phrase means, whatever its lifecycle; None for none."""
        return self.entities.get(name_key(name))

    def relationship(self, name: str) -> RelationshipType | None:
        """Return the relationship type that a slug or phrase means, whatever its lifecycle; None for none."""
        return self.relationships.get(name_key(name))

    def is_kind_of(self, slug: str, wanted: Iterable[str]) -> bool:
        """Return whether a type is one of the wanted ones or a kind of one."""
        kinds = {slug, *self.broader.get(slug, ())}
        return not kinds.isdisjoint(wanted)

    def edge_types(self) -> tuple[str, ...]:
        """Return the slugs that a planner may write: the built-in ones that are not deprecated, then the approved ones."""
        own = {one.slug: one for one in self.ontology.relationship_types}
        built_in = (name for name in EDGE_TYPES if name not in own or is_approved(own[name]))
        return tuple(dict.fromkeys((*built_in, *sorted(one.slug for one in own.values() if is_approved(one)))))


def vocabulary(ontology: Ontology) -> Vocabulary:
    """Return the ontology ready for look-up."""
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
    """Return the key under which a name of a type is found: `Art_Gallery` and `art gallery` are one."""
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
    """Yield what a type is a kind of, nearest first; a cycle ends at its beginning."""
    seen = {slug}
    while slug in types and len(seen) <= MOST_BROADER:
        slug = types[slug].broad_type
        if not slug or slug in seen:
            return
        seen.add(slug)
        yield slug
