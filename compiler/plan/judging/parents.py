"""Candidates for hubs: cities, journals and tags that memories share, and cities in page summaries."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import BatchMemory, Page, PageKey, PageType
from compiler.plan.names.locating import JOURNAL_TAG, PERIOD_TAG, city_of, journal_of, tags_of, types_of
from compiler.plan.names.merge import CITY_TAG
from compiler.plan.names.naming import holds
from compiler.plan.names.ruled import known_as
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import runs
from compiler.plan.names.themes import theme_of, themes_in
from compiler.plan.places.addresses import city_of_address, is_address
from compiler.plan.text.markdown import alias_keys, one_line, plain_key, slug, unescape
from compiler.plan.text.sentences import undated
from compiler.plan.text.words import NO_NAMES

MIN_MEMORIES = 2
MIN_PAGES = 3
PERSON = "person"
PERIOD = "period"
PLACES = "places"
_LIST, TITLE = "list", "title"
LISTS_OF_PEOPLE = ("topics", "decisions", "people_and_things")
"""The sections of a person's page that list other pages."""

_SECTIONS = (
    ("coffee", ("cafe", "coffee", "coffee_shop")),
    ("restaurants", ("restaurant", "food", "meal_takeaway", "bar", "bakery")),
    ("parks_and_outdoors", ("park", "natural_feature", "beach", "hiking_area")),
    ("lodging", ("lodging", "hotel", "hostel")),
    ("museums", ("museum", "art_gallery")),
)
_PEOPLE_AND_THINGS = "people_and_things"
_IN_CITY = re.compile(
    r"\b(?:in|near)\s+((?:(?:St|Ste|Mt|Ft)\.\s)?[^\W\d_a-z][\w'’-]+(?:\s[^\W\d_a-z][\w'’-]+){0,2})(?=$|[.,;:!])"
)


def from_memories(memories: Iterable[BatchMemory], *, least: int = MIN_MEMORIES) -> tuple[ParentCandidate, ...]:
    """Return the cities, journals and tags that at least `least` memories share, by kind, slug and section."""
    found: dict[tuple[str, str, str], list[ParentCandidate]] = {}
    for memory in memories:
        for one in _of_memory(memory) if memory.metadata else ():
            found.setdefault((one.kind, one.slug, one.section), []).append(one)
    merged = merge_candidates(*found.values())
    return tuple(one for one in merged if len(one.memory_ids) >= least)


def from_pages(pages: Iterable[Page]) -> tuple[ParentCandidate, ...]:
    """Return the cities in the pages' summaries, after a preposition or in a postal address, and the periods that decisions
    are tagged with. The order of pages does not matter.
    """
    found: list[ParentCandidate] = []
    for page in sorted(pages, key=lambda one: one.key):
        found.extend(_periods(page))
        city = city_in_summary(page.summary) if page.key.type is PageType.ENTITY else ""
        if slug(city):
            ids = tuple(source.memory_id for source in page.summary_sources)
            tags = tuple(tag.name for tag in page.tags)
            found.append(
                ParentCandidate("city", slug(city), city, section_for(tags), ids, (page.key,), tags, "summary")
            )
    return merge_candidates(found)


def of_single_memories(memories: Iterable[BatchMemory]) -> tuple[ParentCandidate, ...]:
    """Return the cities, journals and themes of memories, even of a single one: all pages decide later whether they are hubs."""
    return tuple(one for one in from_memories(memories, least=1) if one.kind != "tag" or theme_of(plain_key(one.title)))


def names_theme(tag: str) -> bool:
    """Return whether a page's tag names a theme, and no city or journal."""
    return ":" not in tag and bool(themes_in(tag))


def hub_tags(candidate: ParentCandidate) -> tuple[str, ...]:
    """Return the tags by which pages are members of the candidate's hub; none for a tag that names no theme."""
    if candidate.kind == "tag":
        return candidate.tags if theme_of(plain_key(candidate.title)) else ()
    classes = {"city": CITY_TAG, "journal": JOURNAL_TAG, PERIOD: PERIOD_TAG}
    return (f"{classes[candidate.kind]}{candidate.slug}",) if candidate.kind in classes else ()


def list_slugs(candidate: ParentCandidate) -> frozenset[str]:
    """Return the slugs of the sections in which a hub of the candidate may list its members."""
    if candidate.kind == "city":
        return frozenset({PLACES, _PEOPLE_AND_THINGS, *(section for section, _ in _SECTIONS)})
    return frozenset(LISTS_OF_PEOPLE if candidate.kind == PERSON else {candidate.section})


def has_list(page: Page) -> bool:
    """Return whether a section of the page lists others."""
    return any(one.aggregation is not None for one in page.sections)


def of_list(page: Page) -> tuple[ParentCandidate, ...]:
    """Return the candidates that a page with lists may be the hub of, going by its name. Nothing proves them yet."""
    name = known_as(page)
    found = [*_named(name), ParentCandidate(PERIOD, slug(name), name, slug(name).partition("-")[0], origin=_LIST)]
    if theme_of(plain_key(name)):
        found.append(
            ParentCandidate("tag", slug(name), name, "related_entities", tags=(name.casefold(),), origin=_LIST)
        )
    return tuple(found) if slug(name) else ()


def of_titles(pages: Iterable[Page]) -> tuple[ParentCandidate, ...]:
    """Return the cities and journals that words in the pages' titles may name. Nothing proves them yet."""
    found: list[ParentCandidate] = []
    for page in pages:
        words = page.title.split()
        spans = ((start, end) for start in range(len(words)) for end in range(start + 1, len(words) + 1))
        names = {" ".join(words[start:end]) for start, end in spans if end - start < len(words)}
        found.extend(one for name in sorted(names) if slug(name) for one in _named(name, TITLE))
    return merge_candidates(found)


def of_themes(tags: Iterable[str]) -> tuple[ParentCandidate, ...]:
    """Return the themes that the tags name, each with all of its tags."""
    named = ((tag, theme) for tag in sorted(tags) for theme in themes_in(tag)[:1])
    return tuple(
        ParentCandidate("tag", slug(tag), theme, "related_entities", tags=(tag,), origin="tag") for tag, theme in named
    )


def of_years_beside(found: Iterable[ParentCandidate]) -> Iterator[ParentCandidate]:
    """Yield the periods a year before and after those of the candidates: a decision may take back one of another year. Nothing
    proves them yet.
    """
    for one in found:
        kind, _, year = one.slug.rpartition("-")
        if one.kind == PERIOD and year.isdigit():
            yield from (_period(f"{kind}-{near}") for near in (int(year) - 1, int(year) + 1))


def _named(name: str, origin: str = _LIST) -> tuple[ParentCandidate, ...]:
    title = name.strip(" ,.;:")
    return (
        ParentCandidate("city", slug(title), title, PLACES, origin=origin),
        ParentCandidate("journal", slug(title), title, "entries", origin=origin),
    )


def _periods(page: Page) -> Iterable[ParentCandidate]:
    for tag in page.tags if page.key.type is PageType.DECISION else ():
        if tag.name.startswith(PERIOD_TAG):
            ids = tuple(source.memory_id for source in tag.sources)
            yield replace(_period(tag.name.removeprefix(PERIOD_TAG)), memory_ids=ids, pages=(page.key,))


def _period(name: str) -> ParentCandidate:
    return ParentCandidate(PERIOD, name, name.replace("-", " ").capitalize(), name.partition("-")[0], origin="tag")


def merge_candidates(*lists: Iterable[ParentCandidate]) -> tuple[ParentCandidate, ...]:
    """Return the candidates of all lists, merged by kind, slug and section, in that order."""
    found: dict[tuple[str, str, str], list[ParentCandidate]] = {}
    for one in sorted((one for many in lists for one in many), key=lambda one: (one.origin, one.title)):
        found.setdefault((one.kind, one.slug, one.section), []).append(one)
    return tuple(_united(found[key]) for key in sorted(found))


def city_in_summary(summary: str) -> str:
    """Return the city in a summary: of a postal address, else after a preposition at the end of a clause."""
    line = one_line(unescape(summary)).rstrip(". ")
    if is_address(line):
        return city_of_address(line)
    named = _IN_CITY.search(line)
    return named[1].strip(" .") if named and not any(plain_key(word) in NO_NAMES for word in named[1].split()) else ""


def section_for(types: Iterable[str]) -> str:
    """Return the slug of a hub's section for members of these types."""
    kinds = {one.casefold() for one in types}
    return next((section for section, known in _SECTIONS if not kinds.isdisjoint(known)), PLACES)


def section_of(page: Page, candidate: ParentCandidate) -> str:
    """Return the slug of the section for a page in a candidate's hub, by the page's type and tags.

    A city lists an entity under places only if its tags say that it is a place: a person met there is not.
    """
    if candidate.kind == PERSON:
        topics, decisions, others = LISTS_OF_PEOPLE
        return {PageType.TOPIC: topics, PageType.DECISION: decisions}.get(page.key.type, others)
    if candidate.kind != "city":
        return candidate.section
    names = [tag.name for tag in page.tags]
    is_place = any(name.startswith(CITY_TAG) for name in names) or section_for(names) != PLACES
    return section_for(names) if is_place or page.key.type is not PageType.ENTITY else _PEOPLE_AND_THINGS


def from_people(opened: Mapping[PageKey, Iterable[Page]], people: Iterable[Page]) -> tuple[ParentCandidate, ...]:
    """Return a candidate for each person's page that three pages or more name in their summaries.

    `opened` maps a person's page to the pages whose summaries rest on a memory that it cites.
    """
    found = []
    for person in sorted(people, key=lambda page: page.key):
        names = {plain_key(person.title), *(plain_key(alias.display) for alias in person.aliases)} - {""}
        pages = [page for page in opened.get(person.key, ()) if page.key != person.key and not _is_list(page)]
        naming = [page for page in pages if any(holds(name, plain_key(page.summary)) for name in names)]
        if len(naming) >= MIN_PAGES:
            keys = tuple(sorted(page.key for page in naming))
            ids = tuple(sorted({source.memory_id for page in naming for source in page.summary_sources}))
            found.append(ParentCandidate(PERSON, person.key.slug, person.title, "topics", ids, keys, (), "summary"))
    return tuple(found)


def names_in_summaries(pages: Iterable[Page]) -> tuple[str, ...]:
    """Return the folded names in the summaries of pages, sorted."""
    summaries = [undated(unescape(page.summary)) for page in pages]
    names = {one.name for text in summaries for one in runs(text)} | {speaker_of(text) for text in summaries}
    return tuple(sorted({key for name in names for key in alias_keys(name)}))


def _is_list(page: Page) -> bool:
    return bool(page.sections) and all(one.aggregation is not None for one in page.sections)


def _of_memory(memory: BatchMemory) -> Iterable[ParentCandidate]:
    ids, tags = (memory.memory_id,), tags_of(memory)
    place = memory.metadata.get("place")
    address = place.get("address") if isinstance(place, Mapping) else memory.metadata.get("place_address")
    city = city_of(memory) or (city_of_address(address) if isinstance(address, str) else "")
    if slug(city):
        yield ParentCandidate("city", slug(city), city, section_for((*types_of(memory), *tags)), ids, (), tags)
    journal = journal_of(memory)
    if slug(journal):
        yield ParentCandidate("journal", slug(journal), journal, "entries", ids, (), tags)
    for tag in tags:
        title = next(iter(themes_in(tag)), tag.capitalize())
        yield ParentCandidate("tag", slug(tag), title, "related_entities", ids, (), (tag,))


def _united(same: Sequence[ParentCandidate]) -> ParentCandidate:
    if len(same) == 1:
        return same[0]
    return replace(
        same[0],
        memory_ids=tuple(dict.fromkeys(memory_id for one in same for memory_id in one.memory_ids)),
        pages=tuple(sorted({page for one in same for page in one.pages})),
        tags=tuple(sorted({tag for one in same for tag in one.tags})),
    )
