"""Keeps each sentence once on a page: in the section that has it, else in the most specific proposed section."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from compiler.plan.citing import Citable
from compiler.plan.contract import Page
from compiler.plan.names.speakers import speaker_of
from compiler.plan.proposal import ProposedSection
from compiler.plan.quoting.sections import MONTHS, OVERVIEW
from compiler.plan.text.markdown import plain_key, unescape
from compiler.plan.text.sentences import sentences

_LINE = re.compile(r"- (?:(\d{4}-\d{2}-\d{2}): )?(.*)")
_LEAST_TELLING = (OVERVIEW, MONTHS)


class _Words(NamedTuple):
    """The folded sentences of a line, and the day before them, empty without one."""

    sentences: frozenset[str]
    day: str

    def covers(self, other: _Words) -> bool:
        """Return whether this line has all sentences of the other, and the same day if the other has one."""
        return other.sentences <= self.sentences and other.day in ("", self.day)


@dataclass(slots=True)
class Lines:
    """An index of a page's lines by their sentences."""

    _by_sentence: dict[str, list[tuple[str, str, _Words]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, slug: str, line: str) -> None:
        """Add a line of the section with this slug."""
        words = _words(line)
        for one in words.sentences:
            self._by_sentence[one].append((slug, line, words))

    def place(self, line: str) -> tuple[str, str] | None:
        """Return the section and text of the first line that covers this one; None if there is none."""
        words = _words(line)
        rarest = min((self._by_sentence.get(one, ()) for one in words.sentences), key=len, default=())
        return next(((slug, other) for slug, other, indexed in rarest if indexed.covers(words)), None)


def once(page: Page, sections: Iterable[ProposedSection], citable: Citable) -> tuple[ProposedSection, ...]:
    """Return the proposed sections without quoted lines that are elsewhere on the page or in a more specific proposed section.

    The section that keeps such a line also cites the memory of the duplicate. Sections that are not verbatim stay as they are.
    """
    every = tuple(sections)
    quoted = [one for one in every if one.is_verbatim]
    if not quoted:
        return every
    lines = _standing(page, {line for one in quoted for line in _lines(one.body_md)})
    found = {one.slug: _Kept(one.slug, one.heading) for one in quoted}
    headings = {one.slug: one.heading for one in page.sections}
    for section in sorted(quoted, key=_rank):
        again: list[str] = []
        for line in _lines(section.body_md):
            place = lines.place(line)
            if place is None:
                lines.add(section.slug, line)
                found[section.slug].lines[line] = None
            else:
                slug, other = place
                target = found.setdefault(slug, _Kept(slug, headings.get(slug, "")))
                target.lines[other] = None
                target.memory_ids.update(dict.fromkeys(_saying(line, section, citable)))
                again += [line] if slug != section.slug else []
        found[section.slug].memory_ids.update(
            dict.fromkeys(_remaining(section, found[section.slug].lines, again, citable))
        )
    others = tuple(one for one in every if not one.is_verbatim)
    return (*others, *(one.proposed() for one in found.values() if one.lines))


def elsewhere(page: Page, slug: str) -> tuple[str, ...]:
    """Return the lines of the page's other sections that the section with this slug does not cover."""
    own = Lines()
    every = [(one.slug, line) for one in page.sections if one.aggregation is None for line in _lines(one.body_md)]
    for _, line in (one for one in every if one[0] == slug):
        own.add(slug, line)
    return tuple(line for other, line in every if other != slug and own.place(line) is None)


def without(lines: Iterable[str], present: Collection[str]) -> tuple[str, ...]:
    """Return the lines, each once, that no line of `present` covers."""
    found = Lines()
    for line in present:
        found.add("", line)
    return tuple(one for one in dict.fromkeys(lines) if found.place(one) is None)


@dataclass(slots=True)
class _Kept:
    """The remaining lines and citations of a proposed section."""

    slug: str
    heading: str
    lines: dict[str, None] = field(default_factory=dict)
    memory_ids: dict[str, None] = field(default_factory=dict)

    def proposed(self) -> ProposedSection:
        return ProposedSection(self.slug, self.heading, "\n".join(self.lines), tuple(self.memory_ids), is_verbatim=True)


def _standing(page: Page, wanted: Collection[str]) -> Lines:
    """Return the lines of the page's sections that may cover one of the wanted lines."""
    found = Lines()
    sought = [min(words.sentences, key=len) for line in wanted if (words := _words(line)).sentences]
    for section in page.sections:
        body = f" {plain_key(unescape(section.body_md))} " if section.aggregation is None else ""
        if any(f" {one} " in body for one in sought):
            for line in _lines(section.body_md):
                found.add(section.slug, line)
    return found


def _rank(section: ProposedSection) -> int:
    """Return how unspecific a section is: 0 for an area of life, 1 for the overview, 2 for the notes of a month."""
    return next((at for at, slug in enumerate(_LEAST_TELLING, 1) if section.slug.startswith(slug)), 0)


def _remaining(
    section: ProposedSection, kept: Collection[str], moved: Collection[str], citable: Citable
) -> Iterator[str]:
    """Yield the ids of memories that the section still cites: all but those of which all lines moved to other sections."""
    left = {one for line in kept for one in _saying(line, section, citable)}
    gone = {one for line in moved for one in _saying(line, section, citable)}
    yield from (one for one in section.memory_ids if one in left or one not in gone)


def _saying(line: str, section: ProposedSection, citable: Citable) -> tuple[str, ...]:
    """Return the ids of the section's memories that contain the line's sentences; all that it cites if none does."""
    stated = _words(line).sentences
    found = []
    for memory in citable.texts(section.memory_ids):
        speaker = f"{plain_key(speaker_of(memory.text))} "
        text = f" {plain_key(memory.text)} "
        if all(f" {one} " in text or f" {one.removeprefix(speaker)} " in text for one in stated):
            found.append(memory.memory_id)
    return tuple(found) or section.memory_ids


def _lines(body_md: str) -> tuple[str, ...]:
    return tuple(line for line in body_md.split("\n") if line.strip())


def _words(line: str) -> _Words:
    found = _LINE.fullmatch(line)
    day, text = (found[1] or "", found[2]) if found else ("", line)
    keys = frozenset(map(plain_key, sentences(unescape(text)))) - {""}
    return _Words(keys or frozenset([text]), day)
