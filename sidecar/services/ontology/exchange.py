"""An ontology as text: JSON, or the same JSON as JSON-LD with the names of RDFS, SKOS and Dublin Core. Pure.

Both round-trip, except for the version, which an import gets from its approval. The seed ontology is such a text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import orjson

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology.changes import MAX_TERMS, ontology_of
from sidecar.services.ontology.term_reading import read_term, write_term
from store.ontology.terms import (
    EntityType,
    ExternalMapping,
    MappingKind,
    Ontology,
    RelationshipType,
    Term,
    TermKind,
    kind_of,
)

MAX_BYTES = 1 << 20
_SEED = Path(__file__).parent / "data" / "seed.json"
_NAMES: Final[Mapping[str, TermKind]] = {
    "entity_types": TermKind.ENTITY_TYPE,
    "relationship_types": TermKind.RELATIONSHIP_TYPE,
    "facet_templates": TermKind.FACET_TEMPLATE,
    "mappings": TermKind.EXTERNAL_MAPPING,
}
_MATCHES: Final[Mapping[MappingKind, str]] = {
    MappingKind.EXACT: "skos:exactMatch",
    MappingKind.CLOSE: "skos:closeMatch",
    MappingKind.BROAD: "skos:broadMatch",
    MappingKind.NARROW: "skos:narrowMatch",
    MappingKind.RELATED: "skos:relatedMatch",
}
_OURS = "urn:context-sidecar:ontology:"
_CONTEXT: Final[Mapping[str, Any]] = {
    "@vocab": _OURS,
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "name": "rdfs:label",
    "heading": "rdfs:label",
    "description": "rdfs:comment",
    "aliases": "skos:altLabel",
    "uri": {"@type": "@id"},
}
_TYPES: Final[Mapping[TermKind, str]] = {
    TermKind.ENTITY_TYPE: "rdfs:Class",
    TermKind.RELATIONSHIP_TYPE: "rdf:Property",
    TermKind.FACET_TEMPLATE: "FacetTemplate",
    TermKind.EXTERNAL_MAPPING: "ExternalMapping",
}


class ExchangeFormat(StrEnum):
    """The format of an exported ontology."""

    JSON = "json"
    JSON_LD = "jsonld"


def write(ontology: Ontology, form: ExchangeFormat) -> str:
    """Return the ontology as text, its terms sorted by key."""
    is_linked = form is ExchangeFormat.JSON_LD
    document: dict[str, Any] = {"@context": _CONTEXT, "@id": _OURS} if is_linked else {}
    document["version"] = ontology.version
    for name, kind in _NAMES.items():
        terms = [term for term in ontology.terms if kind_of(term) is kind]
        links = [_links(term, ontology.mappings) if is_linked else {} for term in terms]
        document[name] = [{**link, **write_term(term)} for term, link in zip(terms, links, strict=True)]
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


def read(text: str, *, field: str = "content") -> Ontology:
    """Return the ontology of a text in the format of `write`, with version 0. Raises InvalidArgument."""
    if len(text.encode(errors="surrogatepass")) > MAX_BYTES:
        raise InvalidArgument(field, f"has more than {MAX_BYTES:,} bytes", "send a part of the terms at a time")
    try:
        document: Any = orjson.loads(text)
    except ValueError as error:
        raise InvalidArgument(field, "is not JSON", "send the output of `sidecar ontology export`") from error
    if not isinstance(document, dict):
        raise InvalidArgument(field, "is not a JSON object", f"send one with {', '.join(_NAMES)}")
    terms: dict[tuple[TermKind, str], Term] = {}
    for where, kind, entry in _term_entries(document, field):
        term = read_term(kind, entry, field=where)
        if terms.setdefault((kind, term.key), term) != term:
            raise InvalidArgument(where, f"differs from an earlier entry of {term.key}", "keep one")
    return ontology_of(terms.values(), version=0)


@cache
def seed() -> Ontology:
    """Return the packaged ontology: people, places, organizations, projects, works and events."""
    return read(_SEED.read_text(encoding="utf-8"), field="seed.json")


def _term_entries(document: Mapping[str, Any], field: str) -> Iterator[tuple[str, TermKind, object]]:
    """Yield the terms of a document as JSON, each with its path and kind."""
    if unknown := sorted(name[:40] for name in document if not _is_link(name) and name not in {*_NAMES, "version"}):
        raise InvalidArgument(f"{field}.{unknown[0]}", "is not known", f"send {', '.join(_NAMES)}")
    for name, kind in _NAMES.items():
        value = [] if document.get(name) is None else document[name]
        entries = _entries(value, f"{field}.{name}", most=MAX_TERMS[kind])
        yield from ((f"{field}.{name}[{place}]", kind, _without_links(one)) for place, one in enumerate(entries))


def _links(term: Term, mappings: Sequence[ExternalMapping]) -> dict[str, Any]:
    """Return the JSON-LD properties of a term: its address, class and links."""
    kind = kind_of(term)
    links: dict[str, Any] = {"@id": _address(kind, term.key), "@type": _TYPES[kind]}
    ends: dict[str, Sequence[str]] = {}
    match term:
        case EntityType(broad_type=broad) if broad:
            ends = {"rdfs:subClassOf": [broad]}
        case RelationshipType():
            ends = {"rdfs:domain": term.source_types, "rdfs:range": term.target_types}
    for name, slugs in ends.items():
        if slugs:
            links[name] = [{"@id": _address(TermKind.ENTITY_TYPE, slug)} for slug in slugs]
    for mapping in mappings:
        if (mapping.subject_kind, mapping.subject) == (kind, term.key):
            links.setdefault(_MATCHES[mapping.kind], []).append({"@id": mapping.uri})
    return links


def _address(kind: TermKind, key: str) -> str:
    return f"{_OURS}{kind.value}:{quote(key, safe='/')}"


def _is_link(name: str) -> bool:
    """Return whether the name is a JSON-LD property, which only repeats a plain one."""
    return name.startswith("@") or ":" in name


def _without_links(one: object) -> object:
    return {name: value for name, value in one.items() if not _is_link(str(name))} if isinstance(one, dict) else one


def _entries(values: object, field: str, *, most: int) -> list[Any]:
    if not isinstance(values, list) or len(values) > most:
        problem = f"has {len(values)} entries" if isinstance(values, list) else "is not a list"
        raise InvalidArgument(field, problem, f"send at most {most}")
    return values
