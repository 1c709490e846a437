"""Suggestions for an ontology from compiled pages: kinds of places, held types, and sections that pages of a type share. Pure.

Each sighting quotes a memory that the page cites and that names the page, so that a proposal is deleted with the memories.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median
from uuid import UUID

from compiler.plan import bounds
from compiler.plan.ontology.page_types import place_kind
from compiler.plan.text.sentences import sentences
from compiler.plan.vocabulary import Vocabulary, is_approved, name_key, vocabulary
from sidecar.services.ontology.suggesting import (
    LEAST_NAMES,
    Signal,
    Suggestion,
    TermSighting,
    chosen,
    confidence,
    quote_of,
    short,
)
from sidecar.services.ontology.term_reading import MAX_NAME_CHARS, slug_of
from store.ontology.signals import SignalPage, SignalSection
from store.ontology.terms import FacetTemplate, Ontology
from store.text.texts import fold

LEAST_PAGES = 3
LEAST_SHARE = 0.25
_STEP = 10
_MOST_POSITION = 990


@dataclass(frozen=True, slots=True)
class SectionSighting:
    """A section of a page with an approved type, and a memory that it cites and that names the page."""

    entity_type: str
    slug: str
    heading: str
    position: int
    names: tuple[str, ...]
    sighting: TermSighting


def page_signal(owner_id: UUID, page: SignalPage) -> Signal | None:
    """Return the kind of thing that a page is about: its held type, or the kind of place in its summary; None without either."""
    held = page.held_type.replace("_", " ")
    kind = held or (place_kind(page.summary) if page.is_placed else "")
    sighting = _sighting(owner_id, page, f"{page.title}: {kind}") if name_key(kind) else None
    if sighting is None:
        return None
    return Signal(False, name_key(kind), kind.lower(), (fold(page.title),), sighting, is_place=page.is_placed)


def section_sighting(owner_id: UUID, row: SignalSection) -> SectionSighting | None:
    """Return a section as evidence of a template; None if the memory does not name the page."""
    slug = slug_of(bounds.base(row.section_slug))
    sighting = _sighting(owner_id, row.page, f"{row.page.title}: {row.heading}") if slug else None
    if sighting is None:
        return None
    return SectionSighting(row.entity_type, slug, row.heading, row.position, (fold(row.page.title),), sighting)


def facet_suggestions(
    found: Iterable[SectionSighting], page_counts: Counter[str], ontology: Ontology
) -> list[Suggestion]:
    """Return templates for sections that at least three pages, and a quarter of the pages, of an approved type have.

    A section is left out if the type, or a broader one, already has a template for it, approved or not.
    """
    known = vocabulary(ontology)
    groups: dict[tuple[str, str], list[SectionSighting]] = defaultdict(list)
    for one in found:
        groups[one.entity_type, one.slug].append(one)
    made = [
        (entity_type, slug, sightings)
        for (entity_type, slug), sightings in groups.items()
        if _is_wanted(entity_type, slug, ontology, known) and _is_enough(sightings, page_counts[entity_type])
    ]
    ranked = sorted(made, key=lambda one: (one[0], median(each.position for each in one[2]), one[1]))
    placed: Counter[str] = Counter()
    suggested = []
    for entity_type, slug, sightings in ranked:
        placed[entity_type] += 1
        position = min(_MOST_POSITION, _last(entity_type, ontology) + _STEP * placed[entity_type])
        term = FacetTemplate(entity_type, slug, _heading(sightings), position)
        suggested.append(_suggestion(term, sightings, page_counts[entity_type]))
    return suggested


def _suggestion(term: FacetTemplate, sightings: Sequence[SectionSighting], pages: int) -> Suggestion:
    frequency = len({one.names for one in sightings})
    rationale = (
        f"{frequency} of {max(pages, frequency)} pages of the type have this section, and no template places it."
    )
    return Suggestion(term, rationale, confidence(frequency), frequency, chosen(sightings))


def _is_wanted(entity_type: str, slug: str, ontology: Ontology, known: Vocabulary) -> bool:
    found = next((one for one in ontology.entity_types if one.slug == entity_type), None)
    kinds = (entity_type, *known.broader.get(entity_type, ()))
    there = any(one.slug == slug and one.entity_type in kinds for one in ontology.facet_templates)
    return found is not None and is_approved(found) and not there


def _is_enough(sightings: Sequence[SectionSighting], pages: int) -> bool:
    names = {one.names for one in sightings}
    memories = {(one.sighting.owner_id, one.sighting.memory_id) for one in sightings}
    return len(names) >= max(LEAST_PAGES, LEAST_SHARE * pages) and len(memories) >= LEAST_NAMES


def _heading(sightings: Sequence[SectionSighting]) -> str:
    counts = Counter(one.heading for one in sightings)
    return min(counts, key=lambda text: (-counts[text], text))[:MAX_NAME_CHARS]


def _last(entity_type: str, ontology: Ontology) -> int:
    return max((one.position for one in ontology.facet_templates if one.entity_type == entity_type), default=-_STEP)


def _sighting(owner_id: UUID, page: SignalPage, label: str) -> TermSighting | None:
    """Return the sentence of the page's memory that names it."""
    sentence = next((one for one in sentences(page.text) if page.title in one), "")
    if not sentence:
        return None
    start = sentence.index(page.title)
    quote = quote_of(sentence, start, start + len(page.title))
    return TermSighting(owner_id, page.memory_id, "page", short(label), quote, page.occurred_at)
