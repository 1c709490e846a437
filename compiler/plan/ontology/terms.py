"""The part of an ontology that a planner is shown: its approved terms as values, one per line, ordered by slug."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.plan.bounds import base
from compiler.plan.contract import Page
from compiler.plan.ontology.page_types import typing_of
from compiler.plan.ontology.shapes import templates
from compiler.plan.vocabulary import Vocabulary, is_approved
from store.ontology.terms import EntityType

MOST_TERMS = 200
MOST_CHARS = 400


def lines(known: Vocabulary) -> Iterator[dict[str, Any]]:
    """Yield the entity types with their sections, then the relationships; at most 200 of each, texts cut to 400 characters."""
    types = sorted((one for one in known.ontology.entity_types if is_approved(one)), key=lambda one: one.slug)
    yield from (_entity(one, known) for one in types[:MOST_TERMS])
    edges = sorted((one for one in known.ontology.relationship_types if is_approved(one)), key=lambda one: one.slug)
    for one in edges[:MOST_TERMS]:
        ends = {"from": list(one.source_types), "to": list(one.target_types)}
        yield {"relationship": one.slug, "name": one.name, **{name: many for name, many in ends.items() if many}}


def asked_of(page: Page, section_slug: str, known: Vocabulary) -> tuple[str, ...]:
    """Return the prompt and the guidance of the facet template of a page's section, at most 400 characters each."""
    typing = typing_of(page, known)
    found = templates(typing.slug, known) if typing.slug else ()
    wanted = next((one for one in found if one.slug == base(section_slug)), None)
    texts = (wanted.prompt, wanted.guidance) if wanted is not None else ()
    return tuple(one[:MOST_CHARS] for one in texts if one.strip())


def _entity(one: EntityType, known: Vocabulary) -> dict[str, Any]:
    sections = [
        {
            "slug": template.slug,
            "heading": template.heading,
            **({"asks": template.prompt[:MOST_CHARS]} if template.prompt else {}),
        }
        for template in templates(one.slug, known)
    ]
    fields: dict[str, Any] = {
        "entity_type": one.slug,
        "name": one.name,
        "means": one.description[:MOST_CHARS],
        "kind_of": one.broad_type,
        "also": list(one.aliases),
        "sections": sections,
    }
    return {name: value for name, value in fields.items() if value}
