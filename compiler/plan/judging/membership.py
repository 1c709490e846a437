"""Whether a page belongs under a hub: its own title, summary or tags must show the hub's evidence.

A planner's answer alone is not enough: models have listed places of one city under another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import CitedMemory, Page, PageKey, PromotionStatus, Section
from compiler.plan.names.merge import CITY_TAG
from compiler.plan.names.naming import holds
from compiler.plan.names.ruled import MANUAL
from compiler.plan.names.themes import theme_of, themes_in
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.text.change import content_words
from compiler.plan.text.markdown import plain_key, slug

MIN_CHILDREN = 3

_DECIDED = (PromotionStatus.SUPPRESSED, PromotionStatus.PROMOTED)


@dataclass(frozen=True, slots=True)
class MemberRequirement:
    """The evidence that a child must have: all of `keys` (a city, a journal, a tag), and one of `words` if there are any."""

    keys: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()


def requirement(
    title: str, names: Iterable[str], *, cities: Iterable[str] = (), gazetteer: Gazetteer = NO_PLACES
) -> MemberRequirement:
    """Return the requirement for children of a hub with this title, given the names of candidates and of cities.

    If the whole title is a candidate's name, a city or a theme, it is the only key; else every city in the title is a key. Other
    names in the title require nothing: a tag that appears later does not define the members of a hub with that word in its title.
    A title without a city requires one of its words.
    """
    key = plain_key(title)
    city_keys = {plain_key(one) for one in cities} - {""}
    runs = _runs(key)
    is_whole = key != "" and (key in {*city_keys, *map(plain_key, names)} or bool(theme_of(key)))
    keys = (
        (key,) if is_whole else tuple(sorted({one for one in runs if one in city_keys or gazetteer.is_known_city(one)}))
    )
    return MemberRequirement(keys, frozenset() if keys else frozenset(map(_stem, content_words(key))))


def may_join(candidates: Collection[ParentCandidate], pages: Iterable[Page]) -> frozenset[PageKey]:
    """Return the pages that a hub of one of the candidates may list: those with its tag, or with its title in their own."""
    slugs = {one.slug for one in candidates}
    titles = {plain_key(one.title) for one in candidates}
    unspaced = [one for one in titles if not one.isascii()]
    found = set()
    for page in pages:
        key = plain_key(page.title)
        is_titled = not titles.isdisjoint(_runs(key)) or any(one in key for one in unspaced)
        if is_titled or any(is_tag_of(tag.name, slugs) for tag in page.tags):
            found.add(page.key)
    return frozenset(found)


def hub_cities(candidates: Iterable[ParentCandidate], pages: Iterable[Page]) -> frozenset[str]:
    """Return the cities that a hub's title may contain: those of candidates, and those that pages are tagged with."""
    tagged = {tag.name.partition(":")[2] for page in pages for tag in page.tags if tag.name.startswith(CITY_TAG)}
    return frozenset({one.title for one in candidates if one.kind == "city"} | tagged)


def bare(pages: Iterable[Page], planned: Mapping[tuple[PageKey, str], Section]) -> list[PageKey]:
    """Return the active hubs that have nothing but lists, after the `planned` ones all without members, none suppressed or
    promoted; with a promoted page goes the hub that has nothing but its list.
    """
    lists = {page.key: {one.slug: one for one in page.sections} for page in pages if _has_lists_alone(page)}
    for hub, own in lists.items():
        own.update({slug: one for (key, slug), one in planned.items() if key == hub})
    found: set[PageKey] = set()
    while more := {
        hub for hub, own in lists.items() if hub not in found and all(_is_empty(one, found) for one in own.values())
    }:
        found |= more
    return sorted(found)


def _has_lists_alone(hub: Page) -> bool:
    is_named = any(alias.origin == MANUAL for alias in hub.aliases)
    return hub.is_active and bool(hub.sections) and not hub.summary and not is_named


def _is_empty(section: Section, ended: Collection[PageKey]) -> bool:
    known = section.aggregation
    if known is None or section.children:
        return False
    return known.promotion_status not in _DECIDED or known.promoted_page in ended


def shows(child: Page, required: MemberRequirement) -> bool:
    """Return whether the page has the required evidence. A hub without a requirement has no members."""
    if not required.keys and not required.words:
        return False
    texts = (plain_key(child.title), plain_key(child.summary))
    tags = {_tag_key(tag.name) for tag in child.tags}
    tagged = {plain_key(theme) for tag in tags for theme in themes_in(tag)}
    if not all(key in tags | tagged or any(holds(key, text) for text in texts) for key in required.keys):
        return False
    shown = {_stem(word) for text in (child.title, child.summary, *tags) for word in content_words(text)}
    return not required.words or not required.words.isdisjoint(shown)


def shown_by(members: Iterable[Page]) -> tuple[CitedMemory, ...]:
    """Return the sources of a list for which a model cites no memory: those of its members' summaries or first sections."""
    parts = ((page.summary_sources, *(one.sources for one in page.sections)) for page in members)
    return tuple(sorted({source for of_page in parts for source in next(filter(None, of_page), ())}))


def is_tag_of(name: str, slugs: Collection[str]) -> bool:
    """Return whether a tag, without its class, is one of these slugs."""
    return slug(name.partition(":")[2] or name) in slugs


def _runs(key: str) -> Iterator[str]:
    words = key.split()
    return (" ".join(words[start:end]) for start in range(len(words)) for end in range(start + 1, len(words) + 1))


def _tag_key(name: str) -> str:
    return plain_key(name.partition(":")[2] if ":" in name else name)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
