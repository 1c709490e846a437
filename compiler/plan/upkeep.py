"""Items of an operator's acts on pages. When a page is removed, all links and list entries that lead to it are removed too.

Input pages are complete; items are returned in the order in which they are applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import assert_never

from compiler.plan.contract import (
    Aggregation,
    Alias,
    ArchivePage,
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
    PromotionStatus,
    RemoveSection,
    RenamePage,
    Ruling,
    RulingKind,
    ScoreHubs,
    Section,
    SetHubness,
    SetParent,
    SettleMention,
    TitlePage,
    WriteAlias,
    WriteLink,
    WriteRuling,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.edge_types import EDGE_TYPES, TypedEdge
from compiler.plan.names.ruled import MANUAL, SHARED
from compiler.plan.text import markdown, rollup
from store.text.texts import fold

# Invisible characters in a letter category: Hangul fillers.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0")


class ActRefused(ValueError):
    """Raised if the page or section does not allow an operator's action; the message says why and what to do instead."""

    def __init__(self, subject: str, problem: str) -> None:
        super().__init__(f"{subject}: {problem}")
        self.subject = subject
        self.problem = problem


def name(page: Page, display: str, *, is_shared: bool = False) -> tuple[Item, ...]:
    """Return the items that give a page a name, with the ruling that keeps the name after a rebuild.

    If the name is shared with other pages, later memories that use it do not all go to this page. Raises ActRefused for a name
    without a letter or digit.
    """
    key, alias = fold(display), " ".join(display.split())
    if not is_name(display):
        raise ActRefused("alias", "has no letter or digit; send a name")
    behind = tuple(sorted({one.memory_id for one in page.cited()}))
    ruling = Ruling(RulingKind.NAME, page.key, key, alias, SHARED if is_shared else MANUAL, memory_ids=behind)
    return (WriteAlias(page.key, Alias(key, alias, "manual")), WriteRuling(ruling))


def is_name(display: str) -> bool:
    """Return whether the name has a visible letter or digit."""
    return any(sign.isalnum() and sign not in _BLANK for sign in fold(display))


def edge(
    source: PageKey, target: PageKey, stated: TypedEdge, types: Collection[str] = EDGE_TYPES
) -> tuple[WriteLink, ...]:
    """Return the items that state a typed edge by hand; its type must be one of `types`. Raises ActRefused."""
    _check_edge(source, target, stated, types)
    return (_by_hand(source, target, stated),)


def drop_edge(
    source: PageKey, target: PageKey, stated: TypedEdge, types: Collection[str] = EDGE_TYPES
) -> tuple[DropLink, ...]:
    """Return the items that remove a typed edge stated by hand; one that the compiler found stays. Raises ActRefused."""
    _check_edge(source, target, stated, types)
    return (DropLink(_by_hand(source, target, stated)),)


def _check_edge(source: PageKey, target: PageKey, stated: TypedEdge, types: Collection[str]) -> None:
    if stated.type not in types:
        raise ActRefused("edge_type", f"is not a known type; send one of {', '.join(types)}")
    if source == target:
        raise ActRefused("target", "is the page itself; name another page")
    if stated.valid_from and stated.valid_until and stated.valid_until <= stated.valid_from:
        raise ActRefused("valid_until_time", "is not after valid_from_time; send a later time, or none")


def _by_hand(source: PageKey, target: PageKey, stated: TypedEdge) -> WriteLink:
    return WriteLink(source, target, LinkKind.REFERENCE, LinkOrigin.MANUAL, f"edge:{stated.type}", edge=stated)


def archive(gone: Page, around: Mapping[PageKey, Page]) -> tuple[Item, ...]:
    """Return the items that archive a page and undo its promotion. `around` are the active pages that lead to it, and all pages
    that their sections list.
    """
    return (*_freed(gone), ArchivePage(gone.key), *unlink(gone.key, around))


def delete(gone: Page, around: Mapping[PageKey, Page]) -> tuple[Item, ...]:
    """Return the items that delete a page: first those that detach its children and remove the links and list entries to it."""
    orphans = [SetParent(page.key, None) for page in _sorted(around) if page.parent == gone.key]
    return (*_freed(gone), *orphans, *unlink(gone.key, around), DeletePage(gone.key))


def _freed(gone: Page) -> tuple[Item, ...]:
    return () if gone.parent is None else (SetParent(gone.key, None),)


def unlink(gone: PageKey, around: Mapping[PageKey, Page]) -> Iterator[Item]:
    """Yield the sections that led to a page, changed: lists without it, links to it as plain names, promotions to it undone, with
    the links of the lists that come back.
    """
    for page in _sorted(around):
        if page.key == gone or not page.is_active:
            continue
        for section in page.sections:
            changed = _without(section, gone, around)
            if changed != section:
                yield WriteSection(page.key, changed)
            if section.aggregation is not None and section.aggregation.promoted_page == gone:
                yield from rollup.rolled_up(page.key, changed)


def suppress(page: Page, slug: str) -> tuple[Item, ...]:
    """Return the items that keep a section from promotion. Raises ActRefused if it lists no pages or is promoted already."""
    section = _listing(page, slug)
    assert section.aggregation is not None
    if section.aggregation.promotion_status is PromotionStatus.PROMOTED:
        raise ActRefused(slug, "already has a page of its own; undo the promotion instead")
    suppressed = replace(section.aggregation, promotion_status=PromotionStatus.SUPPRESSED)
    return (WriteSection(page.key, replace(section, aggregation=suppressed)),)


def undo(page: Page, slug: str, around: Mapping[PageKey, Page]) -> tuple[Item, ...]:
    """Return the items that undo a promotion. Idempotent. Raises ActRefused if nothing was promoted.

    `around` has the promoted page, the pages that lead to it, and the pages that the section lists.
    """
    section = _listing(page, slug)
    assert section.aggregation is not None
    promoted = section.aggregation.promoted_page
    if promoted is None:
        if section.aggregation.promotion_status is PromotionStatus.SUPPRESSED:
            return ()
        raise ActRefused(slug, "was not promoted; there is nothing to undo")
    others = (item for item in unlink(promoted, around) if not _is_of(item, page.key, slug))
    is_known = promoted in around
    gone: tuple[Item, ...] = (SetParent(promoted, None), ArchivePage(promoted)) if is_known else ()
    return (*gone, WriteSection(page.key, _without(section, promoted, around)), *others)


def named(items: Iterable[Item]) -> tuple[PageKey, ...]:
    """Return every page that the items name, sorted."""
    found: set[PageKey] = set()
    for item in items:
        match item:
            case CreatePage(page=page):
                found |= {page.key, *(key for section in page.sections for key in _pages_of(section))}
            case WriteSection(page=key, section=section):
                found |= {key, *_pages_of(section)}
            case WriteLink() | DropLink():
                link = item.link if isinstance(item, DropLink) else item
                found |= {link.source, link.target}
            case SetParent(page=key, parent=parent):
                found |= {key} if parent is None else {key, parent}
            case HoldMention() | DropSighting() | IgnoreMention() | EndMemory():
                pass
            case WriteRuling(ruling=ruling) | DropRuling(ruling=ruling):
                found |= {ruling.page} if ruling.into is None else {ruling.page, ruling.into}
            case ScoreHubs(pages=keys):
                found.update(keys)
            case _:
                found.add(item.page)
    return tuple(sorted(found))


def cited(items: Iterable[Item]) -> frozenset[str]:
    """Return the ids of all memories that the items cite or that caused their links."""
    found: set[str] = set()
    for item in items:
        match item:
            case (
                WriteSection(section=part) | WriteAlias(alias=part) | WriteTag(tag=part)
                | (WriteSummary() as part) | (TitlePage() as part)
            ):  # fmt: skip
                found |= {source.memory_id for source in part.sources}
            case HoldMention(mention=mention):
                found |= {sighting.source.memory_id for sighting in mention.sightings}
            case DropSighting(memory_id=memory_id):
                found.add(memory_id)
            case EndMemory():
                found |= set(item.pair)
            case WriteRuling(ruling=ruling) | DropRuling(ruling=ruling):
                found |= set(ruling.memory_ids)
            case CreatePage(page=page):
                found |= {source.memory_id for source in page.cited()}
            case WriteLink() | DropLink():
                found.add(item.link.ref if isinstance(item, DropLink) else item.ref)
            case (
                RemoveSection() | ArchivePage() | DeletePage() | SettleMention() | IgnoreMention() | RenamePage()
                | DropAlias() | SetParent() | SetHubness() | ScoreHubs()
            ):  # fmt: skip
                pass
            case _:
                assert_never(item)
    return frozenset(found - {""})


def _pages_of(section: Section) -> set[PageKey]:
    linked = section.aggregation.linked_pages if section.aggregation is not None else ()
    return {*section.children, *linked, *markdown.references([section.body_md]).pages}


def _is_of(item: Item, key: PageKey, slug: str) -> bool:
    return isinstance(item, WriteSection) and item.page == key and item.section.slug == slug


def _listing(page: Page, slug: str) -> Section:
    if not page.is_active:
        raise ActRefused(page.key.path, "is archived; the next compile that changes it restores it")
    section = next((one for one in page.sections if one.slug == slug), None)
    if section is None:
        raise ActRefused("section_slug", f"is not a section of {page.key.path}; send one of its sections")
    if section.aggregation is None:
        raise ActRefused(slug, "lists no pages, so it is never promoted")
    return section


def _without(section: Section, gone: PageKey, around: Mapping[PageKey, Page]) -> Section:
    aggregation = section.aggregation
    if aggregation is not None and aggregation.promoted_page == gone:
        section = _listed_again(section, aggregation, around)
        aggregation = section.aggregation
    if aggregation is not None:
        aggregation = replace(aggregation, linked_pages=tuple(key for key in aggregation.linked_pages if key != gone))
    children = tuple(key for key in section.children if key != gone)
    body_md = section.body_md
    if children != section.children and all(key in around for key in children) and _is_rendered(section):
        body_md = rollup.render(around[key] for key in children)
    known = set(markdown.references([body_md]).pages) - {gone}
    return replace(section, body_md=markdown.drop_bad_links(body_md, known), children=children, aggregation=aggregation)


def _listed_again(section: Section, known: Aggregation, around: Mapping[PageKey, Page]) -> Section:
    """Return a promoted section as its former list of pages, suppressed so that it is not promoted again."""
    known_pages = [around[key] for key in (section.children or known.linked_pages) if key in around]
    listed = [page for page in known_pages if page.is_active]
    return replace(
        section,
        children=tuple(page.key for page in listed),
        body_md=rollup.render(listed) or section.body_md,
        aggregation=replace(known, promotion_status=PromotionStatus.SUPPRESSED, promoted_page=None),
    )


def _is_rendered(section: Section) -> bool:
    """Return whether the body is the rendered list of the section's pages; that of a promoted section is not."""
    aggregation = section.aggregation
    return aggregation is None or aggregation.promotion_status is not PromotionStatus.PROMOTED


def _sorted(pages: Mapping[PageKey, Page]) -> Iterable[Page]:
    return (pages[key] for key in sorted(pages))
