"""What an edited or forgotten memory fed: exactly that is made again from what is left, or emptied.

A rebuilt section's writer sees the remaining memories and never the old text.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from compiler.plan import naming
from compiler.plan.batch import StaleView
from compiler.plan.citing import source_of
from compiler.plan.contract import (
    ArchivePage,
    Decision,
    Draft,
    DropLink,
    DropSighting,
    HoldMention,
    Memory,
    Mention,
    Page,
    RemoveSection,
    Section,
    Sighting,
    Source,
    WriteAlias,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.finishing import SUMMARY
from compiler.plan.gathering import Gathering
from compiler.plan.locating import tag_names
from compiler.plan.writing import page_names


def decide(view: StaleView) -> Decision:
    """Return what of the view's pages and mentions has to change, with drafts of the texts to write again."""
    stale = _Stale(view)
    for page in sorted(view.pages, key=lambda page: page.key):
        stale.take_page(page)
    for mention in sorted(view.mentions, key=lambda mention: mention.key):
        stale.take_mention(mention)
    stale.gathering.add(DropLink(link) for link in view.links)
    return stale.gathering.decision()


@dataclass(slots=True)
class _Stale:
    view: StaleView
    gathering: Gathering = field(default_factory=Gathering)

    def take_page(self, page: Page) -> None:
        """Gather what of the page cites a stale memory, and its end when nothing is left on it."""
        left = [self._section(page, section) for section in page.sections]
        has_summary = self._summary(page)
        for alias in page.aliases:
            if self._is_stale(alias.sources):
                kept = tuple(one for one in self._present(alias.sources) if self._names(alias.display, one))
                self.gathering.items.append(WriteAlias(page.key, replace(alias, sources=tuple(map(source_of, kept)))))
        for tag in page.tags:
            if self._is_stale(tag.sources):
                tagged = tuple(one for one in self._present(tag.sources) if tag.name in tag_names(one))
                self.gathering.items.append(WriteTag(page.key, replace(tag, sources=tuple(map(source_of, tagged)))))
        if not any(left) and not has_summary and page.is_active:
            self.gathering.items.append(ArchivePage(page.key))
            self.gathering.count("pages_emptied")

    def _section(self, page: Page, section: Section) -> bool:
        """Gather the section's change; returns whether something is left of it."""
        if not self._is_stale(section.sources):
            return True
        memories = self._present(section.sources)
        sources = tuple(sorted(map(source_of, memories)))
        if section.aggregation is not None:
            self.gathering.items.append(WriteSection(page.key, replace(section, sources=sources)))
            return True
        if not memories:
            self.gathering.items.append(RemoveSection(page.key, section.slug))
            self.gathering.count("sections_emptied")
            return False
        rebuilt = replace(section, body_md="", sources=sources)
        self.gathering.items.append(WriteSection(page.key, rebuilt))
        self.gathering.drafts.append(Draft(page.key, page.title, rebuilt, "", memories, page_names(page)))
        self.gathering.count("sections_rebuilt")
        return True

    def _summary(self, page: Page) -> bool:
        """Gather the summary's change; returns whether something is left of it."""
        if not self._is_stale(page.summary_sources):
            return bool(page.summary)
        memories = self._present(page.summary_sources)
        sources = tuple(sorted(map(source_of, memories)))
        self.gathering.items.append(WriteSummary(page.key, "", sources))
        if memories:
            rebuilt = Section(SUMMARY, "", "", sources)
            self.gathering.drafts.append(Draft(page.key, page.title, rebuilt, "", memories, page_names(page)))
        return bool(memories)

    def take_mention(self, mention: Mention) -> None:
        """Gather what of the mention was seen in a stale memory."""
        kept: list[Sighting] = []
        for sighting in mention.sightings:
            memory_id = sighting.source.memory_id
            if not self._is_stale((sighting.source,)):
                continue
            memory = self.view.memories.get(memory_id)
            if memory is not None and self._names(mention.alias, memory):
                kept.append(Sighting(source_of(memory), naming.quote(mention.alias, memory.text), memory.occurred_at))
            else:
                self.gathering.items.append(DropSighting(mention.key, memory_id))
        if kept:
            self.gathering.items.append(HoldMention(replace(mention, sightings=tuple(kept))))

    def _is_stale(self, sources: Iterable[Source]) -> bool:
        return any(one.memory_id in self.view.changed or one.memory_id in self.view.gone for one in sources)

    def _present(self, sources: Iterable[Source]) -> tuple[Memory, ...]:
        ids = {one.memory_id for one in sources} - self.view.gone
        found = [self.view.memories[one] for one in ids if one in self.view.memories]
        return tuple(sorted(found, key=lambda memory: (memory.occurred_at, memory.memory_id)))

    def _names(self, name: str, memory: Memory) -> bool:
        return memory.memory_id not in self.view.changed or naming.stands_in(name, memory)
