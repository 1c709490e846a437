"""Pages removed with their memories, and the removal of the list entries, links and promotions that lead to them.

A page is removed when every memory it cites is gone and one of them was forgotten. A page whose name occurred only in forgotten
memories is renamed to another of its names, and is removed if it has none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from compiler.plan.batch import StaleView
from compiler.plan.contract import (
    Aggregation,
    BatchMemory,
    CitedMemory,
    DeletePage,
    Item,
    Page,
    PageKey,
    PageType,
    PromotionStatus,
    RemoveSection,
    Section,
    SetParent,
    WriteLink,
    WriteSection,
)
from compiler.plan.names import naming
from compiler.plan.text import markdown, rollup

HIGHLIGHTS = 5


def ending(view: StaleView) -> frozenset[PageKey]:
    """Return the pages of the view to be removed."""
    return frozenset(page.key for page in view.pages if _ends(view, page))


def present(view: StaleView, sources: Iterable[CitedMemory]) -> tuple[BatchMemory, ...]:
    """Return the cited memories that exist, ordered by time and id."""
    ids = {one.memory_id for one in sources} - view.gone
    memories = [view.memories[one] for one in ids if one in view.memories]
    return tuple(sorted(memories, key=lambda memory: (memory.occurred_at, memory.memory_id)))


def _ends(view: StaleView, page: Page) -> bool:
    cited = tuple(page.cited())
    if not any(one.memory_id in view.gone for one in cited):
        return False
    remaining = present(view, cited)
    return not remaining or not _is_named(view, page, remaining)


def _is_named(view: StaleView, page: Page, remaining: Collection[BatchMemory]) -> bool:
    """Return whether the page may keep its title: its source exists, or the remaining memories contain all its words."""
    keys = set(markdown.alias_keys(page.title))
    if any(alias.key in keys and alias.origin == "manual" for alias in page.aliases):
        return True
    proof = tuple(source for alias in page.aliases if alias.key in keys for source in alias.sources)
    if not any(one.memory_id in view.gone for one in proof) and (proof or page.key.type is not PageType.ENTITY):
        return True
    if page.key.type is not PageType.ENTITY and present(view, proof):
        return True
    words = markdown.plain_key(page.title).split()
    return all(any(naming.stands_in(word, memory) for memory in remaining) for word in words)


def witnesses(view: StaleView, page: Page) -> tuple[BatchMemory, ...]:
    """Return the remaining memories that contain a word of the page's title."""
    words = markdown.plain_key(page.title).split()
    return tuple(one for one in present(view, page.cited()) if any(naming.stands_in(word, one) for word in words))


def renamed(view: StaleView, page: Page) -> Page | None:
    """Return the page under another of its names that occurs in a remaining memory; None if there is none."""
    remaining = present(view, page.cited())
    names = [one.display for one in page.aliases if any(naming.stands_in(one.display, memory) for memory in remaining)]
    name = next((one for one in names if (key := markdown.slug(one)) and key != page.key.slug), "")
    if not page.is_active or not name:
        return None
    aliases = tuple(one for one in page.aliases if one.display in names)
    return replace(page, key=PageKey(page.key.type, markdown.slug(name)), title=name, aliases=aliases, parent=None)


def left_behind(view: StaleView, items: Iterable[Item]) -> tuple[str, ...]:
    """Return the ids of remaining memories whose page is removed; they are read again to find another page."""
    deleted = {item.page for item in items if isinstance(item, DeletePage)}
    gone = [page for page in view.pages if page.key in deleted and page.is_active and renamed(view, page) is None]
    memory_ids = {one.memory_id for page in gone for one in _sources(page)}
    return tuple(sorted(memory_ids & view.memories.keys() - view.gone))


def _sources(page: Page) -> Iterator[CitedMemory]:
    yield from page.summary_sources
    yield from (source for section in page.sections if section.aggregation is None for source in section.sources)


def leave(
    items: Sequence[Item], pages: Mapping[PageKey, Page], ended: Collection[PageKey], *, faded: Collection[PageKey]
) -> tuple[Item, ...]:
    """Return the items with their effects on the surrounding pages: removed pages, and lists rendered again.

    `pages` are the surrounding pages after the items, `ended` the pages to remove, `faded` those whose summary is rewritten.
    """
    listed = {key: page for key, page in pages.items() if key not in ended}
    written = {(item.page, item.section.slug): item.section for item in items if isinstance(item, WriteSection)}
    for page in _sorted(listed.values()):
        for section in page.sections:
            changed = without(section, ended, pages, faded=faded)
            if changed != section:
                written[page.key, section.slug] = changed
    kept = tuple(
        replace(one, section=written.pop((one.page, one.section.slug))) if isinstance(one, WriteSection) else one
        for one in items
    )
    added = (WriteSection(key, section) for (key, _), section in sorted(written.items(), key=lambda one: one[0]))
    return (*kept, *added, *_farewell(pages, ended))


def end_lists(items: Iterable[Item], around: Mapping[PageKey, Page], stated: Iterable[WriteLink]) -> tuple[Item, ...]:
    """Return the items with the effects of the pages that they delete on `around`: the pages that lead to these, and all that
    these list. A page that an edge by hand (`stated`) has stays.
    """
    needed = {end for link in stated for end in (link.source, link.target)}
    every = tuple(items)
    ended = {item.page for item in every if isinstance(item, DeletePage)} - needed
    kept = tuple(item for item in every if not isinstance(item, DeletePage))
    return leave(kept, _after(around, kept), ended, faded=()) if ended else kept


def _after(pages: Mapping[PageKey, Page], items: Iterable[Item]) -> dict[PageKey, Page]:
    """Return the pages with the sections that the items write and remove."""
    sections = {key: {one.slug: one for one in page.sections} for key, page in pages.items()}
    for item in items:
        if isinstance(item, WriteSection) and item.page in sections:
            sections[item.page][item.section.slug] = item.section
        elif isinstance(item, RemoveSection) and item.page in sections:
            sections[item.page].pop(item.slug, None)
    return {key: replace(page, sections=tuple(sections[key].values())) for key, page in pages.items()}


def without(
    section: Section, ended: Collection[PageKey], pages: Mapping[PageKey, Page], *, faded: Collection[PageKey] = ()
) -> Section:
    """Return the section without links, entries and promotions to removed pages; a list with a changed page is rendered again.

    A list whose promoted page is removed has the present members of that page, not those of the day of its promotion.
    """
    linked_to = set(markdown.references([section.body_md]).pages)
    body = (
        markdown.drop_bad_links(section.body_md, linked_to - set(ended)) if linked_to & set(ended) else section.body_md
    )
    known = section.aggregation
    if known is None:
        return replace(section, body_md=body)
    children = tuple(key for key in section.children if key not in ended)
    linked = tuple(key for key in known.linked_pages if key not in ended)
    counted = replace(known, linked_pages=linked)
    if known.promoted_page is not None and known.promoted_page in ended:
        children = _members(pages.get(known.promoted_page), linked, ended)
        counted = replace(counted, linked_pages=children, promotion_status=PromotionStatus.NONE, promoted_page=None)
    shown = (*linked, counted.promoted_page) if counted.promoted_page else children
    is_touched = (counted, children) != (known, section.children) or any(key in faded for key in shown)
    if is_touched and all(key in pages for key in shown):
        body = _rendered(counted, children, pages)
    return replace(section, body_md=body, children=children, aggregation=counted)


def _members(promoted: Page | None, before: tuple[PageKey, ...], ended: Collection[PageKey]) -> tuple[PageKey, ...]:
    """Return the members of a promoted page that stay; those `before` its promotion if it has no list."""
    lists = [one for one in (promoted.sections if promoted is not None else ()) if one.aggregation is not None]
    return tuple(sorted({key for one in lists for key in one.children}.difference(ended))) if lists else before


def stub(known: Aggregation, pages: Mapping[PageKey, Page]) -> str:
    """Return the stub of a promoted section: its first pages, and a link to the promoted page."""
    assert known.promoted_page is not None
    lines = [rollup.line(pages[key]) for key in known.linked_pages if key in pages and pages[key].is_active]
    title = pages[known.promoted_page].title
    return rollup.stub("", lines[:HIGHLIGHTS], title=title, promoted=known.promoted_page)


def _rendered(known: Aggregation, shown: Iterable[PageKey], pages: Mapping[PageKey, Page]) -> str:
    if known.promoted_page is not None:
        return stub(known, pages)
    children = (pages[key] for key in shown if pages[key].is_active)
    return rollup.render(sorted(children, key=lambda child: (markdown.alias_key(child.title), child.key)))


def _farewell(pages: Mapping[PageKey, Page], ended: Collection[PageKey]) -> Iterator[Item]:
    """Yield the removals of pages, children before parents; first, children that stay lose their parent."""
    for page in _sorted(pages.values()):
        if page.parent in ended and page.key not in ended:
            yield SetParent(page.key, None)
    for key in sorted(ended, key=lambda key: (-_depth(key, pages), key)):
        yield DeletePage(key)


def _depth(key: PageKey, pages: Mapping[PageKey, Page]) -> int:
    depth, seen = 0, {key}
    while key in pages and (above := pages[key].parent) is not None and above not in seen:
        seen.add(above)
        key, depth = above, depth + 1
    return depth


def _sorted(pages: Iterable[Page]) -> list[Page]:
    return sorted(pages, key=lambda page: page.key)
