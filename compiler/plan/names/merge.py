"""Merge before create: decides whether a proposed page already exists under another name.

The names to look up are collected first, the store answers in one query, and the answer is judged here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from compiler.plan.contract import Page, PageKey, PageType
from compiler.plan.names import spelling
from compiler.plan.names.ruled import Rulings
from compiler.plan.names.same_names import is_other_gender, is_titled, surname
from compiler.plan.places.gazetteer import NO_PLACES, Gazetteer
from compiler.plan.proposal import Proposal, ProposedPage
from compiler.plan.text.bearers import are_labelled, are_several, is_beast, is_kin_of_somebody, told
from compiler.plan.text.markdown import MAX_NAME_CHARS, alias_key, alias_keys, plain_key, slug
from compiler.plan.text.namesakes import has_namesakes, is_acronym_in, is_compound_of, is_partnership, is_town_of

SIMILARITY = 0.85
CITY_TAG = "city:"


class Way(StrEnum):
    """How a name matched: its key is an alias, an alias starts with it, or an alias is spelled similarly."""

    EXACT = "exact"
    PREFIX = "prefix"
    SIMILAR = "similar"


@dataclass(frozen=True, slots=True)
class Names:
    """The keys to look up in the scope, each list sorted and unique.

    `keys`: aliases equal to these. `prefixes`: aliases that start with one of these and continue after a space, up to 50 each
    (more are ambiguous anyway). `similar`: aliases or folded titles of pages of that type with a trigram similarity of 0.85 or
    more. `pages`: pages under these keys, archived ones too.
    """

    keys: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    similar: tuple[tuple[PageType, str], ...] = ()
    pages: tuple[PageKey, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A matching alias of an active page: the looked-up key (`asked`) and how it matched, the alias' key, and the page."""

    asked: str
    way: Way
    alias: str
    page: PageKey
    similarity: float = 1.0


@dataclass(frozen=True, slots=True)
class Matches:
    """The result of a lookup: the matches, the complete pages that matched or have a looked-up page key, and the rulings."""

    found: tuple[Match, ...] = ()
    pages: tuple[Page, ...] = ()
    rulings: Rulings = field(default_factory=Rulings)


@dataclass(frozen=True, slots=True)
class Resolution:
    """The existing page that a proposal stands for, and how it was found: `way` is exact, derived or fuzzy."""

    page: PageKey
    way: str = ""


@dataclass(frozen=True, slots=True)
class Merger:
    """Resolves proposed pages against the result of a lookup."""

    pages: Mapping[PageKey, Page]
    by_asked: Mapping[tuple[Way, str], tuple[Match, ...]]
    gazetteer: Gazetteer = field(default=NO_PLACES)
    rulings: Rulings = field(default_factory=Rulings)

    def key_of(self, proposed: ProposedPage) -> PageKey | None:
        """Return the key of the proposed page: that of the page to which a ruling gives its name, else the key of its title."""
        return self.rulings.page_of(proposed) or proposed_key(proposed)

    def resolve(self, proposed: ProposedPage) -> Resolution | None:
        """Return the existing page that the proposal stands for; None if there is none, or if the proposal fits two pages."""
        ruled = self.rulings.page_of(proposed)
        if ruled is not None:
            ruled_page = self.pages.get(ruled)
            return Resolution(ruled, "exact") if ruled_page is not None and ruled_page.is_active else None
        ways = (
            ("exact", self._exact(proposed, spelling.exact_keys(proposed))),
            ("derived", self._exact(proposed, spelling.derived_keys(proposed, self.gazetteer))),
            ("derived", self._longer(proposed)),
            ("fuzzy", self._similar(proposed)),
        )
        for way, found in ways:
            page = self._only(
                proposed, {one for one in found if not self._is_addressed_other(proposed, self.pages[one])}
            )
            if page is not None:
                return Resolution(page, way)
        return None

    def knows(self, key: str) -> bool:
        """Return whether an active page has this alias key."""
        return (Way.EXACT, key) in self.by_asked

    def has(self, page_type: PageType, name: str) -> bool:
        """Return whether an active page of the type has the name."""
        found = (match for key in alias_keys(name) for match in self.by_asked.get((Way.EXACT, key), ()))
        return any(match.page.type is page_type for match in found)

    def page_of(self, key: str) -> PageKey | None:
        """Return the only page with this alias key, or of several the one with that title; None if neither is unique."""
        found = {match.page for match in self.by_asked.get((Way.EXACT, key), ())}
        return self._one({key}, found)

    def _exact(self, proposed: ProposedPage, keys: Iterable[str]) -> set[PageKey]:
        found = {match.page for key in keys for match in self.by_asked.get((Way.EXACT, key), ())}
        return {page for page in found if self._same_place(proposed, page)}

    def _is_addressed_other(self, proposed: ProposedPage, page: Page) -> bool:
        """Return whether one of the titles is the other after a form of address, and lines say that it is another's: a wife Ana,
        and `Doña Ana`.
        """
        key, known = plain_key(proposed.title), plain_key(page.title)
        if surname(known) == key:
            lines = _lines(proposed)
            return is_other_gender(key, known, lines) or any(_is_of_house(proposed.title, line) for line in lines)
        if surname(key) == known:
            lines = [line for section in page.sections for line in section.body_md.split("\n")]
            return is_other_gender(known, key, lines) or any(_is_of_house(page.title, line) for line in lines)
        return False

    def _longer(self, proposed: ProposedPage) -> set[PageKey]:
        """Return the pages of the type with longer names that the proposed title abbreviates, unless its text has both, has the
        title as that of a town or of several people, the title is an acronym, or the longer name is that of a firm of partners.
        """
        key = plain_key(proposed.title)
        said = _lines(proposed)
        lines = list(map(plain_key, said))
        if any(has_namesakes(proposed.title, line) for line in (*said, *self._beginning(proposed))):
            return set()
        aliases = {
            match.alias: match.page
            for prefix in spelling.prefixes(proposed, self.gazetteer)
            for match in self.by_asked.get((Way.PREFIX, prefix), ())
            if match.page.type == proposed.type
            and self._same_place(proposed, match.page)
            and not spelling.are_distinct(key, plain_key(match.alias), lines)
            and not is_acronym_in(proposed.title, plain_key(match.alias))
            and not is_town_of(proposed.title, plain_key(match.alias), said)
            and not is_partnership(self.pages[match.page].title)
            and not is_compound_of(key, self.pages[match.page].title)
            and not _are_of_several(proposed.title, said, self.pages[match.page])
        }
        chosen = spelling.longer_names(key, aliases, self.gazetteer)
        return {aliases[alias] for alias in chosen}

    def _beginning(self, proposed: ProposedPage) -> Iterator[str]:
        """Yield the lines of the pages with names that begin with the proposed title."""
        prefixes = spelling.prefixes(proposed, self.gazetteer)
        keys = {one.page for prefix in prefixes for one in self.by_asked.get((Way.PREFIX, prefix), ())}
        for section in (section for key in sorted(keys) for section in self.pages[key].sections):
            yield from section.body_md.split("\n")

    def _similar(self, proposed: ProposedPage) -> set[PageKey]:
        """Return the most similarly spelled page of the type, if the difference looks like a typo."""
        key = alias_key(proposed.title)
        found = [
            match
            for match in self.by_asked.get((Way.SIMILAR, key), ())
            if match.similarity >= SIMILARITY
            and match.page.type == proposed.type
            and spelling.is_misspelled(plain_key(key), plain_key(match.alias))
            and self._same_place(proposed, match.page)
        ]
        best = max((match.similarity for match in found), default=0.0)
        return {match.page for match in found if match.similarity == best}

    def _only(self, proposed: ProposedPage, found: set[PageKey]) -> PageKey | None:
        """Return the one page among these, preferring the same type, then the title."""
        same = {page for page in found if page.type == proposed.type}
        same = same or {page for page in found if PageType.DECISION not in (page.type, proposed.type)}
        return self._one(alias_keys(proposed.title), same)

    def _one(self, keys: Collection[str], found: set[PageKey]) -> PageKey | None:
        if len(found) > 1:
            found = {page for page in found if not set(alias_keys(self.pages[page].title)).isdisjoint(keys)}
        return min(found) if len(found) == 1 else None

    def _same_place(self, proposed: ProposedPage, key: PageKey) -> bool:
        """Return whether the two are not known to be in different cities, nor to be different cities."""
        page = self.pages[key]
        page_cities = {tag.name.removeprefix(CITY_TAG) for tag in page.tags if tag.name.startswith(CITY_TAG)}
        city = slug(proposed.city) or slug(spelling.city_after_comma(proposed.title, self.gazetteer))
        if city and page_cities and city not in page_cities:
            return False
        one, other = spelling.city(proposed.title, self.gazetteer), spelling.city(page.title, self.gazetteer)
        return not one or not other or one == other


def names(proposal: Proposal, *, gazetteer: Gazetteer = NO_PLACES) -> Names:
    """Return the names to look up in order to resolve the proposed pages."""
    proposed = [*proposal.new_pages, *(promotion.page for promotion in proposal.promotions)]
    proposed += [promotion.new_page for promotion in proposal.section_promotions]
    keys = {key for page in proposed for key in spelling.exact_keys(page)}
    keys |= {key for page in proposed for key in spelling.derived_keys(page, gazetteer)}
    keys |= {key for mention in proposal.mentions for key in alias_keys(mention.alias[:MAX_NAME_CHARS])}
    return Names(
        keys=tuple(sorted(keys)),
        prefixes=tuple(sorted({key for page in proposed for key in spelling.prefixes(page, gazetteer)})),
        similar=tuple(sorted({(page.type, alias_key(page.title)) for page in proposed})),
        pages=tuple(sorted({key for page in proposed if (key := proposed_key(page))})),
    )


def merger(matches: Matches, pages: Iterable[Page] = (), *, gazetteer: Gazetteer = NO_PLACES) -> Merger:
    """Return a Merger for the matches and the candidate pages."""
    known = {page.key: page for page in (*pages, *matches.pages)}
    by_asked: dict[tuple[Way, str], list[Match]] = {}
    for match in matches.found:
        if match.page in known:
            _add(by_asked.setdefault((match.way, match.asked), []), match)
    for page in known.values():
        for alias in page.aliases if page.is_active else ():
            _add(by_asked.setdefault((Way.EXACT, alias.key), []), Match(alias.key, Way.EXACT, alias.key, page.key))
    ordered = {
        key: tuple(sorted(found, key=lambda match: (match.page, match.alias)) if len(found) > 1 else found)
        for key, found in by_asked.items()
    }
    return Merger(known, ordered, gazetteer, matches.rulings)


def proposed_key(page: ProposedPage) -> PageKey | None:
    """Return the key for a page with this title, or None if it has no letter for a slug."""
    made = slug(page.title) or slug(page.slug)
    return PageKey(page.type, made) if made else None


def _lines(proposed: ProposedPage) -> list[str]:
    return [line for section in proposed.sections for line in section.body_md.split("\n")]


def _are_of_several(title: str, said: Sequence[str], page: Page) -> bool:
    """Return whether lines about a short name say that the page is another's: a brother, and somebody called `Herr Lorenz`."""
    lines = [line for section in page.sections for line in section.body_md.split("\n")]
    short, longer = told((title,), said), told((page.title,), lines)
    count = sum(page.title in line for line in lines)
    if are_several(short | longer) or (" " in page.title and are_labelled(short, longer, count)):
        return True
    is_formal = count > 1 or any(surname(plain_key(alias.key)) for alias in page.aliases)
    family_name = plain_key(page.title).rpartition(" ")[2]
    is_formal |= is_titled(family_name, lines)
    of_others = (line for line in said if family_name not in plain_key(line).split())
    return is_formal and any(is_kin_of_somebody(title, line) for line in of_others)


def _is_of_house(name: str, line: str) -> bool:
    """Return whether a line says that the bearer of a name is somebody's relative or an animal."""
    return is_kin_of_somebody(name, line) or is_beast(name, line)


def _add(found: list[Match], match: Match) -> None:
    if match not in found:
        found.append(match)
