"""Splits an overlong section into continuation sections; each cites the sources of its own text.

Quoted lines continue in as many sections as they need. A written text has a limited number of continuations: text beyond them is
dropped, oldest past lines first, and sources of dropped text alone are no longer cited.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.plan import bounds
from compiler.plan.citing import united
from compiler.plan.contract import BatchMemory, CitedMemory, Section
from compiler.plan.facts import facts, past
from compiler.plan.text import paging

_COMMON = 50


@dataclass(frozen=True, slots=True)
class Continuing:
    """Splits the sections of a page. `memories` are cited memories by id, `own` the words of the page's names.

    `finish` turns a piece of text into its final form; `is_quoted` means that the lines are quotations.
    """

    memories: Mapping[str, BatchMemory]
    own: frozenset[str]
    finish: Callable[[str], str]
    is_quoted: bool

    def parts(self, section: Section, pieces: Sequence[str], later: Sequence[Section]) -> tuple[Section, ...]:
        """Return the section and the continuations that change. `pieces` is its final text, `later` its present continuations."""
        last = later[-1] if later else None
        break_ = "\n" if self.is_quoted else "\n\n"
        known = {line for part in later for line in part.body_md.split("\n") if self._is_kept_once(line)}
        rest = "\n".join(line for line in break_.join(pieces[1:]).split("\n") if line not in known).strip("\n")
        first = bounds.number(last.slug if last else section.slug) + (last is None)
        texts = self._pieces(break_.join(filter(None, (last.body_md if last else "", rest))))
        dropped = ""
        room = max(1, bounds.CONTINUATIONS + 2 - first)
        if not self.is_quoted and len(texts) > room:
            fitting = self._fitting(break_.join(texts[room - 1 :]))
            dropped = break_.join((*texts[room - 1 :], *pieces[1:]))
            texts = [*texts[: room - 1], *([fitting] if fitting else [])]
        cited = self._divided(section.sources, last.sources if last else (), (pieces[0], *texts), dropped)
        elsewhere = {one.memory_id for part in later[:-1] for one in part.sources}
        here = _SourceFinder(pieces[:1], self.own, is_quoted=self.is_quoted)
        kept = tuple(
            one for one in cited[0] if one.memory_id not in elsewhere or here.places(self.memories.get(one.memory_id))
        )
        # A text without a source would outlive the memories it came from.
        head = replace(section, body_md=pieces[0], sources=kept or cited[0])
        of = section.heading if bounds.number(section.slug) == 1 else section.heading.rpartition(" (")[0]
        made = (
            self._part(section, of, first + at, text, sources)
            for at, (text, sources) in enumerate(zip(texts, cited[1:], strict=True))
        )
        return (head, *(one for one in made if one != last))

    def _is_kept_once(self, line: str) -> bool:
        return bool(line.strip()) and (self.is_quoted or bool(past.sentence_of(line)))

    def _part(self, section: Section, of: str, at: int, text: str, sources: tuple[CitedMemory, ...]) -> Section:
        return Section(bounds.continuation(section.slug, at), bounds.heading(of, at), text, sources)

    def _pieces(self, text: str) -> list[str]:
        return paging.pieces(text, self.finish)

    def _fitting(self, text: str) -> str:
        """Return a text shortened to one section: without its oldest past lines, then cut at the end."""
        present, marked = past.split(text)
        while marked and len(text) > bounds.SECTION_CHARS:
            marked = marked[1:]
            text = past.join(present, marked)
        return next(iter(self._pieces(text)), "")

    def _divided(
        self, own: Iterable[CitedMemory], of_last: Iterable[CitedMemory], texts: Sequence[str], dropped: str
    ) -> list[tuple[CitedMemory, ...]]:
        """Return the sources of each text. A source of none stays where it was cited, unless it is a source of dropped text."""
        finder = _SourceFinder([*texts, dropped], self.own, is_quoted=self.is_quoted)
        divided: list[list[CitedMemory]] = [[] for _ in texts]
        pool = {one.memory_id: (one, 0) for one in own}
        pool |= {one.memory_id: (one, min(1, len(texts) - 1)) for one in of_last if one.memory_id not in pool}
        for source, home in pool.values():
            at = finder.places(self.memories.get(source.memory_id))
            for place in [one for one in at if one < len(texts)] if at else [home]:
                divided[place].append(source)
        # A text without a source would outlive the memories it came from.
        every = united((), (source for source, _ in pool.values()))
        return [united((), sources) or every for sources in divided]


class _SourceFinder:
    """Finds the texts that rest on a memory: they quote a sentence, have a fact, or share a third of a sentence's words.

    Words of more than 50 sentences are ignored: they do not tell texts apart and would make long texts slow.
    """

    def __init__(self, texts: Sequence[str], own: frozenset[str], *, is_quoted: bool) -> None:
        self._is_quoted = is_quoted
        self._own = own
        self._sentences = [(at, one) for at, text in enumerate(texts) for one in facts.read(_plain(text))]
        tokens = [self._tokens(one) for _, one in self._sentences]
        counts = Counter(token for every in tokens for token in every)
        rare = [[token for token in every if counts[token] <= _COMMON or is_quoted] for every in tokens]
        self._words = [sum(not token.startswith("=") for token in every) for every in rare]
        self._holding: dict[str, list[int]] = {}
        for place, every in enumerate(rare):
            for token in every:
                self._holding.setdefault(token, []).append(place)

    def places(self, memory: BatchMemory | None) -> list[int]:
        """Return the indexes of the texts that rest on the memory, sorted; none for an unknown memory."""
        if memory is None:
            return []
        sentences = facts.read(memory.text)
        if self._is_quoted:
            found = {place for one in sentences for place in self._holding.get(one.words, ())}
            return sorted({self._sentences[place][0] for place in found})
        gist = facts.gist(sentences, self._own)
        holding = {place for fact in gist.facts for place in self._holding.get(f"={fact}", ())}
        shared = Counter(place for stem in gist.stems for place in self._holding.get(stem, ()))
        holding |= {place for place, count in shared.items() if count * 3 >= self._words[place]}
        return sorted({self._sentences[place][0] for place in holding})

    def _tokens(self, one: facts.Sentence) -> frozenset[str]:
        if self._is_quoted:
            return frozenset((one.words,))
        gist = facts.gist((one,), self._own)
        return gist.stems | {f"={fact}" for fact in gist.facts}


def _plain(text: str) -> str:
    return "\n".join(past.sentence_of(line) or past.plain(line) for line in text.split("\n"))


def long_texts(texts: Iterable[str]) -> bool:
    """Return whether one of the texts may exceed SECTION_CHARS once its names are links."""
    return any(len(text) + 55 * text.count("**") > bounds.SECTION_CHARS for text in texts)
