"""Order and headings of a page's sections by the approved facet templates of its type. The texts are not changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from compiler.plan import bounds
from compiler.plan.contract import Page, Section
from compiler.plan.ontology.page_types import PageTyping
from compiler.plan.vocabulary import Vocabulary
from store.ontology.terms import FacetTemplate

_Places = Mapping[str, tuple[int, FacetTemplate]]


@dataclass(frozen=True, slots=True)
class SectionShape:
    """How a section is shown: its position from 0, and its heading. None and empty mean: as the planner made it."""

    slug: str
    position: int | None = None
    heading: str = ""


def templates(entity_type: str, known: Vocabulary) -> tuple[FacetTemplate, ...]:
    """Return the templates of a type in order: its own, then those of its broader types; for one slug, the nearest type's."""
    found: dict[str, FacetTemplate] = {}
    for slug in (entity_type, *known.broader.get(entity_type, ())):
        for one in known.facets.get(slug, ()):
            found.setdefault(one.slug, one)
    return tuple(found.values())


def shape(page: Page, typing: PageTyping, known: Vocabulary) -> tuple[SectionShape, ...]:
    """Return how each section of a page is shown: first those with a template, in template order, then the others in their order.

    Positions are given to all sections of a page, or to none.
    """
    wanted = {one.slug: (place, one) for place, one in enumerate(templates(typing.slug, known) if typing.slug else ())}
    slugs = [section.slug for section in page.sections]
    order = sorted(slugs, key=lambda slug: _place(slug, wanted, slugs))
    places = {slug: place for place, slug in enumerate(order)} if order != slugs else {}
    return tuple(
        SectionShape(section.slug, places.get(section.slug), _heading(section, wanted)) for section in page.sections
    )


def _place(slug: str, wanted: _Places, own: Sequence[str]) -> tuple[int, int, int]:
    base = bounds.base(slug)
    return (wanted[base][0], bounds.number(slug), 0) if base in wanted else (len(wanted), 0, own.index(slug))


def _heading(section: Section, wanted: _Places) -> str:
    """Return the heading of the section's template, empty if the section has that one or no template."""
    found = wanted.get(bounds.base(section.slug))
    heading = bounds.heading(found[1].heading, bounds.number(section.slug))[: bounds.HEADING_CHARS] if found else ""
    return heading if heading != section.heading else ""
