"""Reads the pages that prove or may join a hub, whether they changed or not, so that no hub depends on when they came."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from compiler.plan.batch import ParentCandidate
from compiler.plan.contract import Page, PageKey, PageType
from compiler.plan.judging import parents
from compiler.plan.judging.parents import PERIOD, PERSON, hub_tags, names_theme
from compiler.plan.names.locating import JOURNAL_TAG, PERIOD_TAG
from compiler.plan.names.merge import CITY_TAG
from compiler.plan.text.markdown import alias_keys, one_line, slug
from store.db.queries import Connection
from store.scope import Scope
from store.wiki import candidates

_Candidates = tuple[ParentCandidate, ...]
_TAGGED = ("city", "journal", PERIOD)
_LETTERS = re.compile(r"[^\W_]+")
_NO_SPACES = re.compile(r"\S+")


async def with_all_pages(connection: Connection, scope: Scope, found: _Candidates) -> _Candidates:
    """Return the candidates, with all active pages that have a period's tag added to the period."""
    tags = {f"{PERIOD_TAG}{one.slug}" for one in found if one.kind == PERIOD}
    pages: dict[str, set[PageKey]] = {}
    for tag, kind, key in await candidates.tagged(connection, scope, sorted(tags)):
        pages.setdefault(tag.removeprefix(PERIOD_TAG), set()).add(PageKey(PageType(kind), key))
    return tuple(
        replace(one, pages=tuple(sorted({*one.pages, *pages.get(one.slug, ())}))) if one.kind == PERIOD else one
        for one in found
    )


async def by_rules(
    connection: Connection, scope: Scope, found: _Candidates, listing: Iterable[Page], changed: Iterable[Page]
) -> _Candidates:
    """Return the candidates that all pages prove: cities, journals and periods with a page's tag, cities in a page's summary,
    and themes with all tags that name them.

    The candidates are those in `found` with the years beside them, those named by pages with lists and those named in the titles
    of changed pages.
    """
    beside = parents.of_years_beside(found)
    every = parents.merge_candidates(found, beside, *map(parents.of_list, listing), parents.of_titles(changed))
    named = {one.title for one in every if one.kind == "tag" and hub_tags(one)}
    themes = parents.of_themes(await candidates.plain_tags(connection, scope)) if named else ()
    every = parents.merge_candidates(every, (one for one in themes if one.title in named))
    tags = sorted({tag for one in every if one.kind in _TAGGED for tag in hub_tags(one)})
    tagged = {tag for tag, _, _ in await candidates.tagged(connection, scope, tags)}
    cities = [
        one
        for one in every
        if one.kind == "city" and (one.origin != parents.TITLE or not tagged.isdisjoint(hub_tags(one)))
    ]
    in_cities = await _pages_in_cities(connection, scope, cities)
    whole = (
        replace(one, pages=tuple(sorted({*one.pages, *in_cities.get(one.slug, ())}))) if one.kind == "city" else one
        for one in every
    )
    return tuple(one for one in whole if one.kind not in _TAGGED or one.pages or not tagged.isdisjoint(hub_tags(one)))


async def _pages_in_cities(
    connection: Connection, scope: Scope, cities: Collection[ParentCandidate]
) -> dict[str, set[PageKey]]:
    """Return the pages whose summaries place them in one of the cities, by the city's slug."""
    titles = {one_line(city.title) for city in cities}
    spaced, unspaced = _first_words(titles, _LETTERS)
    rows = await candidates.summaries_with(connection, scope, spaced, unspaced) if titles else []
    found: dict[str, set[PageKey]] = {}
    for row in rows:
        found.setdefault(slug(parents.city_in_summary(row["summary"])), set()).add(
            PageKey(PageType(row["type"]), row["slug"])
        )
    return found


def _first_words(names: Iterable[str], word: re.Pattern[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Return the names by their first word, and those whose script has no capitals and perhaps no spaces."""
    spaced: dict[str, list[str]] = {}
    unspaced = []
    for name in names:
        first = word.search(name)
        if first and first[0].lower() != first[0].upper():
            spaced.setdefault(first[0], []).append(name)
        else:
            unspaced.append(name)
    return spaced, unspaced


async def memories_behind(
    connection: Connection, scope: Scope, changed: Sequence[UUID], *, has_themes: bool
) -> list[str]:
    """Return the ids of memories that prove a city or a journal of the pages and, with `has_themes`, a theme by its tag."""
    rows = await candidates.outlines(connection, scope, changed) if has_themes else []
    themes = {tag for row in rows for tag in row["tags"] if names_theme(tag)}
    return await candidates.memories_of_tags(connection, scope, changed, [CITY_TAG, JOURNAL_TAG, *sorted(themes)])


async def pages_of(connection: Connection, scope: Scope, found: Iterable[ParentCandidate]) -> set[PageKey]:
    """Return the active pages with a candidate's tag, or with its title in one of their names. People are ignored."""
    hubs = [one for one in found if one.kind != PERSON and hub_tags(one)]
    rows = await candidates.tagged(connection, scope, sorted({tag for one in hubs for tag in hub_tags(one)}))
    tagged = {PageKey(PageType(kind), key) for _, kind, key in rows}
    keys = {key for one in hubs if one.kind != PERIOD for key in alias_keys(one.title)}
    if not keys:
        return tagged
    spaced, unspaced = _first_words(keys, _NO_SPACES)
    return tagged | {
        PageKey(PageType(kind), key)
        for name, kind, key in await candidates.names_with(connection, scope, spaced, unspaced)
        if any(one in name for one in unspaced)
        or any(f" {one} " in f" {name} " for word in name.split() for one in spaced.get(word, ()))
    }
