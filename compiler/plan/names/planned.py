"""Lookup by name of the pages that a plan itself creates, by the store's rules for existing pages."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from compiler.plan.contract import Alias, Page, PageKey, Section, Tag
from compiler.plan.names import spelling
from compiler.plan.names.merge import CITY_TAG, SIMILARITY, Match, Matches, Names, Way, merger, names, proposed_key
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal, ProposedPage
from compiler.plan.text.markdown import plain_key, slug

MOST_LONGER = 50


@dataclass(slots=True)
class PagesByName:
    """Pages in memory with the store's lookup over their names: equal, longer, and similar by trigrams."""

    pages: dict[PageKey, Page] = field(default_factory=dict)
    _equal_to: dict[str, set[PageKey]] = field(default_factory=lambda: defaultdict(set))
    _longer_than: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    _sharing: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, page: Page) -> None:
        """Add a page with its aliases, or further aliases of a page added before."""
        self.pages[page.key] = page
        for alias in page.aliases:
            self._equal_to[alias.key].add(page.key)
            for at in (at for at, letter in enumerate(alias.key) if letter == " "):
                self._longer_than[alias.key[:at]].add(alias.key)
            for one in trigrams(alias.key):
                self._sharing[one].add(alias.key)

    def knows(self, key: str) -> bool:
        """Return whether a page has this alias key."""
        return key in self._equal_to

    def look_up(self, wanted: Names) -> Matches:
        """Return the matches that the store's lookup would find among these pages."""
        found = {*self._equal(wanted), *self._longer(wanted), *self._similar(wanted)}
        return Matches(tuple(found), tuple(self.pages[key] for key in {match.page for match in found}))

    def _equal(self, wanted: Names) -> Iterator[Match]:
        for key in wanted.keys:
            yield from (Match(key, Way.EXACT, key, page) for page in self._equal_to.get(key, ()))

    def _longer(self, wanted: Names) -> Iterator[Match]:
        for prefix in wanted.prefixes:
            for alias in sorted(self._longer_than.get(prefix, ()))[:MOST_LONGER]:
                yield from (Match(prefix, Way.PREFIX, alias, page) for page in self._equal_to[alias])

    def _similar(self, wanted: Names) -> Iterator[Match]:
        for _, name in wanted.similar:
            name_trigrams = trigrams(name)
            rarest = sorted(name_trigrams, key=lambda one: (len(self._sharing.get(one, ())), one))
            enough = rarest[: math.floor(len(name_trigrams) * (1 - SIMILARITY)) + 1]
            for alias in sorted({alias for one in enough for alias in self._sharing.get(one, ())}):
                likeness = _likeness(name_trigrams, trigrams(alias))
                if likeness >= SIMILARITY:
                    yield from (Match(name, Way.SIMILAR, alias, page, likeness) for page in self._equal_to[alias])


@dataclass(slots=True)
class PlannedPages:
    """The pages of a plan so far. Twins are found by the rules for existing pages, in either order of the two."""

    gazetteer: Gazetteer = NO_PLACES
    _names: PagesByName = field(default_factory=PagesByName)
    _proposed: dict[PageKey, ProposedPage] = field(default_factory=dict)
    _seeking: dict[str, set[PageKey]] = field(default_factory=lambda: defaultdict(set))

    def add(self, key: PageKey, proposed: ProposedPage) -> None:
        """Add a page under its key, or replace its earlier state."""
        self._proposed[key] = proposed
        self._names.add(_page(key, proposed))
        for one in (*spelling.derived_keys(proposed, self.gazetteer), *spelling.prefixes(proposed, self.gazetteer)):
            self._seeking[one].add(key)

    def knows(self, key: str) -> bool:
        """Return whether a page has this alias key."""
        return self._names.knows(key)

    def twin(self, proposed: ProposedPage) -> PageKey | None:
        """Return the page that the proposal resolves to, or that resolves to the proposal; None unless there is exactly one."""
        found = self._resolved(proposed, self._names)
        if found is not None:
            return found
        own_key = proposed_key(proposed)
        if own_key is None:
            return None
        alone = PagesByName()
        alone.add(_page(own_key, proposed))
        later = {key for key in self._seekers(proposed) if self._resolved(self._proposed[key], alone) is not None}
        return later.pop() if len(later) == 1 else None

    def _seekers(self, proposed: ProposedPage) -> set[PageKey]:
        """Return the pages of which the proposal may be another spelling or a longer name."""
        keys = spelling.exact_keys(proposed)
        starts = (key[:at] for key in keys for at, letter in enumerate(key) if letter == " ")
        return {page for one in (*keys, *starts) for page in self._seeking.get(one, ())}

    def _resolved(self, proposed: ProposedPage, among: PagesByName) -> PageKey | None:
        matches = among.look_up(names(Proposal(new_pages=(proposed,)), gazetteer=self.gazetteer))
        found = merger(matches, gazetteer=self.gazetteer).resolve(proposed) if matches.found else None
        return found.page if found else None


def _page(key: PageKey, proposed: ProposedPage) -> Page:
    aliases = tuple(Alias(one, proposed.title) for one in spelling.exact_keys(proposed))
    tags = (Tag(f"{CITY_TAG}{slug(proposed.city)}"),) if slug(proposed.city) else ()
    sections = tuple(Section(one.slug, one.heading, one.body_md) for one in proposed.sections)
    return Page(key, proposed.title, "", aliases=aliases, tags=tags, sections=sections)


@lru_cache(maxsize=16384)
def trigrams(text: str) -> frozenset[str]:
    """Return the trigrams of a text as in `pg_trgm`: of each word, with two spaces before and one after."""
    padded = (f"  {word} " for word in plain_key(text).split())
    return frozenset(word[at : at + 3] for word in padded for at in range(len(word) - 2))


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))
