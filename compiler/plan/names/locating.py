"""The location of a proposed page, if its cited memories state one: the same name in two cities means two places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compiler.plan.citing import Citable
from compiler.plan.contract import BatchMemory, Page
from compiler.plan.names.merge import CITY_TAG
from compiler.plan.proposal import ProposedName, ProposedPage
from compiler.plan.text.markdown import one_line, plain_key, slug

JOURNAL_TAG = "journal:"
PERIOD_TAG = "period:"


def located(page: ProposedPage, citable: Citable) -> ProposedPage:
    """Return the page with its city and tags from cited memories made at a place with one of the page's names."""
    cited = [*page.memory_ids, *(one for section in page.sections for one in section.memory_ids)]
    memories_there = _made_at((page.title, *(alias.name for alias in page.aliases)), citable, cited)
    cities = [city for memory in memories_there if slug(city := city_of(memory))]
    city = page.city or (cities[0] if cities else "")
    return replace(page, city=city, tags=(*page.tags, *_proven(memories_there, slug(city))))


def tags_at(page: Page, names: Iterable[str], citable: Citable, cited: Iterable[str]) -> tuple[ProposedName, ...]:
    """Return the tags of cited memories made at a place with one of the page's names, present or new.

    Tags of another city than the page's are left out.
    """
    memories_there = _made_at((page.title, *(alias.display for alias in page.aliases), *names), citable, cited)
    cities = [tag.name.removeprefix(CITY_TAG) for tag in page.tags if tag.name.startswith(CITY_TAG)]
    cities += [city for memory in memories_there if (city := slug(city_of(memory)))]
    return _proven(memories_there, cities[0] if cities else "")


def _made_at(names: Iterable[str], citable: Citable, cited: Iterable[str]) -> list[BatchMemory]:
    keys = {plain_key(name) for name in names} - {""}
    return [memory for memory in citable.texts(cited) if plain_key(place_name(memory)) in keys]


def _proven(memories: Iterable[BatchMemory], city: str) -> tuple[ProposedName, ...]:
    """Return the tags of memories of one place, each with the memories that have it, without those of other cities."""
    proven: dict[str, list[str]] = {}
    for memory in memories:
        for tag in tag_names(memory):
            proven.setdefault(tag, []).append(memory.memory_id)
    wrong = {tag for tag in proven if tag.startswith(CITY_TAG) and tag != CITY_TAG + city}
    return tuple(ProposedName(tag, tuple(ids)) for tag, ids in proven.items() if tag not in wrong)


def place_name(memory: BatchMemory) -> str:
    """Return the name of the place where the memory was made, empty if unknown."""
    place = memory.metadata.get("place")
    name = place.get("name") if isinstance(place, Mapping) else memory.metadata.get("place_name", place)
    return name.strip() if isinstance(name, str) else ""


def city_of(memory: BatchMemory) -> str:
    """Return the city in the memory's metadata: its place's, else its own; empty if unknown."""
    place = memory.metadata.get("place")
    place_city = place.get("city") if isinstance(place, Mapping) else None
    for city in (place_city, memory.metadata.get("place_city"), memory.metadata.get("city")):
        if isinstance(city, str) and city.strip():
            return city.strip()
    return ""


def types_of(memory: BatchMemory) -> tuple[str, ...]:
    """Return the kinds of the place where the memory was made, from its metadata, casefolded."""
    place = memory.metadata.get("place")
    types = place.get("types") if isinstance(place, Mapping) else None
    found = (
        one_line(one).casefold() for one in (types if isinstance(types, list | tuple) else ()) if isinstance(one, str)
    )
    return tuple(dict.fromkeys(one for one in found if one))


def tag_names(memory: BatchMemory) -> tuple[str, ...]:
    """Return the tags for the memory's subject from its metadata: its own, its place's types, city and journal."""
    city, journal = slug(city_of(memory)), slug(journal_of(memory))
    classed = (*([CITY_TAG + city] if city else []), *([JOURNAL_TAG + journal] if journal else []))
    return tuple(dict.fromkeys((*tags_of(memory), *types_of(memory), *classed)))


def journal_of(memory: BatchMemory) -> str:
    """Return the title of the memory's journal, or its id without a title; empty without a journal."""
    journal, title = memory.metadata.get("journal_id"), memory.metadata.get("journal_title")
    if not isinstance(journal, str | int) or not str(journal).strip():
        return ""
    return one_line(title) if isinstance(title, str) and slug(title) else f"Journal {str(journal).strip()[:8]}"


def tags_of(memory: BatchMemory) -> tuple[str, ...]:
    """Return the memory's tags, casefolded, each once; accepts a list or a text with commas."""
    found: dict[str, None] = {}
    for key in ("tags", "idea_tags"):
        value = memory.metadata.get(key)
        many = value.split(",") if isinstance(value, str) else value if isinstance(value, list | tuple) else ()
        found.update(dict.fromkeys(one_line(one).casefold() for one in many if isinstance(one, str) and slug(one)))
    return tuple(found)
