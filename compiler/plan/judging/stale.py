"""Rebuilds or empties exactly the content that came from edited or forgotten memories.

The writer of a rebuilt section sees the remaining memories and never the old text. A page that rested only on forgotten memories
is deleted with its name; a page whose edited memories no longer support it is archived.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime

from compiler.plan import bounds
from compiler.plan.batch import StaleView
from compiler.plan.citing import source_of
from compiler.plan.contract import (
    Aggregation,
    ArchivePage,
    BatchMemory,
    CitedMemory,
    CreatePage,
    DeletePage,
    Draft,
    DropLink,
    DropSighting,
    HoldMention,
    Item,
    Mention,
    Page,
    PageKey,
    PageType,
    PlanDecision,
    RemoveSection,
    Section,
    Sighting,
    WriteAlias,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.facts import past
from compiler.plan.judging import departing
from compiler.plan.judging.duplicate_sentences import Lines, elsewhere
from compiler.plan.judging.finishing import SUMMARY
from compiler.plan.judging.writing import page_names
from compiler.plan.names import naming
from compiler.plan.names.locating import tag_names
from compiler.plan.names.ruled import known_as
from compiler.plan.names.themes import theme_of, themes_in
from compiler.plan.quoting import excerpts, openings, sections
from compiler.plan.text import markdown
from compiler.plan.text.rollup import rolled_up


def decide(view: StaleView, *, is_quoting: bool = False) -> PlanDecision:
    """Return the changes of the view's pages and mentions, with drafts of the texts to rewrite.

    With `is_quoting` (an extractive planner), an edited memory stays only in texts that quote its new text.
    """
    stale = _Stale(view, {page.key: page for page in (*view.around, *view.pages)}, is_quoting=is_quoting)
    ended = departing.ending(view)
    for page in sorted(view.pages, key=lambda page: page.key):
        kept = page if page.key not in ended else departing.renamed(view, page)
        if kept is not None:
            stale.take_page(kept, is_new=page.key in ended)
    for mention in sorted(view.mentions, key=lambda mention: mention.key):
        stale.take_mention(mention)
    stale.builder.add(DropLink(link) for link in view.links)
    stale.builder.items[:] = departing.leave(stale.builder.items, stale.standing, ended, faded=stale.faded)
    return stale.builder.decision()


def emptied(view: StaleView, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the finished items, with the removal of pages whose rewritten texts are empty."""
    removed = {(item.page, item.slug) for item in items if isinstance(item, RemoveSection)}
    summaries = {page.key: page.summary for page in view.pages}
    summaries |= {item.page: item.summary for item in items if isinstance(item, WriteSummary)}
    ended = {item.page for item in items if isinstance(item, ArchivePage | DeletePage)}
    bare = [
        page.key
        for page in view.pages
        if page.is_active
        and page.key not in ended
        and not summaries[page.key]
        and all((page.key, section.slug) in removed for section in page.sections)
    ]
    return (*items, *map(ArchivePage, sorted(bare)))


def reread(view: StaleView, items: tuple[Item, ...], *, is_quoting: bool) -> tuple[str, ...]:
    """Return the memories to read again: those of removed pages and, if the planner `is_quoting`, some unchanged memories.

    These are memories that a section no longer cites, because another section quotes them, and memories of emptied and renamed
    pages.
    """
    left = set(departing.left_behind(view, items))
    written = {(item.page, item.section.slug): item.section.sources for item in items if isinstance(item, WriteSection)}
    written |= {(item.page, item.slug): () for item in items if isinstance(item, RemoveSection)}
    ended = {item.page for item in items if isinstance(item, ArchivePage | DeletePage)}
    released: set[str] = set()
    for page in view.pages if is_quoting else ():
        if page.key in ended and page.is_active:
            released |= {one.memory_id for one in page.cited()}
        for section in page.sections:
            if section.aggregation is None and (page.key, section.slug) in written:
                kept = {one.memory_id for one in written[page.key, section.slug]}
                released |= {one.memory_id for one in section.sources} - kept
    return tuple(sorted(left | (released & view.memories.keys()) - view.gone - view.changed))


@dataclass(slots=True)
class _Stale:
    """The changes so far. `standing` are the pages after them, `faded` those whose summary is to be rewritten."""

    view: StaleView
    standing: dict[PageKey, Page]
    is_quoting: bool = False
    faded: set[PageKey] = field(default_factory=set)
    builder: DecisionBuilder = field(default_factory=DecisionBuilder)

    def take_page(self, page: Page, *, is_new: bool) -> None:
        """Collect the changes of the parts of a page that cite a stale memory, and its removal if nothing is left."""
        if is_new:
            self.builder.items.append(CreatePage(page))
        left = [self._section(page, section) for section in page.sections]
        has_summary = self._summary(page)
        for alias in page.aliases:
            if self._is_stale(alias.sources):
                kept = tuple(one for one in self._present(alias.sources) if self._names(alias.display, one))
                # Still cite a memory that no longer has the name: forgetting it must remove the title, and the slug.
                if not kept and alias.key in markdown.alias_keys(page.title):
                    kept = departing.witnesses(self.view, page) or self._present(alias.sources)
                elif not kept and alias.key in markdown.alias_keys(known_as(page)):
                    kept = self._present(alias.sources)
                self.builder.items.append(WriteAlias(page.key, replace(alias, sources=tuple(map(source_of, kept)))))
        for tag in page.tags:
            if self._is_stale(tag.sources):
                tagged = tuple(one for one in self._speaking(page, tag.sources) if tag.name in tag_names(one))
                self.builder.items.append(WriteTag(page.key, replace(tag, sources=tuple(map(source_of, tagged)))))
        summary = "" if page.key in self.faded else page.summary
        self.standing[page.key] = replace(page, summary=summary, sections=tuple(one for one in left if one is not None))
        if not any(left) and not has_summary and page.is_active:
            self.builder.items.append(ArchivePage(page.key))
            self.builder.count("pages_emptied")

    def _section(self, page: Page, section: Section) -> Section | None:
        """Collect the section's change; return the remaining section, still without its new text."""
        if not self._is_stale(section.sources):
            return section
        memories = self._speaking(page, section.sources)
        if section.aggregation is None:
            memories = self._quoted(page, memories, section.slug)
        sources = tuple(sorted(map(source_of, memories)))
        if section.aggregation is not None and memories:
            listing = self._listing(section, section.aggregation, memories, sources)
            self.builder.items.append(WriteSection(page.key, listing))
            return listing
        if not memories:
            self.builder.items.append(RemoveSection(page.key, section.slug))
            self.builder.add(map(DropLink, rolled_up(page.key, section)))
            self.builder.count("sections_emptied")
            return None
        rebuilt = replace(section, body_md="", sources=sources)
        self.builder.items.append(WriteSection(page.key, rebuilt))
        unchanged = (one for one in memories if one.memory_id not in self.view.changed)
        marked = past.supported_lines(section.body_md, unchanged)
        others = elsewhere(page, section.slug) if self.is_quoting else ()
        draft = Draft(page.key, page.title, rebuilt, "", memories, page_names(page), marked=marked, elsewhere=others)
        self.builder.drafts.append(draft)
        self.builder.count("sections_rebuilt")
        return rebuilt

    def _listing(
        self, section: Section, known: Aggregation, memories: tuple[BatchMemory, ...], sources: tuple[CitedMemory, ...]
    ) -> Section:
        """Return a rollup that rests on the remaining memories: their tags and, if it was promoted, no prose."""
        tagged = {tag for memory in memories for tag in tag_names(memory)}
        tags = known.observed_tags
        if any(one.memory_id in self.view.gone for one in section.sources):
            tags = tuple(tag for tag in tags if tag in tagged)
        body = section.body_md
        if known.promoted_page in self.standing:
            body = departing.stub(known, self.standing)
        return replace(section, body_md=body, sources=sources, aggregation=replace(known, observed_tags=tags))

    def _summary(self, page: Page) -> bool:
        """Collect the summary's change; return whether anything remains."""
        if not self._is_stale(page.summary_sources):
            return bool(page.summary)
        memories = self._opening(page) if self.is_quoting else ()
        memories = memories or self._quoted(page, self._speaking(page, page.summary_sources))
        sources = tuple(sorted(map(source_of, memories)))
        self.faded.add(page.key)
        self.builder.items.append(WriteSummary(page.key, "", sources))
        if memories:
            rebuilt = Section(SUMMARY, "", "", sources)
            self.builder.drafts.append(Draft(page.key, page.title, rebuilt, "", memories, page_names(page)))
        return bool(memories)

    def _opening(self, page: Page) -> tuple[BatchMemory, ...]:
        """Return the memory of the page's opening line by a quoting planner, of all that its texts cite; none for a decision."""
        if page.key.type is PageType.DECISION:
            return ()
        keys = frozenset(map(markdown.plain_key, page_names(page))) - {""}
        cited = {source for section in page.sections if section.aggregation is None for source in section.sources}
        memories = self._speaking(page, sorted({*cited, *page.summary_sources}))
        found = [(one, excerpts.excerpt(one, keys)) for one in sorted(memories, key=_by_time)]
        found = [(one, lines) for one, lines in found if lines]
        return (openings.opening_line(found, keys)[1],) if found else ()

    def take_mention(self, mention: Mention) -> None:
        """Collect the changes of a mention seen in a stale memory."""
        kept: list[Sighting] = []
        for sighting in mention.sightings:
            memory_id = sighting.source.memory_id
            if not self._is_stale((sighting.source,)):
                continue
            memory = self.view.memories.get(memory_id)
            if memory is not None and self._names(mention.alias, memory):
                kept.append(Sighting(source_of(memory), naming.quote(mention.alias, memory.text), memory.occurred_at))
            else:
                self.builder.items.append(DropSighting(mention.key, memory_id))
        if kept:
            self.builder.items.append(HoldMention(replace(mention, sightings=tuple(kept))))

    def _is_stale(self, sources: Iterable[CitedMemory]) -> bool:
        return any(one.memory_id in self.view.changed or one.memory_id in self.view.gone for one in sources)

    def _present(self, sources: Iterable[CitedMemory]) -> tuple[BatchMemory, ...]:
        return departing.present(self.view, sources)

    def _speaking(self, page: Page, sources: Iterable[CitedMemory]) -> tuple[BatchMemory, ...]:
        """Return the cited memories that exist, without edited ones that no longer name the page's subject.

        A topic is held to its name only if it is a theme or if all unedited memories name it: a city is, a model's summary title
        of several memories is not.
        """
        present = self._present(sources)
        if theme := theme_of(markdown.plain_key(known_as(page))):
            return tuple(
                one for one in present if one.memory_id not in self.view.changed or theme in themes_in(one.text)
            )
        names = page_names(page)
        unedited = [one for one in present if one.memory_id not in self.view.changed]
        is_named = unedited and all(any(naming.stands_in(name, one) for name in names) for one in unedited)
        if page.key.type is not PageType.ENTITY and not is_named:
            return present
        return tuple(one for one in present if any(self._names(name, one) for name in names))

    def _quoted(
        self, page: Page, memories: tuple[BatchMemory, ...], slug: str | None = None
    ) -> tuple[BatchMemory, ...]:
        """Return the memories without edited ones that the section, or without a slug the summary, would not quote.

        A section also loses memories that were only there because a line of another memory says the same, once no line does.
        """
        if not self.is_quoting:
            return memories
        keys = frozenset(map(markdown.plain_key, page_names(page))) - {""}
        others = replace(page, sections=tuple(one for one in page.sections if one.slug != slug))
        excerpt_of = {one.memory_id: excerpts.excerpt(one, keys) for one in memories}
        if slug is None:
            return tuple(one for one in memories if one.memory_id not in self.view.changed or excerpt_of[one.memory_id])
        own, lines = set(), Lines()
        for memory in memories:
            around = others if memory.memory_id in self.view.changed else None
            for one in sections.arrange([(memory, excerpt_of[memory.memory_id])], around, keys):
                if bounds.base(one.slug) == bounds.base(slug):
                    own.add(memory.memory_id)
                    for line in one.body_md.split("\n"):
                        lines.add(slug, line)
        return tuple(
            one for one in memories if one.memory_id in own or self._stays(one, excerpt_of[one.memory_id], slug, lines)
        )

    def _stays(self, memory: BatchMemory, excerpt: Iterable[str], slug: str, lines: Lines) -> bool:
        """Return whether an unchanged memory stays in a section that it would not choose by itself.

        It does if a line says the same, or if sections like this are not chosen by words alone.
        """
        if memory.memory_id in self.view.changed:
            return False
        own = [excerpts.line(one, memory) for one in excerpt]
        return not own or not sections.is_of_words(bounds.base(slug)) or any(lines.place(one) for one in own)

    def _names(self, name: str, memory: BatchMemory) -> bool:
        return memory.memory_id not in self.view.changed or naming.stands_in(name, memory)


def _by_time(memory: BatchMemory) -> tuple[datetime, str]:
    return (memory.occurred_at, memory.memory_id)
