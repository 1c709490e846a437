"""Renders a rollup's body: its children as a list of links, one line each. A long list continues in further sections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compiler.plan import bounds
from compiler.plan.citing import united
from compiler.plan.contract import Aggregation, LinkKind, LinkOrigin, Page, PageKey, Section, WriteLink
from compiler.plan.text import paging
from compiler.plan.text.markdown import alias_key, escape, first_sentence, unescape

ROLLED_UP = "rolled_up:"


def render(children: Iterable[Page]) -> str:
    """Return a bullet for each child in the given order: its title as a link, then its summary's first sentence."""
    return "\n".join(line(child) for child in children)


def line(child: Page) -> str:
    """Return a child's bullet."""
    sentence = first_sentence(unescape(child.summary))
    link = f"- [**{escape(child.title)}**]({child.key.path})"
    return f"{link} — {escape(sentence)}" if sentence else link


def rolled_up(page: PageKey, section: Section) -> tuple[WriteLink, ...]:
    """Return the links from a rollup to its children."""
    context = ROLLED_UP + bounds.base(section.slug)
    return tuple(WriteLink(page, child, LinkKind.REFERENCE, LinkOrigin.ROLLUP, context) for child in section.children)


def whole(page: Page) -> Page:
    """Return the page with each continued list as one section."""
    if not any(bounds.number(one.slug) > 1 and one.aggregation is not None for one in page.sections):
        return page
    lists: dict[str, Section] = {}
    for one in sorted(page.sections, key=lambda one: bounds.number(one.slug)):
        slug = bounds.base(one.slug)
        if slug in lists and one.aggregation is not None:
            first = lists[slug]
            joined = replace(
                first,
                body_md=f"{first.body_md}\n{one.body_md}",
                sources=united(first.sources, one.sources),
                children=(*first.children, *one.children),
            )
            lists[slug] = joined
        elif one.aggregation is not None:
            lists[one.slug] = one
    kept = (one for one in page.sections if one.slug in lists or one.aggregation is None)
    return replace(page, sections=tuple(lists.get(one.slug, one) for one in kept))


def parts(section: Section, children: Mapping[PageKey, Page]) -> tuple[Section, ...]:
    """Return a rendered list as sections of at most SECTION_CHARS: the first keeps the aggregation, each has its own children.

    A source stays with the first section unless a child in another one cites it.
    """
    if len(section.body_md) <= bounds.SECTION_CHARS or section.aggregation is None or not section.children:
        return (section,)
    grouped: list[list[Page]] = [[]]
    room = bounds.SECTION_CHARS
    for child in ordered(children[key] for key in section.children if key in children):
        room -= len(line(child)) + 1
        if room < 0 and grouped[-1]:
            grouped.append([])
            room = bounds.SECTION_CHARS - len(line(child)) - 1
        grouped[-1].append(child)
    made: list[Section] = []
    unassigned = {source.memory_id: source for source in section.sources}
    for at, some in enumerate(grouped[1:], 2):
        keys = tuple(child.key for child in some)
        cited = {source.memory_id for child in some for source in child.cited()}
        own_sources = tuple(unassigned.pop(one) for one in sorted(cited & unassigned.keys()))
        slug, heading = bounds.continuation(section.slug, at), bounds.heading(section.heading, at)
        made.append(Section(slug, heading, render(some), own_sources, keys, Aggregation(linked_pages=keys)))
    first = tuple(child.key for child in grouped[0])
    return (replace(section, body_md=render(grouped[0]), sources=tuple(unassigned.values()), children=first), *made)


def ordered(children: Iterable[Page]) -> list[Page]:
    """Return the children in the order of a list."""
    return sorted(children, key=lambda child: (alias_key(child.title), child.key))


def stub(summary: str, highlights: Iterable[str], *, title: str, promoted: PageKey) -> str:
    """Return the text that replaces a promoted section: its summary, highlights and a link to the page."""
    lines = (paging.short(one.strip().removeprefix("-").strip(), bounds.HIGHLIGHT_CHARS) for one in highlights)
    bullets = "\n".join(f"- {one}" for one in lines if one.strip(" -"))
    parts = [paging.short(summary.strip(), bounds.SUMMARY_CHARS), bullets, f"See: [{escape(title)}]({promoted.path})"]
    return "\n\n".join(part for part in parts if part)
