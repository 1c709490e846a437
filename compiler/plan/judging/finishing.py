"""The last step before the store: put texts in place, remove wiki syntax, link names, drop bad links, turn HTML, images and
disallowed links into text, and split overlong sections. Code blocks and spans are left unchanged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from compiler.plan import bounds
from compiler.plan.contract import (
    BatchMemory,
    CitedMemory,
    CreatePage,
    DeletePage,
    Item,
    Page,
    PageKey,
    PlanDecision,
    RemoveSection,
    Section,
    WriteSection,
    WriteSummary,
)
from compiler.plan.facts import facts
from compiler.plan.facts.continuing import Continuing, long_texts
from compiler.plan.text import markdown, markup, paging

Bodies = Mapping[tuple[PageKey, str], str]

SUMMARY = ""


def references(decision: PlanDecision, bodies: Bodies) -> markdown.References:
    """Return the names and pages that the texts and bodies refer to. The caller looks them up for `finish`."""
    return markdown.references((*bodies.values(), *_texts(decision.items)))


def sought(decision: PlanDecision, bodies: Bodies, pages: Iterable[Page]) -> frozenset[str]:
    """Return the ids of the memories whose texts `finish` needs: those cited by overlong sections and summaries."""
    standing = {page.key: page for page in pages}
    found: set[str] = set()
    for key, section in _sections(decision.items):
        if not long_texts((bodies.get((key, section.slug), section.body_md),)):
            continue
        parts = standing[key].sections if key in standing else ()
        continued = (one for one in parts if bounds.base(one.slug) == bounds.base(section.slug))
        found |= {source.memory_id for one in (section, *continued) for source in one.sources}
    for item in decision.items:
        if (
            isinstance(item, WriteSummary)
            and len(bodies.get((item.page, SUMMARY), item.summary)) > bounds.SUMMARY_CHARS
        ):
            found |= {source.memory_id for source in item.sources}
        if isinstance(item, CreatePage) and len(item.page.summary) > bounds.SUMMARY_CHARS:
            found |= {source.memory_id for source in item.page.summary_sources}
    return frozenset(found)


def finish(
    decision: PlanDecision,
    bodies: Bodies,
    known: Mapping[str, PageKey],
    existing: Collection[PageKey] = (),
    *,
    pages: Iterable[Page] = (),
    memories: Mapping[str, BatchMemory] | None = None,
) -> tuple[Item, ...]:
    """Return the decision's items with their final texts, each within its size limit.

    `bodies` are the written drafts by page and section slug ("" is a summary), `known` the pages by folded alias, `existing`
    further pages that texts may link to, `pages` the present pages, whose continuations take overflow, `memories` those of
    `sought`. A draft without a body keeps the proposed text; an empty body removes its section. Idempotent.
    """
    made = {item.page.key for item in decision.items if isinstance(item, CreatePage)}
    new_aliases = {
        alias.key: item.page.key
        for item in decision.items
        if isinstance(item, CreatePage)
        for alias in item.page.aliases
    }
    touched = {item.page for item in decision.items if isinstance(item, WriteSection | WriteSummary)}
    deleted = {item.page for item in decision.items if isinstance(item, DeletePage)}
    names = {name: page for name, page in {**new_aliases, **known}.items() if page not in deleted}
    linkable = {*made, *touched, *known.values(), *existing} - deleted
    written = frozenset((draft.page, draft.section.slug) for draft in (*decision.drafts, *decision.proposed))
    finisher = _Finisher(bodies, names, linkable, memories or {}, written | bodies.keys())
    finisher.begin(decision.items, pages)
    return tuple(done for item in decision.items for done in finisher.finished(item))


@dataclass(frozen=True, slots=True)
class _Finisher:
    """Finishes items in order. `sections` are the pages' sections after the items so far, `done` those that are finished."""

    bodies: Bodies
    names: Mapping[str, PageKey]
    linkable: Collection[PageKey]
    memories: Mapping[str, BatchMemory]
    written: frozenset[tuple[PageKey, str]]
    sections: dict[tuple[PageKey, str], Section] = field(default_factory=dict)
    titles: dict[PageKey, str] = field(default_factory=dict)
    done: dict[tuple[PageKey, str], Section] = field(default_factory=dict)

    def begin(self, items: Iterable[Item], pages: Iterable[Page]) -> None:
        """Record the sections as they will be after the items, before overflow is split off."""
        for page in pages:
            self.titles[page.key] = page.title
            self.sections.update({(page.key, one.slug): one for one in page.sections})
        for item in items:
            if isinstance(item, RemoveSection):
                self.sections.pop((item.page, item.slug), None)
            elif isinstance(item, CreatePage):
                self.titles[item.page.key] = item.page.title
        for key, section in _sections(items):
            body = self.bodies.get((key, section.slug), section.body_md)
            self.sections[key, section.slug] = replace(section, body_md=body)

    def finished(self, item: Item) -> Iterator[Item]:
        """Yield the item with its final text, and its continuations."""
        if isinstance(item, WriteSection):
            head, *more = self._parts(item.page, item.section)
            yield replace(item, section=head) if head.body_md else RemoveSection(item.page, head.slug)
            yield from (WriteSection(item.page, one) for one in more)
        elif isinstance(item, WriteSummary):
            summary, sources = self._summary(
                item.page, self.bodies.get((item.page, SUMMARY), item.summary), item.sources
            )
            yield replace(item, summary=summary, sources=sources)
        elif isinstance(item, CreatePage):
            key = item.page.key
            made = {part.slug: part for one in item.page.sections for part in self._parts(key, one)}
            kept = tuple(section for section in made.values() if section.body_md)
            summary, proof = self._summary(key, item.page.summary, item.page.summary_sources)
            yield CreatePage(replace(item.page, sections=kept, summary=summary, summary_sources=proof))
        else:
            yield item

    def _parts(self, page: PageKey, section: Section) -> tuple[Section, ...]:
        """Return the section with its final text, then the continuations that change with it."""
        place = (page, section.slug)
        if place in self.done:
            return (self.done[place],)
        is_listing = section.aggregation is not None and bool(section.children)
        text = self.bodies.get(place, section.body_md)

        def mended(outside: str) -> str:
            stripped = markdown.strip_wikilinks(outside)
            linked = stripped if is_listing else markdown.linkify(stripped, self.names, own=page)
            return markdown.drop_bad_links(linked, self.linkable)

        def final(piece: str) -> str:
            return markup.harmless(markup.outside_code(piece, mended)).strip()

        section = replace(section, heading=_heading(section.heading))
        if section.aggregation is not None:
            return (replace(section, body_md=final(text)),)
        pieces = paging.pieces(text, final)
        if len(pieces) < 2:
            return (replace(section, body_md="".join(pieces)),)
        own = facts.own_words((self.titles.get(page, ""),))
        continuing = Continuing(self.memories, own, final, is_quoted=place not in self.written)
        head, *more = continuing.parts(section, pieces, self._later(page, section.slug))
        for one in more:
            self.sections[page, one.slug] = self.done[page, one.slug] = one
        return (head, *more)

    def _later(self, page: PageKey, slug: str) -> tuple[Section, ...]:
        """Return the section's present continuations, in order."""
        found = []
        at = bounds.number(slug) + 1
        while (one := self.sections.get((page, bounds.continuation(slug, at)))) is not None:
            found.append(one)
            at += 1
        return tuple(found)

    def _summary(
        self, page: PageKey, summary: str, sources: tuple[CitedMemory, ...]
    ) -> tuple[str, tuple[CitedMemory, ...]]:
        """Return a summary of at most SUMMARY_CHARS, and the sources of its remaining text."""
        mended = markdown.drop_bad_links(markdown.strip_wikilinks(summary), ())
        whole = markup.harmless(markdown.one_line(mended))
        if len(whole) <= bounds.SUMMARY_CHARS:
            return whole, sources if whole else ()
        kept = markup.harmless(paging.short(markdown.one_line(mended), bounds.SUMMARY_CHARS // 2))
        own = facts.own_words((self.titles.get(page, ""),))
        gist = facts.gist(facts.read(kept), own)
        texts = {one: self.memories.get(one.memory_id) for one in sources}
        remaining = tuple(
            one
            for one, memory in texts.items()
            if not memory or facts.shared(gist, facts.gist(facts.read(memory.text), own))
        )
        return kept, remaining or sources


def _heading(heading: str) -> str:
    return paging.short(markdown.one_line(markdown.strip_wikilinks(heading)), bounds.HEADING_CHARS)


def _sections(items: Iterable[Item]) -> Iterator[tuple[PageKey, Section]]:
    for item in items:
        if isinstance(item, WriteSection):
            yield item.page, item.section
        elif isinstance(item, CreatePage):
            yield from ((item.page.key, section) for section in item.page.sections)


def written(items: Iterable[Item]) -> Iterator[tuple[PageKey, str]]:
    """Yield each written text as its page and the slug of its section, empty for the summary."""
    for item in items:
        if isinstance(item, CreatePage | WriteSummary):
            yield (item.page.key if isinstance(item, CreatePage) else item.page), SUMMARY
        elif isinstance(item, WriteSection):
            yield item.page, item.section.slug


def _texts(items: tuple[Item, ...]) -> Iterator[str]:
    yield from (section.body_md for _, section in _sections(items))
