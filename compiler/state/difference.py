"""Computes the rows in which pages differ before and after a plan. Pure; equal pages give no row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from uuid import UUID

from compiler.plan.contract import CitedMemory, Page, PageKey, Section
from compiler.state.row_mapping import aggregation_json
from store.wiki.page_writes import AliasWrite, ChildRow, PageChanges, PageWrite, SectionWrite, SourceWrite, section_uuid


def page_changes(
    before: Mapping[PageKey, Page], after: Mapping[PageKey, Page], ids: Mapping[PageKey, UUID]
) -> PageChanges:
    """Return the rows in which the pages differ."""
    differing = _Difference(ids)
    for key in sorted(after):
        page, stood = after[key], before.get(key)
        if stood is None or stood != page:
            differing.take(page, stood)
    return differing.changes()


@dataclass(slots=True)
class _Difference:
    """The rows of pages that differ, collected page by page."""

    ids: Mapping[PageKey, UUID]
    pages_found_anew: list[PageWrite] = field(default_factory=list)
    pages: list[PageWrite] = field(default_factory=list)
    sections: list[SectionWrite] = field(default_factory=list)
    sections_removed: list[UUID] = field(default_factory=list)
    aliases: list[AliasWrite] = field(default_factory=list)
    aliases_removed: list[tuple[UUID, str]] = field(default_factory=list)
    sources_removed: list[SourceWrite] = field(default_factory=list)
    sources: list[SourceWrite] = field(default_factory=list)
    claimed_anew: list[UUID] = field(default_factory=list)
    children: list[ChildRow] = field(default_factory=list)
    cited_anew: list[UUID] = field(default_factory=list)

    def changes(self) -> PageChanges:
        """Return everything collected."""
        return PageChanges(
            tuple(self.pages_found_anew),
            tuple(self.pages),
            tuple(self.sections),
            tuple(self.sections_removed),
            tuple(self.aliases),
            tuple(self.aliases_removed),
            tuple(self.sources_removed),
            tuple(self.sources),
            tuple(self.claimed_anew),
            tuple(self.children),
            tuple(self.cited_anew),
        )

    def take(self, page: Page, stood: Page | None) -> None:
        """Record all differences between the page and its earlier state."""
        page_id = self.ids[page.key]
        row = _page_row(page, page_id, self.ids)
        (self.pages if stood and _place(page) == _place(stood) else self.pages_found_anew).append(row)
        names = _names(page)
        is_renamed = stood is None or (
            (stood.aliases is not page.aliases or stood.title != page.title) and _names(stood) != names
        )
        there = {one.slug: (place, one) for place, one in enumerate(stood.sections)} if stood else {}
        for place, section in enumerate(page.sections):
            known = there.pop(section.slug, None)
            if is_renamed or known != (place, section):
                self._section(page_id, names, (place, section), known[1] if known else None)
        self.sections_removed.extend(section_uuid(page_id, slug) for slug in sorted(there))
        self._cite(page_id, ("summary", ""), page.summary_sources, stood.summary_sources if stood else ())
        if stood is None or stood.aliases is not page.aliases:
            self._names(page_id, page, stood)
        if stood is None or stood.tags is not page.tags:
            self._tags(page_id, page, stood)

    def _tags(self, page_id: UUID, page: Page, stood: Page | None) -> None:
        standing = {tag.name: tag.sources for tag in stood.tags} if stood else {}
        for tag in page.tags:
            self._cite(page_id, ("tag", tag.name), tag.sources, standing.pop(tag.name, ()))
        for name, sources in standing.items():
            self._cite(page_id, ("tag", name), (), sources)

    def _section(
        self, page_id: UUID, names: tuple[str, ...], placed: tuple[int, Section], stood: Section | None
    ) -> None:
        place, section = placed
        section_id = section_uuid(page_id, section.slug)
        self.sections.append(
            SectionWrite(
                page_id,
                section_id,
                section.slug,
                section.heading,
                section.body_md,
                place,
                aggregation_json(section.aggregation, self.ids),
                (*names, section.heading, section.body_md),
            )
        )
        if self._cite(page_id, ("section", section.slug), section.sources, stood.sources if stood else ()):
            self.cited_anew.append(section_id)
        if (stood.children if stood else ()) != section.children:
            self.claimed_anew.append(section_id)
            found = (self.ids.get(child) for child in section.children)
            self.children.extend(ChildRow(page_id, child, section_id) for child in found if child is not None)

    def _names(self, page_id: UUID, page: Page, stood: Page | None) -> None:
        standing = {alias.key: alias for alias in stood.aliases} if stood else {}
        for alias in page.aliases:
            known = standing.pop(alias.key, None)
            if known is None or (known.display, known.origin) != (alias.display, alias.origin):
                self.aliases.append(AliasWrite(page_id, alias.key, alias.display, alias.origin))
            self._cite(page_id, ("alias", alias.key), alias.sources, known.sources if known else ())
        for key, gone in standing.items():
            self.aliases_removed.append((page_id, key))
            self._cite(page_id, ("alias", key), (), gone.sources)

    def _cite(
        self, page_id: UUID, subject: tuple[str, str], sources: tuple[CitedMemory, ...], stood: tuple[CitedMemory, ...]
    ) -> bool:
        """Record the sources that differ; return whether an earlier one was removed or edited."""
        if sources == stood:
            return False
        section_id = section_uuid(page_id, subject[1]) if subject[0] == "section" else None

        def rows(cited: Iterable[CitedMemory]) -> Iterable[SourceWrite]:
            return (SourceWrite(page_id, *subject, section_id, one.memory_id, one.text_hash) for one in cited)

        known = {one.memory_id: one.text_hash for one in stood}
        added = [one for one in sources if known.get(one.memory_id) != one.text_hash]
        self.sources.extend(rows(added))
        if len(sources) - len(added) == len(stood):
            return False
        kept = {source.memory_id for source in sources}
        self.sources_removed.extend(rows(source for source in stood if source.memory_id not in kept))
        return True


def _page_row(page: Page, page_id: UUID, ids: Mapping[PageKey, UUID]) -> PageWrite:
    bodies = (text for section in page.sections for text in (section.heading, section.body_md))
    return PageWrite(
        page_id,
        page.key.type.value,
        page.key.slug,
        page.title,
        page.summary,
        "active" if page.is_active else "archived",
        ids[page.parent] if page.parent else None,
        page.hubness_score,
        tuple(tag.name for tag in page.tags),
        (*_names(page), page.summary, *bodies),
    )


def _place(page: Page) -> tuple[object, ...]:
    """Return the fields by which a page is found or placed, besides its texts and names."""
    return (page.title, page.is_active, page.parent, page.hubness_score)


def _names(page: Page) -> tuple[str, ...]:
    return (page.title, *(alias.display for alias in page.aliases))
