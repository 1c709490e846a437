"""The terms of an ontology: entity types, relationship types, facet templates and external mappings. Pure values.

A slug has 1 to 64 lower-case letters, digits and underscores, and begins with a letter. Terms of one kind are in the order of
their keys, so that equal ontologies are equal values.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Lifecycle(StrEnum):
    """The state of a term. A proposed term is in no version; pages and edges with a deprecated term are held."""

    PROPOSED = "proposed"
    APPROVED = "approved"
    DEPRECATED = "deprecated"


class TermKind(StrEnum):
    """The kind of a term."""

    ENTITY_TYPE = "entity_type"
    RELATIONSHIP_TYPE = "relationship_type"
    FACET_TEMPLATE = "facet_template"
    EXTERNAL_MAPPING = "external_mapping"


class Cardinality(StrEnum):
    """The numbers of targets that a source, and of sources that a target, may have at one time."""

    MANY_TO_MANY = "many_to_many"
    MANY_TO_ONE = "many_to_one"
    ONE_TO_MANY = "one_to_many"
    ONE_TO_ONE = "one_to_one"


class MappingKind(StrEnum):
    """The relation of a term to a term of another vocabulary."""

    EXACT = "exact"
    CLOSE = "close"
    BROAD = "broad"
    NARROW = "narrow"
    RELATED = "related"


@dataclass(frozen=True, slots=True)
class EntityType:
    """A type of entity pages. `broad_type` is the slug of the type that it is a kind of, empty for none; `aliases` are words that
    mean it in texts.
    """

    slug: str
    name: str
    description: str = ""
    broad_type: str = ""
    aliases: tuple[str, ...] = ()
    lifecycle: Lifecycle = Lifecycle.APPROVED

    @property
    def key(self) -> str:
        """Its key among the terms of its kind."""
        return self.slug


@dataclass(frozen=True, slots=True)
class RelationshipType:
    """A type of edges. `source_types` and `target_types` are slugs of entity types, their narrower types included; empty admits
    any. `inverse` is the name read from the target; `aliases` are phrases that mean it in texts.
    """

    slug: str
    name: str
    inverse: str = ""
    source_types: tuple[str, ...] = ()
    target_types: tuple[str, ...] = ()
    cardinality: Cardinality = Cardinality.MANY_TO_MANY
    aliases: tuple[str, ...] = ()
    lifecycle: Lifecycle = Lifecycle.APPROVED

    @property
    def key(self) -> str:
        """Its key among the terms of its kind."""
        return self.slug


@dataclass(frozen=True, slots=True)
class FacetTemplate:
    """A section of an entity type's pages: its slug, heading and position, and its description for a planner."""

    entity_type: str
    slug: str
    heading: str
    position: int = 0
    prompt: str = ""
    guidance: str = ""
    lifecycle: Lifecycle = Lifecycle.APPROVED

    @property
    def key(self) -> str:
        """Its key among the terms of its kind: entity type and slug."""
        return f"{self.entity_type}/{self.slug}"


@dataclass(frozen=True, slots=True)
class ExternalMapping:
    """The URI of a term in another vocabulary. `subject` is the key of the term, whose kind is `subject_kind`."""

    subject_kind: TermKind
    subject: str
    kind: MappingKind
    vocabulary: str
    uri: str
    label: str = ""

    @property
    def key(self) -> str:
        """Its key among the terms of its kind: the subject and the URI."""
        return f"{self.subject_kind.value}:{self.subject}:{self.uri}"


Term = EntityType | RelationshipType | FacetTemplate | ExternalMapping


@dataclass(frozen=True, slots=True)
class Ontology:
    """One version of a tenant's ontology. Version 0 is the empty one of a tenant that has approved none."""

    version: int = 0
    entity_types: tuple[EntityType, ...] = ()
    relationship_types: tuple[RelationshipType, ...] = ()
    facet_templates: tuple[FacetTemplate, ...] = ()
    mappings: tuple[ExternalMapping, ...] = ()

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every term, kind by kind."""
        return (*self.entity_types, *self.relationship_types, *self.facet_templates, *self.mappings)


def kind_of(term: Term) -> TermKind:
    """Return the kind of a term."""
    match term:
        case EntityType():
            return TermKind.ENTITY_TYPE
        case RelationshipType():
            return TermKind.RELATIONSHIP_TYPE
        case FacetTemplate():
            return TermKind.FACET_TEMPLATE
        case ExternalMapping():
            return TermKind.EXTERNAL_MAPPING
