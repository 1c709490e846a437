"""Applies items to pages in memory: returns the resulting pages, and the number of items that fit under the caps.

Pure: takes the present state of the pages that the items name and returns their new state. An unchanged value
stays the same object, so that no unchanged row is written. Links and mentions pass through; the store merges them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import TypeVar

from compiler.plan import bounds
from compiler.plan.contract import (
    Alias,
    ArchivePage,
    CitedMemory,
    CreatePage,
    DeletePage,
    DropAlias,
    DropLink,
    DropRuling,
    DropSighting,
    EndMemory,
    HoldMention,
    IgnoreMention,
    Item,
    LinkKind,
    LinkOrigin,
    Page,
    PageKey,
    PageType,
    RemoveSection,
    RenamePage,
    ScoreHubs,
    Section,
    SetHubness,
    SetParent,
    SettleMention,
    Tag,
    TitlePage,
    WriteAlias,
    WriteLink,
    WriteRuling,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from store.text.texts import fold as folded_name

_BY_MEMORY = attrgetter("memory_id")

_Cited = TypeVar("_Cited", Alias, Tag, Section)

MentionItem = HoldMention | DropSighting | SettleMention | IgnoreMention
RulingItem = WriteRuling | DropRuling

TEMPLATES: Mapping[PageType, tuple[str, ...]] = {
    PageType.ENTITY: ("overview", "notes", "visits", "related"),
    PageType.TOPIC: ("summary", "highlights", "related_entities", "recent"),
    PageType.DECISION: ("context", "decision", "rationale", "consequences"),
}


@dataclass(frozen=True, slots=True)
class RemainingCaps:
    """The numbers of pages that may still be created and of sections that may still be rewritten."""

    new_pages: int
    sections: int


@dataclass(frozen=True, slots=True)
class Folded:
    """The result of the items: new state of pages, changes of links and mentions in order, and the number of items taken.

    `counters` count actual changes, not attempts. `cap` names the cap that stopped the reduction, empty if none did. `scored`
    are the pages whose hub score is computed after everything else is written. Rulings pass through.
    """

    pages: Mapping[PageKey, Page]
    links: tuple[WriteLink | DropLink, ...]
    mentions: tuple[MentionItem, ...]
    taken: int
    cap: str = ""
    counters: Mapping[str, int] = field(default_factory=dict)
    deleted: tuple[PageKey, ...] = ()
    scored: tuple[PageKey, ...] = ()
    rulings: tuple[WriteRuling | DropRuling, ...] = ()


def keys_of(items: Iterable[Item]) -> tuple[PageKey, ...]:
    """Return the pages whose content or place in the hierarchy the items change, and their parents."""
    found: set[PageKey] = set()
    for item in items:
        match item:
            case CreatePage(page=page):
                found.add(page.key)
            case SetParent(page=key, parent=parent):
                found.update(one for one in (key, parent) if one is not None)
            case (
                HoldMention()
                | DropSighting()
                | SettleMention()
                | IgnoreMention()
                | WriteLink()
                | DropLink()
                | ScoreHubs()
                | WriteRuling()
                | DropRuling()
                | EndMemory()
            ):
                pass
            case _:
                found.add(item.page)
    return tuple(sorted(found))


def fold(pages: Mapping[PageKey, Page], items: Sequence[Item], limits: RemainingCaps) -> Folded:
    """Return the result of the items in order, up to the first that exceeds a cap."""
    reduction = _Reduction(dict(pages), limits)
    taken = 0
    for item in items:
        if not reduction.take(item):
            break
        taken += 1
    return Folded(
        reduction.pages,
        tuple(reduction.links),
        tuple(reduction.mentions),
        taken,
        "" if taken == len(items) else reduction.cap,
        reduction.counters,
        tuple(reduction.deleted),
        tuple(sorted(reduction.scored)),
        tuple(reduction.rulings),
    )


@dataclass(slots=True)
class _Reduction:
    """The pages after the items so far."""

    pages: dict[PageKey, Page]
    limits: RemainingCaps
    links: list[WriteLink | DropLink] = field(default_factory=list)
    mentions: list[MentionItem] = field(default_factory=list)
    deleted: list[PageKey] = field(default_factory=list)
    scored: set[PageKey] = field(default_factory=set)
    rulings: list[WriteRuling | DropRuling] = field(default_factory=list)
    counters: Counter[str] = field(default_factory=Counter)
    cap: str = ""

    def take(self, item: Item) -> bool:
        """Apply one item; return False if a cap is reached and nothing was done."""
        match item:
            case CreatePage(page=page):
                return self._create(page)
            case WriteSection(page=key, section=section):
                return self._write_section(key, section)
            case WriteLink() | DropLink():
                self.links.append(item)
            case HoldMention() | DropSighting() | SettleMention() | IgnoreMention():
                self.mentions.append(item)
            case SetParent(page=key, parent=parent):
                self._set_parent(key, parent)
            case DeletePage(page=key):
                self._delete(key)
            case ScoreHubs(pages=pages):
                self.scored.update(pages)
            case WriteRuling() | DropRuling():
                self.rulings.append(item)
            case EndMemory():  # of memories, not of pages: the job applies it
                pass
            case _:
                self._change(item)
        return True

    def _create(self, page: Page) -> bool:
        there = self.pages.get(page.key)
        if there is not None and there.is_active:
            return self._join(there, page)
        if self.counters["pages_created"] >= self.limits.new_pages:
            self.cap = "new_pages"
            return False
        kept = tuple(one for one in there.aliases if one.origin != "compiler") if there else ()
        aliases = {one.key: one for one in (_title_alias(page), *page.aliases, *kept)}
        made = replace(
            page,
            sections=_in_template_order(page.key.type, page.sections),
            aliases=tuple(aliases.values()),
            is_active=True,
        )
        self.pages[page.key] = normal(made)
        self.counters["pages_created"] += 1
        self.counters["pages_resurrected"] += there is not None
        self.counters["sections_created"] += len(page.sections)
        return True

    def _delete(self, key: PageKey) -> None:
        if self.pages.pop(key, None) is not None:
            self.deleted.append(key)
            self.counters["pages_deleted"] += 1

    def _join(self, there: Page, page: Page) -> bool:
        """Merge a proposed page into an existing one; idempotent."""
        for section in page.sections:
            if not self._write_section(page.key, section):
                return False
        for alias in page.aliases:
            self._change(WriteAlias(page.key, alias))
        for tag in page.tags:
            self._change(WriteTag(page.key, tag))
        if page.summary and not there.summary:
            self._change(WriteSummary(page.key, page.summary, page.summary_sources))
        return True

    def _write_section(self, key: PageKey, section: Section) -> bool:
        page = self.pages.get(key)
        if page is None:
            self.counters["items_without_page"] += 1
            return True
        wanted = _normal(section, _claimed_elsewhere(page, section.slug))
        there = next((one for one in page.sections if one.slug == section.slug), None)
        if there == wanted:
            return True
        is_rewrite = there is not None and there.body_md != wanted.body_md
        if is_rewrite and self.counters["sections_rewritten"] >= self.limits.sections:
            self.cap = "sections"
            return False
        self.counters["sections_rewritten"] += is_rewrite
        self.counters["sections_created"] += there is None
        self._put(page, replace(page, sections=_with(_handing_over(page, wanted), wanted)))
        return True

    def _put(self, before: Page, after: Page) -> None:
        if before != after:
            self.pages[after.key] = after

    def _change(self, item: Item) -> None:
        assert not isinstance(
            item,
            CreatePage
            | DeletePage
            | WriteSection
            | WriteLink
            | DropLink
            | ScoreHubs
            | EndMemory
            | MentionItem
            | RulingItem,
        )
        page = self.pages.get(item.page)
        if page is None:
            self.counters["items_without_page"] += 1
            return
        match item:
            case RemoveSection(slug=slug):
                kept = tuple(one for one in page.sections if one.slug != slug)
                self.counters["sections_removed"] += len(page.sections) - len(kept)
                self._put(page, replace(page, sections=kept))
            case WriteSummary(summary=summary, sources=sources):
                self._put(page, replace(page, summary=summary, summary_sources=_sorted(sources)))
            case WriteAlias(alias=alias):
                self._put(page, replace(page, aliases=_with_alias(page, alias)))
            case WriteTag(tag=tag):
                others = {one.name: one for one in page.tags if one.name != tag.name}
                added = {tag.name: replace(tag, sources=_sorted(tag.sources))} if tag.sources else {}
                merged = others | added
                self._put(page, replace(page, tags=tuple(merged[name] for name in sorted(merged))))
            case SetHubness(score=score):
                self._put(page, replace(page, hubness_score=score))
            case RenamePage() | TitlePage():
                self._put(page, _titled(page, item))
            case DropAlias(key=key):
                self._put(page, replace(page, aliases=tuple(one for one in page.aliases if one.key != key)))
            case ArchivePage():
                self.counters["pages_archived"] += page.is_active
                self._put(page, replace(page, is_active=False))

    def _set_parent(self, key: PageKey, parent: PageKey | None) -> None:
        page = self.pages.get(key)
        if page is None or (parent is not None and parent not in self.pages):
            self.counters["items_without_page"] += 1
            return
        if page.parent is not None and page.parent != parent:
            self.links.extend(DropLink(one) for one in hierarchy_links(page.parent, key))
        if parent is not None:
            self.links.extend(hierarchy_links(parent, key))
        self._put(page, replace(page, parent=parent))


def hierarchy_links(parent: PageKey, child: PageKey) -> tuple[WriteLink, WriteLink]:
    """Return the pair of links that mirrors a page's parent."""
    return (
        WriteLink(parent, child, LinkKind.PARENT_OF, LinkOrigin.PROMOTION, "parent"),
        WriteLink(child, parent, LinkKind.CHILD_OF, LinkOrigin.PROMOTION, "parent"),
    )


def normal(page: Page) -> Page:
    """Return the page in normal form, in which pages are compared and written: all unordered parts are sorted."""
    return replace(
        page,
        summary_sources=_sorted(page.summary_sources),
        sections=tuple(_normal(section, frozenset()) for section in page.sections),
        aliases=tuple(sorted(map(_in_order, page.aliases), key=lambda a: a.key)),
        tags=tuple(sorted(map(_in_order, page.tags), key=lambda t: t.name)),
    )


def _in_order(one: _Cited) -> _Cited:
    return one if len(one.sources) < 2 else replace(one, sources=_sorted(one.sources))


def _normal(section: Section, claimed: frozenset[PageKey]) -> Section:
    aggregation = section.aggregation
    if aggregation is None and not section.children:
        return _in_order(section)
    if aggregation is not None:
        aggregation = replace(aggregation, linked_pages=tuple(sorted(set(aggregation.linked_pages))))
    return replace(
        section,
        sources=_sorted(section.sources),
        children=tuple(sorted(set(section.children) - claimed)),
        aggregation=aggregation,
    )


def _claimed_elsewhere(page: Page, slug: str) -> frozenset[PageKey]:
    others = (one for one in page.sections if bounds.base(one.slug) != bounds.base(slug))
    return frozenset(child for one in others for child in one.children)


def _handing_over(page: Page, section: Section) -> Page:
    """Return the page with the section's children removed from the other parts of the same list."""
    parts = {one.slug: one for one in page.sections if bounds.base(one.slug) == bounds.base(section.slug)}
    shared = {slug for slug, one in parts.items() if slug != section.slug and set(one.children) & set(section.children)}
    taken = set(section.children)
    return replace(
        page,
        sections=tuple(
            replace(one, children=tuple(child for child in one.children if child not in taken))
            if one.slug in shared
            else one
            for one in page.sections
        ),
    )


def _sorted(sources: Iterable[CitedMemory]) -> tuple[CitedMemory, ...]:
    return tuple(sorted({one.memory_id: one for one in sources}.values(), key=_BY_MEMORY))


def _title_alias(page: Page) -> Alias:
    return Alias(folded_name(page.title), page.title, sources=_sorted(page.summary_sources))


def _titled(page: Page, item: RenamePage | TitlePage) -> Page:
    """Return the page with the item's title, also as one of its names; a title from an operator is an operator's name."""
    origin, sources = ("manual", ()) if isinstance(item, RenamePage) else ("compiler", item.sources)
    named = replace(page, title=item.title)
    return replace(named, aliases=_with_alias(named, Alias(folded_name(item.title), item.title, origin, sources)))


def _with_alias(page: Page, alias: Alias) -> tuple[Alias, ...]:
    there = {one.key: one for one in page.aliases}
    known = there.get(alias.key)
    is_kept = bool(alias.sources) or alias.origin != "compiler" or alias.key == folded_name(page.title)
    if known is not None and known.origin != "compiler" and alias.origin == "compiler":
        alias = replace(alias, origin=known.origin, display=known.display)
        is_kept = True
    if is_kept:
        there[alias.key] = replace(alias, sources=_sorted(alias.sources))
    else:
        there.pop(alias.key, None)
    return tuple(there[key] for key in sorted(there))


def _with(page: Page, section: Section) -> tuple[Section, ...]:
    """Return the page's sections with this one: at its old position, else at that of the type's template, else last."""
    if any(one.slug == section.slug for one in page.sections):
        return tuple(section if one.slug == section.slug else one for one in page.sections)
    order = {slug: place for place, slug in enumerate(TEMPLATES[page.key.type])}
    place = order.get(section.slug, len(order))
    before = [one for one in page.sections if order.get(one.slug, len(order)) <= place]
    after = [one for one in page.sections if order.get(one.slug, len(order)) > place]
    return (*before, section, *after)


def _in_template_order(page_type: PageType, sections: Iterable[Section]) -> tuple[Section, ...]:
    order = {slug: place for place, slug in enumerate(TEMPLATES[page_type])}
    return tuple(sorted(sections, key=lambda one: order.get(one.slug, len(order))))
