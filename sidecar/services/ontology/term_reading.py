"""Reads terms of an ontology from JSON, checking every bound. Pure.

Every reading function raises InvalidArgument, naming the field, the problem and the fix.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Final, TypeVar

from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import check_characters
from store.ontology.terms import (
    Cardinality,
    EntityType,
    ExternalMapping,
    FacetTemplate,
    Lifecycle,
    MappingKind,
    RelationshipType,
    Term,
    TermKind,
)
from store.text.texts import fold

MAX_SLUG_CHARS = 64
MAX_NAME_CHARS = 80
MAX_TEXT_CHARS = 2_000
MAX_ALIASES = 50
MAX_ENDPOINTS = 50
MAX_URI_CHARS = 500
MAX_POSITION = 999

_SLUG = re.compile(rf"[a-z][a-z0-9_]{{0,{MAX_SLUG_CHARS - 1}}}", re.ASCII)
_NOT_IN_SLUGS = re.compile(r"[^a-z0-9]+")
_URI = re.compile(r"https?://[^\s/?#\"<>\\^`{|}]+[^\s\"<>\\^`{|}]*")
_FIELDS: Final[Mapping[TermKind, tuple[str, ...]]] = {
    TermKind.ENTITY_TYPE: ("slug", "name", "description", "broad_type", "aliases", "lifecycle"),
    TermKind.RELATIONSHIP_TYPE: (
        "slug", "name", "inverse", "source_types", "target_types", "cardinality", "aliases", "lifecycle",
    ),
    TermKind.FACET_TEMPLATE: ("entity_type", "slug", "heading", "position", "prompt", "guidance", "lifecycle"),
    TermKind.EXTERNAL_MAPPING: ("subject_kind", "subject", "kind", "vocabulary", "uri", "label"),
}  # fmt: skip
_Choice = TypeVar("_Choice", bound=StrEnum)


def slug_of(name: str) -> str:
    """Return the slug of a name, without accents: `cafe_owner` for `Café owner`. Empty if the name has no Latin letter."""
    plain = _NOT_IN_SLUGS.sub("_", fold(unicodedata.normalize("NFKC", name[:500]))).strip("_")
    return plain.lstrip("0123456789_")[:MAX_SLUG_CHARS].rstrip("_")


def write_term(term: Term) -> dict[str, Any]:
    """Return a term as JSON, the inverse of `read_term`."""
    return {
        name: value.value if isinstance(value, StrEnum) else list(value) if isinstance(value, tuple) else value
        for name, value in asdict(term).items()
    }


def read_term(kind: TermKind, entry: object, *, field: str) -> Term:
    """Return the term of a JSON object. Empty fields may be left out; a missing slug is made from the name."""
    if not isinstance(entry, Mapping):
        raise InvalidArgument(field, "is not a JSON object", f"send one with {', '.join(_FIELDS[kind])}")
    if unknown := sorted(str(name)[:40] for name in entry if name not in _FIELDS[kind]):
        raise InvalidArgument(f"{field}.{unknown[0]}", "is not known", f"send {', '.join(_FIELDS[kind])}")
    match kind:
        case TermKind.ENTITY_TYPE:
            return _entity_type(entry, field)
        case TermKind.RELATIONSHIP_TYPE:
            return _relationship_type(entry, field)
        case TermKind.FACET_TEMPLATE:
            return _facet_template(entry, field)
        case TermKind.EXTERNAL_MAPPING:
            return _mapping(entry, field)


def merged(kind: TermKind, value: Mapping[str, Any], edited: Mapping[str, Any], *, field: str) -> dict[str, Any]:
    """Return a term as JSON with some of its fields replaced. Raises InvalidArgument."""
    return write_term(read_term(kind, {**value, **edited}, field=field))


def read_slug(field: str, value: str, *, is_optional: bool = False) -> str:
    """Return the slug unchanged. Raises InvalidArgument for an invalid one, with a valid slug as the fix if there is one."""
    if _SLUG.fullmatch(value) or (is_optional and not value):
        return value
    valid_slug = slug_of(value)
    fix = (
        f"send {valid_slug!r}"
        if valid_slug
        else "send a Latin word for it, and the word itself as the name or an alias"
    )
    form = f"1 to {MAX_SLUG_CHARS} of a-z, 0-9 and _, a letter first"
    raise InvalidArgument(field, f"is {value[:40]!r}, not a slug ({form})", fix)


def choice(field: str, value: object, kinds: type[_Choice], *, allowed: Collection[_Choice] = ()) -> _Choice:
    """Return the enum member with this value."""
    members = tuple(allowed or kinds)
    member = next((one for one in members if one.value == value), None)
    if member is None:
        raise InvalidArgument(field, f"is {str(value)[:40]!r}", f"send one of {', '.join(members)}")
    return member


def _entity_type(entry: Mapping[str, Any], field: str) -> EntityType:
    name = _line(entry, "name", field, is_needed=True)
    return EntityType(
        slug=_slug(entry, name, field),
        name=name,
        description=_text(entry, "description", field),
        broad_type=read_slug(f"{field}.broad_type", _line(entry, "broad_type", field), is_optional=True),
        aliases=_aliases(entry, field),
        lifecycle=_lifecycle(entry, field),
    )


def _relationship_type(entry: Mapping[str, Any], field: str) -> RelationshipType:
    name = _line(entry, "name", field, is_needed=True)
    return RelationshipType(
        slug=_slug(entry, name, field),
        name=name,
        inverse=_line(entry, "inverse", field),
        source_types=_endpoints(entry, "source_types", field),
        target_types=_endpoints(entry, "target_types", field),
        cardinality=choice(
            f"{field}.cardinality", entry.get("cardinality") or Cardinality.MANY_TO_MANY.value, Cardinality
        ),
        aliases=_aliases(entry, field),
        lifecycle=_lifecycle(entry, field),
    )


def _facet_template(entry: Mapping[str, Any], field: str) -> FacetTemplate:
    heading = _line(entry, "heading", field, is_needed=True)
    position = entry.get("position", 0)
    if isinstance(position, bool) or not isinstance(position, int) or not 0 <= position <= MAX_POSITION:
        raise InvalidArgument(f"{field}.position", f"is {str(position)[:20]}", f"send 0 to {MAX_POSITION}")
    return FacetTemplate(
        entity_type=read_slug(f"{field}.entity_type", _line(entry, "entity_type", field)),
        slug=_slug(entry, heading, field),
        heading=heading,
        position=position,
        prompt=_text(entry, "prompt", field),
        guidance=_text(entry, "guidance", field),
        lifecycle=_lifecycle(entry, field),
    )


def _mapping(entry: Mapping[str, Any], field: str) -> ExternalMapping:
    kinds = [one for one in TermKind if one is not TermKind.EXTERNAL_MAPPING]
    subject_kind = choice(f"{field}.subject_kind", entry.get("subject_kind"), TermKind, allowed=kinds)
    subject = _line(entry, "subject", field, most=2 * MAX_SLUG_CHARS + 1)
    for part in subject.split("/", 1) if subject_kind is TermKind.FACET_TEMPLATE else [subject]:
        read_slug(f"{field}.subject", part)
    uri = _line(entry, "uri", field, most=MAX_URI_CHARS)
    if not _URI.fullmatch(uri):
        raise InvalidArgument(
            f"{field}.uri", "is not an http or https address", "send an address such as https://schema.org/Person"
        )
    return ExternalMapping(
        subject_kind=subject_kind,
        subject=subject,
        kind=choice(f"{field}.kind", entry.get("kind"), MappingKind),
        vocabulary=_line(entry, "vocabulary", field, is_needed=True),
        uri=uri,
        label=_line(entry, "label", field),
    )


def _slug(entry: Mapping[str, Any], name: str, field: str) -> str:
    return read_slug(f"{field}.slug", _line(entry, "slug", field) or slug_of(name) or name)


def _lifecycle(entry: Mapping[str, Any], field: str) -> Lifecycle:
    allowed = (Lifecycle.APPROVED, Lifecycle.DEPRECATED)
    return choice(f"{field}.lifecycle", entry.get("lifecycle") or Lifecycle.APPROVED.value, Lifecycle, allowed=allowed)


def _aliases(entry: Mapping[str, Any], field: str) -> tuple[str, ...]:
    found = {fold(one): one for one in _lines(entry, "aliases", field, most=MAX_ALIASES)}
    return tuple(sorted(found.values()))


def _endpoints(entry: Mapping[str, Any], name: str, field: str) -> tuple[str, ...]:
    slugs = _lines(entry, name, field, most=MAX_ENDPOINTS)
    return tuple(sorted({read_slug(f"{field}.{name}[{place}]", one) for place, one in enumerate(slugs)}))


def _lines(entry: Mapping[str, Any], name: str, field: str, *, most: int) -> list[str]:
    values = entry.get(name) or []
    if not isinstance(values, list | tuple) or len(values) > most:
        count = f"has {len(values)} entries" if isinstance(values, list | tuple) else "is not a list"
        raise InvalidArgument(f"{field}.{name}", count, f"send at most {most}")
    return [_line({name: one}, name, f"{field}.{name}[{place}]", is_needed=True) for place, one in enumerate(values)]


def _line(
    entry: Mapping[str, Any], name: str, field: str, *, is_needed: bool = False, most: int = MAX_NAME_CHARS
) -> str:
    """Return a one-line text with collapsed white space."""
    value = _string(entry, name, field)
    line = " ".join(value.split())
    where = field if field.endswith("]") and f".{name}[" in field else f"{field}.{name}"
    if is_needed and not line:
        raise InvalidArgument(where, "is empty", f"send 1 to {most} characters")
    if len(line) > most or not line.isprintable():
        problem = f"has {len(line)} characters" if len(line) > most else "has characters that cannot be printed"
        raise InvalidArgument(where, problem, f"send at most {most} printable characters")
    return line


def _text(entry: Mapping[str, Any], name: str, field: str) -> str:
    value = _string(entry, name, field).strip()
    if len(value) > MAX_TEXT_CHARS:
        raise InvalidArgument(f"{field}.{name}", f"has {len(value)} characters", f"send at most {MAX_TEXT_CHARS}")
    return value


def _string(entry: Mapping[str, Any], name: str, field: str) -> str:
    value = entry.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise InvalidArgument(f"{field}.{name}", "is not a text", "send a text")
    check_characters(f"{field}.{name}", value)
    return value
