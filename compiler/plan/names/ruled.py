"""What operators ruled on names and pages: which page a name means, what it is titled, which pages are parts of others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from compiler.plan.contract import Alias, Page, PageKey, Ruling, RulingKind
from compiler.plan.proposal import ProposedName, ProposedPage
from compiler.plan.text.markdown import alias_keys, one_line, slug

# Who gave a page its name, beside the compiler: an operator. A shared name is another page's too.
MANUAL, SHARED = "manual", "shared"


@dataclass(frozen=True, slots=True)
class Rulings:
    """An owner's rulings by what they are about. `names` are the pages that a folded name was given to, shared ones apart."""

    titles: Mapping[PageKey, str] = field(default_factory=dict)
    names: Mapping[str, tuple[PageKey, ...]] = field(default_factory=dict)
    manual: Mapping[PageKey, tuple[str, ...]] = field(default_factory=dict)
    merged: Mapping[PageKey, PageKey] = field(default_factory=dict)
    unsaid: Mapping[PageKey, tuple[Ruling, ...]] = field(default_factory=dict)

    @property
    def pages(self) -> frozenset[PageKey]:
        """Every page that a ruling is about."""
        named = (key for keys in self.names.values() for key in keys)
        return frozenset((*self.titles, *self.manual, *self.merged, *self.merged.values(), *self.unsaid, *named))

    def end(self, key: PageKey) -> PageKey:
        """Return the page that this one is a part of now, or the page itself."""
        seen = {key}
        while (into := self.merged.get(key)) is not None and into not in seen:
            key = into
            seen.add(key)
        return key

    def page_of(self, proposed: ProposedPage) -> PageKey | None:
        """Return the page that an operator gave the proposal's title to; None if there is none, or several of other types."""
        found = [key for name in alias_keys(proposed.title) for key in self.names.get(name, ())]
        same = {self.end(key) for key in found if key.type is proposed.type} or {self.end(key) for key in found}
        own = slug(proposed.title) or slug(proposed.slug)
        key = PageKey(proposed.type, own) if own else None
        if not same and key is not None and (key in self.merged or key in self.titles):
            return self.end(key)
        return same.pop() if len(same) == 1 else None

    def ends(self, names: Iterable[str], pages: Iterable[PageKey]) -> frozenset[PageKey]:
        """Return the pages that the names and pages lead to."""
        keys = (key for name in names for key in self.names.get(name, ()))
        return frozenset(self.end(key) for key in (*keys, *pages))

    def titled(self, key: PageKey, proposed: ProposedPage) -> ProposedPage:
        """Return the proposal under the title that an operator gave the page, its own title becoming a name."""
        title = self.titles.get(key)
        if title is None or title == one_line(proposed.title):
            return proposed
        own = ProposedName(proposed.title, proposed.memory_ids)
        return replace(proposed, title=title, aliases=(own, *proposed.aliases))

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
    """Return the rulings by what they are about."""
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


def known_as(page: Page) -> str:
    """Return the name that the page got its slug from, which an operator's title does not replace."""
    names = (alias.display for alias in page.aliases if slug(alias.display) == page.key.slug)
    return page.title if slug(page.title) == page.key.slug else next(names, page.title)
