"""The last step before the store: put texts in place, remove wiki syntax, link names, drop bad links, and turn HTML, images and
disallowed links into text. Code is left unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from compiler.plan.contract import (
    CreatePage,
    DeletePage,
    Item,
    PageKey,
    PlanDecision,
    RemoveSection,
    Section,
    WriteSection,
    WriteSummary,
)
from compiler.plan.text import markdown, markup

Bodies = Mapping[tuple[PageKey, str], str]

SUMMARY = ""


def references(decision: PlanDecision, bodies: Bodies) -> markdown.References:
    """Return the names and pages in the decision's texts and the written bodies, for the caller to look up for `finish`."""
    return markdown.references((*bodies.values(), *_texts(decision.items)))


def finish(
    decision: PlanDecision, bodies: Bodies, known: Mapping[str, PageKey], existing: Collection[PageKey] = ()
) -> tuple[Item, ...]:
    """Return the decision's items with their final texts.

    `bodies` are the written drafts by page and section slug ("" is a summary), `known` the pages by folded alias, `existing`
    further pages that texts may link to. A draft without a body keeps the proposed text; an empty body removes its section.
    Idempotent.
    """
    made = {item.page.key for item in decision.items if isinstance(item, CreatePage)}
    own = {
        alias.key: item.page.key
        for item in decision.items
        if isinstance(item, CreatePage)
        for alias in item.page.aliases
    }
    touched = {item.page for item in decision.items if isinstance(item, WriteSection | WriteSummary)}
    deleted = {item.page for item in decision.items if isinstance(item, DeletePage)}
    names = {name: page for name, page in {**own, **known}.items() if page not in deleted}
    pages = {*made, *touched, *known.values(), *existing} - deleted
    return tuple(_finished(item, bodies, names, pages) for item in decision.items)


def _finished(item: Item, bodies: Bodies, names: Mapping[str, PageKey], pages: Collection[PageKey]) -> Item:
    if isinstance(item, WriteSection):
        section = _section(item.page, item.section, bodies, names, pages)
        return replace(item, section=section) if section.body_md else RemoveSection(item.page, section.slug)
    if isinstance(item, WriteSummary):
        summary = _summary(bodies.get((item.page, SUMMARY), item.summary))
        return replace(item, summary=summary, sources=item.sources if summary else ())
    if isinstance(item, CreatePage):
        sections = (_section(item.page.key, one, bodies, names, pages) for one in item.page.sections)
        kept = tuple(section for section in sections if section.body_md)
        summary = _summary(item.page.summary)
        proof = item.page.summary_sources if summary else ()
        return CreatePage(replace(item.page, sections=kept, summary=summary, summary_sources=proof))
    return item


def _section(
    page: PageKey, section: Section, bodies: Bodies, names: Mapping[str, PageKey], pages: Collection[PageKey]
) -> Section:
    is_listing = section.aggregation is not None and bool(section.children)

    def mended(outside: str) -> str:
        stripped = markdown.strip_wikilinks(outside)
        linked = stripped if is_listing else markdown.linkify(stripped, names, own=page)
        return markdown.drop_bad_links(linked, pages)

    body = bodies.get((page, section.slug), section.body_md)
    return replace(section, body_md=markup.harmless(markup.outside_code(body, mended)).strip())


def _summary(summary: str) -> str:
    mended = markdown.drop_bad_links(markdown.strip_wikilinks(summary), ())
    return markup.harmless(markdown.one_line(mended))


def _texts(items: tuple[Item, ...]) -> Iterator[str]:
    for item in items:
        if isinstance(item, WriteSection):
            yield item.section.body_md
        elif isinstance(item, CreatePage):
            yield from (section.body_md for section in item.page.sections)
