"""Operators' rulings on names and pages: the page that a name means, titles of pages, and merged pages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from compiler.plan.contract import Alias, Page, PageKey, Ruling, RulingKind
from compiler.plan.proposal import ProposedName, ProposedPage
from compiler.plan.text.markdown import alias_keys, one_line, slug
from store.text.texts import fold

# Origins of names that an operator gave. A shared name also belongs to other pages.
MANUAL, SHARED = "manual", "shared"


@dataclass(frozen=True, slots=True)
class Rulings:
    """An owner's rulings by kind. `names` maps a folded name to the pages that it was given to, without shared names.

    `manual` has the names that operators gave each page, shared ones included; `merged` maps a page to the one it was merged
    into; `unsaid` has the SENTENCE rulings of each page.
    """

    titles: Mapping[PageKey, str] = field(default_factory=dict)
    names: Mapping[str, tuple[PageKey, ...]] = field(default_factory=dict)
    manual: Mapping[PageKey, tuple[str, ...]] = field(default_factory=dict)
    merged: Mapping[PageKey, PageKey] = field(default_factory=dict)
    unsaid: Mapping[PageKey, tuple[Ruling, ...]] = field(default_factory=dict)

    @property
    def pages(self) -> frozenset[PageKey]:
        """All pages that a ruling names."""
        named = (key for keys in self.names.values() for key in keys)
        return frozenset((*self.titles, *self.manual, *self.merged, *self.merged.values(), *self.unsaid, *named))

    def end(self, key: PageKey) -> PageKey:
        """Return the page at the end of the chain of merges, or the page itself."""
        seen = {key}
        while (into := self.merged.get(key)) is not None and into not in seen:
            key = into
            seen.add(key)
        return key

    def named_pages(self, name: str) -> frozenset[PageKey]:
        """Return the pages to which rulings give this folded name, alone or shared with other pages."""
        by_hand = (page for page, texts in self.manual.items() if name in map(fold, texts))
        return frozenset((*self.names.get(name, ()), *by_hand))

    def unsaid_on(self, pages: Collection[PageKey]) -> dict[PageKey, tuple[Ruling, ...]]:
        """Return the SENTENCE rulings of each of the pages: its own, and those of pages that were merged into it."""
        found: dict[PageKey, list[Ruling]] = {}
        for key, reported in sorted(self.unsaid.items()):
            for page in {key, self.end(key)} & {*pages}:
                found.setdefault(page, []).extend(reported)
        return {key: tuple(reported) for key, reported in found.items()}

    def page_of(self, proposed: ProposedPage) -> PageKey | None:
        """Return the page to which a ruling gives the proposal's title; None if there is none or no single one.

        Of several pages, those of the proposal's type take precedence.
        """
        found = [key for name in alias_keys(proposed.title) for key in self.names.get(name, ())]
        same = {self.end(key) for key in found if key.type is proposed.type} or {self.end(key) for key in found}
        own_slug = slug(proposed.title) or slug(proposed.slug)
        key = PageKey(proposed.type, own_slug) if own_slug else None
        if not same and key is not None and (key in self.merged or key in self.titles):
            return self.end(key)
        return same.pop() if len(same) == 1 else None

    def ends(self, names: Iterable[str], pages: Iterable[PageKey]) -> frozenset[PageKey]:
        """Return the pages that the names mean and the given pages, each followed through merges."""
        keys = (key for name in names for key in self.names.get(name, ()))
        return frozenset(self.end(key) for key in (*keys, *pages))

    def titled(self, key: PageKey, proposed: ProposedPage) -> ProposedPage:
        """Return the proposal with the title that an operator gave the page; its own title becomes an alias."""
        title = self.titles.get(key)
        if title is None or title == one_line(proposed.title):
            return proposed
        own_name = ProposedName(proposed.title, proposed.memory_ids)
        return replace(proposed, title=title, aliases=(own_name, *proposed.aliases))

    def named(self, page: Page) -> Page:
        """Return the page with the names that operators gave it."""
        known = {alias.key for alias in page.aliases if alias.origin != "compiler"}
        aliases = [
            Alias(key, name, MANUAL, next((one.sources for one in page.aliases if one.key == key), ()))
            for name in self.manual.get(page.key, ())
            for key in alias_keys(name)
            if key not in known
        ]
        kept = (one for one in page.aliases if one.key not in {alias.key for alias in aliases})
        return replace(page, aliases=(*kept, *aliases)) if aliases else page


def rulings(every: Iterable[Ruling]) -> Rulings:
    """Return the rulings, grouped by kind."""
    titles: dict[PageKey, str] = {}
    names: dict[str, list[PageKey]] = {}
    manual: dict[PageKey, list[str]] = {}
    merged: dict[PageKey, PageKey] = {}
    unsaid: dict[PageKey, list[Ruling]] = {}
    for one in every:
        match one.kind:
            case RulingKind.TITLE:
                titles[one.page] = one.text
            case RulingKind.NAME:
                if one.detail != SHARED:
                    names.setdefault(one.ref, []).append(one.page)
                if one.detail in (MANUAL, SHARED):
                    manual.setdefault(one.page, []).append(one.text)
            case RulingKind.SENTENCE:
                unsaid.setdefault(one.page, []).append(one)
            case RulingKind.MERGED if one.into is not None:
                merged[one.page] = one.into
            case _:
                pass
    return Rulings(
        titles,
        {name: tuple(sorted(keys)) for name, keys in names.items()},
        {key: tuple(sorted(texts)) for key, texts in manual.items()},
        merged,
        {key: tuple(one) for key, one in unsaid.items()},
    )


def unkept_names(before: Iterable[Ruling], remaining: Rulings) -> dict[PageKey, set[str]]:
    """Return by page the folded names that rulings gave it, itself or through a merge, and that no remaining ruling gives it."""
    every = tuple(before)
    ends = rulings(every)
    named = [(one, ends.end(one.page)) for one in every if one.kind is RulingKind.NAME]
    kept = {(end, one.ref) for one, end in named if one.page in remaining.named_pages(one.ref)}
    found: dict[PageKey, set[str]] = {}
    for one, end in named:
        for page in {one.page, end} if (end, one.ref) not in kept else ():
            found.setdefault(page, set()).add(one.ref)
    return found


def known_as(page: Page) -> str:
    """Return the name from which the page's slug was made, also if an operator retitled the page."""
    names = (alias.display for alias in page.aliases if slug(alias.display) == page.key.slug)
    return page.title if slug(page.title) == page.key.slug else next(names, page.title)
