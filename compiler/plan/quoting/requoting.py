"""Compares pages that only quote with what their memories give now, and writes them anew."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from compiler.plan import bounds
from compiler.plan.contract import (
    BatchMemory,
    Item,
    Page,
    RemoveSection,
    Section,
    WriteAlias,
    WriteSection,
    WriteSummary,
    WriteTag,
)
from compiler.plan.facts import past
from compiler.plan.names.naming import holds
from compiler.plan.names.ruled import known_as
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.themes import theme_of
from compiler.plan.text.markdown import alias_key, plain_key

_DAY = re.compile(r"^\d{4} \d\d \d\d ")


def names_of(page: Page) -> set[str]:
    """Return the plain keys of the page's names."""
    return {plain_key(page.title), *(plain_key(alias.display) for alias in page.aliases)}


def is_theme(page: Page) -> bool:
    """Return whether the page is that of a theme."""
    return bool(theme_of(plain_key(known_as(page))))


def is_quoted(page: Page, memories: Iterable[BatchMemory]) -> bool:
    """Return whether every line of the page is a sentence of one of the memories."""
    texts = [(plain_key(speaker_of(memory.text)), plain_key(memory.text)) for memory in memories]
    lines = (plain_key(line) for section in page.sections for line in past.plain(section.body_md).split("\n"))
    sentences = [_DAY.sub("", line) for line in lines if line]
    return all(any(_is_said(line, *said) for said in texts) for line in sentences)


def _is_said(line: str, speaker: str, text: str) -> bool:
    """Return whether a line is a sentence of a text; the speaker stands before each line, and in the text before the first."""
    return holds(line, text) or bool(
        speaker and line.startswith(f"{speaker} ") and holds(line[len(speaker) + 1 :], text)
    )


def differ(page: Page, made: Page, *, is_quoted: bool) -> bool:
    """Return whether the pages differ in cited memories (of the page or its sections), in names or in summary; if the page only
    quotes, in anything that they say or in its sources.
    """
    if is_quoted:
        return _contents(page) != _contents(made)
    cited, wanted = ({source.memory_id for source in one.cited()} for one in (page, made))
    section_ids, made_section_ids = (
        {source.memory_id for section in one.sections for source in section.sources} for one in (page, made)
    )
    summary, made_summary = (past.plain(one.summary) for one in (page, made))
    return (
        cited != wanted
        or section_ids != made_section_ids
        or summary != made_summary
        or names_of(page) != names_of(made)
    )


def _contents(page: Page) -> tuple[object, ...]:
    """Return all that a page says, with its sources: a section with its continuations, and the names that it does not have only
    for the language of its lines.
    """
    own = {alias_key(known_as(page))} if is_theme(page) else {alias.key for alias in page.aliases}
    sections: dict[str, list[Section]] = {}
    for one in page.sections:
        sections.setdefault(bounds.base(one.slug), []).append(one)
    return (
        (past.plain(page.summary), set(page.summary_sources)),
        {alias.key: set(alias.sources) for alias in page.aliases if alias.key in own},
        {tag.name: set(tag.sources) for tag in page.tags},
        {
            slug: (
                parts[0].heading,
                past.plain("\n".join(one.body_md for one in parts)),
                {source for one in parts for source in one.sources},
            )
            for slug, parts in sections.items()
        },
    )


def rewritten(page: Page, made: Page) -> Iterator[Item]:
    """Yield the items that give a page the contents of `made`. A theme keeps its names in the languages of its lines."""
    slugs = {section.slug for section in made.sections}
    yield from (RemoveSection(page.key, one.slug) for one in page.sections if one.slug not in slugs)
    yield from (WriteSection(page.key, section) for section in made.sections)
    yield WriteSummary(page.key, made.summary, made.summary_sources)
    aliases = {alias.key for alias in made.aliases}
    gone = () if is_theme(page) else (one for one in page.aliases if one.key not in aliases)
    yield from (WriteAlias(page.key, replace(one, sources=())) for one in gone)
    yield from (WriteAlias(page.key, alias) for alias in made.aliases)
    tags = {tag.name for tag in made.tags}
    yield from (WriteTag(page.key, replace(tag, sources=())) for tag in page.tags if tag.name not in tags)
    yield from (WriteTag(page.key, tag) for tag in made.tags)
