"""Applies changes to an ontology: validity, differences, fingerprints. Pure. One invalid change refuses the whole set."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology.term_reading import write_term
from store.ontology.change_sets import ChangeAction
from store.ontology.terms import (
    EntityType,
    ExternalMapping,
    FacetTemplate,
    Lifecycle,
    Ontology,
    RelationshipType,
    Term,
    TermKind,
    kind_of,
)
from store.text.texts import fold

MAX_ITEMS = 500
"""The maximum number of items in a change set."""

MAX_TERMS: Final[Mapping[TermKind, int]] = {
    TermKind.ENTITY_TYPE: 500,
    TermKind.RELATIONSHIP_TYPE: 500,
    TermKind.FACET_TEMPLATE: 2_000,
    TermKind.EXTERNAL_MAPPING: 2_000,
}
MAX_DEPTH = 12
MAX_FACETS_OF_A_TYPE = 30

Terms = dict[tuple[TermKind, str], Term]


@dataclass(frozen=True, slots=True)
class TermChange:
    """One change of a term. For deprecate and remove, only the term's key is used.

    `field` names the change in errors; `before` is the digest of the term that it was drafted against.
    """

    action: ChangeAction
    term: Term
    field: str = "items[0]"
    before: str | None = None

    @property
    def target(self) -> tuple[TermKind, str]:
        """The kind and key of the changed term."""
        return kind_of(self.term), self.term.key


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field of a term that differs, with its values as JSON; None if the term does not exist."""

    name: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class TermDifference:
    """A term that differs between two ontologies: added, removed, deprecated or changed, with the differing fields."""

    kind: TermKind
    key: str
    change: str
    fields: tuple[FieldDifference, ...]


def digest(term: Term | None) -> str:
    """Return a digest of a term's content, 64 hexadecimal digits; empty for None."""
    if term is None:
        return ""
    written = orjson.dumps([kind_of(term).value, write_term(term)], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(written).hexdigest()


def fingerprint(action: ChangeAction, term: Term) -> str:
    """Return a hash, 64 hexadecimal digits, that depends only on the term's kind and key and the action."""
    named = [kind_of(term).value, action.value, term.key]
    return hashlib.sha256(orjson.dumps(named)).hexdigest()


def find(ontology: Ontology, kind: TermKind, key: str) -> Term | None:
    """Return a term by kind and key, or None."""
    return next((term for term in ontology.terms if term.key == key and kind_of(term) is kind), None)


def deprecated(term: Term) -> Term:
    """Return the term with the lifecycle deprecated; a mapping has no lifecycle and is returned unchanged."""
    return term if isinstance(term, ExternalMapping) else replace(term, lifecycle=Lifecycle.DEPRECATED)


def ontology_of(terms: Iterable[Term], *, version: int) -> Ontology:
    """Return the ontology with these terms, each kind sorted by key."""
    entities: list[EntityType] = []
    relationships: list[RelationshipType] = []
    templates: list[FacetTemplate] = []
    mappings: list[ExternalMapping] = []
    for term in sorted(terms, key=lambda term: term.key):
        match term:
            case EntityType():
                entities.append(term)
            case RelationshipType():
                relationships.append(term)
            case FacetTemplate():
                templates.append(term)
            case ExternalMapping():
                mappings.append(term)
    return Ontology(version, tuple(entities), tuple(relationships), tuple(templates), tuple(mappings))


def check_distinct(changes: Sequence[TermChange]) -> None:
    """Raise InvalidArgument for too many changes, and for two changes of the same term."""
    if len(changes) > MAX_ITEMS:
        raise InvalidArgument("items", f"has {len(changes)} entries", f"send at most {MAX_ITEMS} in one change set")
    seen: dict[tuple[TermKind, str], str] = {}
    for change in changes:
        if change.target in seen:
            problem = f"changes {_called(change.term)}, as {seen[change.target]} does"
            raise InvalidArgument(change.field, problem, "keep one of the two")
        seen[change.target] = change.field


def apply(base: Ontology, changes: Sequence[TermChange]) -> Ontology:
    """Return `base` with the changes applied, as the next version.

    Raises InvalidArgument, naming the change, for a change that does not apply or that makes the ontology invalid.
    """
    check_distinct(changes)
    terms: Terms = {(kind_of(term), term.key): term for term in base.terms}
    for change in changes:
        _apply(terms, change)
    ontology = ontology_of(terms.values(), version=base.version + 1)
    by_target = {change.target: change.field for change in changes}
    for kind, key, problem, fix in problems(ontology):
        raise InvalidArgument(by_target.get((kind, key), "items"), problem, fix)
    return ontology


def _apply(terms: Terms, change: TermChange) -> None:
    known, called = terms.get(change.target), _called(change.term)
    if change.before is not None and digest(known) != change.before:
        problem = f"was drafted against a version of {called} that is no longer in force"
        raise InvalidArgument(change.field, problem, "reject it, and draft the change again")
    if change.action is ChangeAction.CREATE:
        if known is not None:
            raise InvalidArgument(change.field, f"creates {called}, which exists", "send the action update")
        terms[change.target] = change.term
        return
    if known is None:
        raise InvalidArgument(change.field, f"changes {called}, which does not exist", "send the action create")
    if change.action is ChangeAction.UPDATE:
        terms[change.target] = change.term
    elif isinstance(known, ExternalMapping) != (change.action is ChangeAction.REMOVE):
        is_mapping = isinstance(known, ExternalMapping)
        fix = "send the action remove" if is_mapping else "send the action deprecate: pages and edges keep the term"
        raise InvalidArgument(change.field, f"cannot {change.action.value} {called}", fix)
    elif isinstance(known, ExternalMapping):
        del terms[change.target]
    else:
        terms[change.target] = deprecated(known)


def problems(ontology: Ontology) -> Iterator[tuple[TermKind, str, str, str]]:
    """Yield the problems of an ontology: the term's kind and key, the problem, and the fix."""
    yield from _counts(ontology)
    types = {one.slug: one for one in ontology.entity_types}
    yield from _hierarchy(types)
    yield from _endpoints(ontology, types)
    yield from _shared_names(TermKind.ENTITY_TYPE, ontology.entity_types)
    yield from _shared_names(TermKind.RELATIONSHIP_TYPE, ontology.relationship_types)
    yield from _templates(ontology, types)
    yield from _mappings(ontology)


def differences(before: Ontology, after: Ontology) -> tuple[TermDifference, ...]:
    """Return the terms that differ, by kind and key."""
    old = {(kind_of(term), term.key): term for term in before.terms}
    new = {(kind_of(term), term.key): term for term in after.terms}
    order = list(TermKind)
    targets = sorted({*old, *new}, key=lambda target: (order.index(target[0]), target[1]))
    found = ((target, old.get(target), new.get(target)) for target in targets)
    return tuple(difference(one, other) for _, one, other in found if one != other)


def difference(before: Term | None, after: Term | None) -> TermDifference:
    """Return the differences of a term; `before` or `after` is None if the term does not exist there."""
    term = after or before
    assert term is not None, "a term is there before or after"
    old, new = ({} if one is None else write_term(one) for one in (before, after))
    names = [name for name in write_term(term) if old.get(name) != new.get(name)]
    change = "changed"
    if before is None or after is None:
        change = "added" if before is None else "removed"
    elif new.get("lifecycle") == "deprecated" != old.get("lifecycle"):
        change = "deprecated"
    fields = tuple(FieldDifference(name, old.get(name), new.get(name)) for name in names)
    return TermDifference(kind_of(term), term.key, change, fields)


def broader(types: Mapping[str, EntityType], slug: str) -> list[str]:
    """Return the broader types of a type, the nearest first; a cycle is followed once."""
    types_above: list[str] = []
    at = types.get(slug)
    while at is not None and at.broad_type and at.broad_type not in types_above:
        types_above.append(at.broad_type)
        at = types.get(at.broad_type)
    return types_above


def _counts(ontology: Ontology) -> Iterator[tuple[TermKind, str, str, str]]:
    counts = Counter(kind_of(term) for term in ontology.terms)
    for kind, most in MAX_TERMS.items():
        if counts[kind] > most:
            yield kind, "", f"would make {counts[kind]} terms of the kind {kind.value}", f"keep at most {most}"
    for slug, count in Counter(one.entity_type for one in ontology.facet_templates).items():
        if count > MAX_FACETS_OF_A_TYPE:
            problem = f"would give {slug} {count} facet templates"
            yield TermKind.ENTITY_TYPE, slug, problem, f"keep at most {MAX_FACETS_OF_A_TYPE}"


def _hierarchy(types: Mapping[str, EntityType]) -> Iterator[tuple[TermKind, str, str, str]]:
    for one in types.values():
        if not one.broad_type:
            continue
        wide = types.get(one.broad_type)
        above = broader(types, one.slug)
        problem = fix = ""
        if one.broad_type == one.slug:
            problem, fix = f"makes {one.slug} a kind of itself", "send another broad_type, or none"
        elif wide is None:
            problem, fix = f"makes {one.slug} a kind of {one.broad_type}, which does not exist", "create that first"
        elif one.slug in above:
            problem, fix = f"closes a cycle: {' > '.join([one.slug, *above])}", "send another broad_type"
        elif len(above) > MAX_DEPTH:
            problem, fix = f"puts {one.slug} {len(above)} levels deep", f"keep at most {MAX_DEPTH}"
        elif _is_approved(one) and not _is_approved(wide):
            problem, fix = f"leaves {one.slug} a kind of {wide.slug}, which is deprecated", "deprecate or move it too"
        if problem:
            yield TermKind.ENTITY_TYPE, one.slug, problem, fix


def _endpoints(ontology: Ontology, types: Mapping[str, EntityType]) -> Iterator[tuple[TermKind, str, str, str]]:
    for one in ontology.relationship_types:
        for end, slugs in (("source", one.source_types), ("target", one.target_types)):
            for slug in slugs:
                kind, about = TermKind.RELATIONSHIP_TYPE, f"has {slug} as a {end} type of {one.slug}"
                if slug not in types:
                    yield kind, one.slug, f"{about}, which does not exist", "create it first, or leave it out"
                elif _is_approved(one) and not _is_approved(types[slug]):
                    yield kind, one.slug, f"{about}, which is deprecated", "deprecate or change the relationship too"


def _shared_names(
    kind: TermKind, terms: Sequence[EntityType] | Sequence[RelationshipType]
) -> Iterator[tuple[TermKind, str, str, str]]:
    """Yield approved terms that share a slug, name or alias with an earlier term, since the word would be ambiguous."""
    owners: dict[str, str] = {}
    for one in terms:
        if not _is_approved(one):
            continue
        for word in dict.fromkeys(map(_word, (one.slug, one.name, *one.aliases))):
            if owners.setdefault(word, one.slug) != one.slug:
                problem = f"calls {one.slug} {word!r}, which is {owners[word]} already"
                yield kind, one.slug, problem, "choose another name or alias, or leave it out"


def _templates(ontology: Ontology, types: Mapping[str, EntityType]) -> Iterator[tuple[TermKind, str, str, str]]:
    for one in ontology.facet_templates:
        if one.entity_type not in types:
            problem = f"is a facet template of {one.entity_type}, which does not exist"
            yield TermKind.FACET_TEMPLATE, one.key, problem, "create the type first"


def _mappings(ontology: Ontology) -> Iterator[tuple[TermKind, str, str, str]]:
    known = {(kind_of(term), term.key) for term in ontology.terms}
    for one in ontology.mappings:
        if (one.subject_kind, one.subject) not in known:
            problem = f"maps the {_said(one.subject_kind)} {one.subject}, which does not exist"
            yield TermKind.EXTERNAL_MAPPING, one.key, problem, "create it first"


def _word(name: str) -> str:
    return fold(name.replace("_", " "))


def _is_approved(term: EntityType | RelationshipType) -> bool:
    return term.lifecycle is Lifecycle.APPROVED


def _called(term: Term) -> str:
    return f"the {_said(kind_of(term))} {term.key}"


def _said(kind: TermKind) -> str:
    return kind.value.replace("_", " ")
