"""Statements of typed edges in a text, by rule: two names and a phrase between them that states their relation.

The phrase is the whole text between the names, so that a name merely near a verb is not an object. Questions, doubts and
negations state nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from compiler.plan.edge_types import SOLE_TYPES
from compiler.plan.edges.nouns import NOUNS
from compiler.plan.edges.periods import EdgePeriod, period_after
from compiler.plan.edges.phrases import (
    BELONGING,
    BESIDE,
    CHANGES,
    DATIVE,
    DOUBT,
    FIRST_PERSON,
    FRAMES,
    OPENING,
    PHRASES,
    POSSESSION,
    STEMS,
)
from compiler.plan.text.sentences import sentences

MIN_NAME_CHARS = 2

_ARTICLE = r"(?:(?i:the|a|an|el|la|los|las|o|os|as|der|die|das|dem|den|le|les|il|lo|gli|i)\s+|(?i:l)['’])?[\"“„«]?"
_GAP = r"(?:\s+|(?<=['’]))"
_WHO = r"(?:,? (?:who|which|que|qui|che) )?"
_BESIDE = re.compile(BESIDE, re.IGNORECASE)
_BELONGING = re.compile(rf"\s*{BELONGING}\s+{_ARTICLE}")
_IS = re.compile(r"\s+(?:is|was|es|é|est|è|ist)\s+")
_POSSESSION = re.compile(POSSESSION)
_WORD = re.compile(r"[^\W\d_]+")
_DOUBT = re.compile(DOUBT, re.IGNORECASE)
_OPENING = re.compile(OPENING)
_NAME_GOES_ON = re.compile(
    r"['’](?:s\b|(?=\s))|-\w|\s+[^\W\d_a-zà-ÿ]|\s+(?:or|o|oder|ou)\b|\s+an?\s+(?:letter|email|card|note|message|text)\b"
)


@dataclass(frozen=True, slots=True)
class StatedEdge:
    """One edge that a text states, between names as written. `is_past` means that it no longer holds at the time of the text,
    `is_sole` that it is the only edge of its subject and type."""

    subject: str
    type: str
    object: str
    is_past: bool = False
    period: EdgePeriod = EdgePeriod()  # noqa: RUF009  # frozen
    is_sole: bool = False


def may_state(text: str) -> bool:
    """Return whether a text has a word of any phrase. Most texts have none, so their names need not be searched."""
    words = set(_WORD.findall(text.lower()))
    return not NOUNS.isdisjoint(words) or any(word.startswith(STEMS) for word in words)


def statements(
    text: str, names: Collection[str], *, speaker: str = "", people: Collection[str] = ()
) -> Iterator[StatedEdge]:
    """Yield the edges that a text states between the names, each name as written in the text.

    `speaker` is the name for “I”; `people` are the names that are known to be persons.
    """
    known = _pattern(tuple(sorted({one for one in names if len(one) >= MIN_NAME_CHARS})))
    if known is None:
        return
    for sentence in sentences(text):
        if sentence.rstrip("\"'”’)").endswith(("?", "？")) or _DOUBT.search(sentence):
            continue
        spans = [found.span() for found in known.finditer(sentence)]
        for at, (start, end) in enumerate(spans):
            if at and (framed := _framed(sentence, spans[at - 1], (start, end), people)):
                yield _with_is_sole(framed, sentence)
                continue
            if _NAME_GOES_ON.match(sentence, end) and not _POSSESSION.match(sentence, end):
                continue
            if at > 1 and (changed := _changed(sentence, spans[at - 2 : at + 1], people)):
                yield from changed
            elif at and (stated := _between(sentence, spans[at - 1], (start, end), people)):
                yield _with_is_sole(stated, sentence)
            elif speaker and (own := _own(sentence, (start, end), speaker)):
                yield _with_is_sole(own, sentence)


# Two hundred patterns take a tenth of a second to compile, and most processes never read a statement: each list is compiled at
# its first use.
@cache
def _phrases() -> list[tuple[str, str, re.Pattern[str]]]:
    return [(kind, flags, re.compile(rf"{_WHO}\s*{text}{_GAP}{_ARTICLE}")) for kind, flags, text in PHRASES]


@cache
def _frames() -> list[tuple[str, str, re.Pattern[str], re.Pattern[str]]]:
    return [
        (kind, flags, re.compile(rf"\s+{text}\s+{_ARTICLE}"), re.compile(rf"\s*{after}\b"))
        for kind, flags, text, after in FRAMES
    ]


@cache
def _first_person() -> list[tuple[str, str, re.Pattern[str]]]:
    return [(kind, flags, re.compile(rf"(?:{text}){_GAP}{_ARTICLE}$")) for kind, flags, text in FIRST_PERSON]


@cache
def _changes() -> list[tuple[str, re.Pattern[str], re.Pattern[str]]]:
    return [
        (kind, re.compile(rf"\s+(?:{first})\s+{_ARTICLE}"), re.compile(rf",?\s+(?:{second})\s+{_ARTICLE}"))
        for kind, first, second in CHANGES
    ]


@lru_cache(maxsize=256)
def _pattern(names: tuple[str, ...]) -> re.Pattern[str] | None:
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest_first))})(?!\w)") if names else None


def _between(
    sentence: str, subject: tuple[int, int], named: tuple[int, int], people: Collection[str]
) -> StatedEdge | None:
    """Return the edge that the words between two neighbouring names state, if the first one opens a clause."""
    if not _OPENING.search(sentence[: subject[0]]):
        return None
    between = sentence[subject[1] : named[0]]
    first, second = sentence[slice(*subject)], sentence[slice(*named)]
    possession = _POSSESSION.match(sentence, named[1])
    if possession:
        return StatedEdge(second, "owns", first) if _IS.fullmatch(between) else None
    if _BELONGING.fullmatch(between):
        if first in people and second not in people and between.split()[0] == DATIVE and " zu" not in between:
            return StatedEdge(first, "owns", second)
        if second in people:
            return StatedEdge(second, "owns", first)
        return StatedEdge(first, "member_of", second) if first in people else None
    for kind, flags, phrase in _phrases():
        if phrase.fullmatch(between):
            return _edge(kind, flags, (first, second), people, period_after(sentence[named[1] :]))
    return None


def _framed(
    sentence: str, subject: tuple[int, int], named: tuple[int, int], people: Collection[str]
) -> StatedEdge | None:
    """Return the edge that the words between two neighbouring names and the words after the second one state together."""
    if not _OPENING.search(sentence[: subject[0]]):
        return None
    for kind, flags, between, after in _frames():
        if between.fullmatch(sentence, subject[1], named[0]) and after.match(sentence, named[1]):
            return _edge(kind, flags, (sentence[slice(*subject)], sentence[slice(*named)]), people, EdgePeriod())
    return None


def _edge(
    kind: str, flags: str, names: tuple[str, str], people: Collection[str], period: EdgePeriod
) -> StatedEdge | None:
    """Return the edge that a phrase states between two names; None if one of the names does not fit the phrase."""
    source, target = reversed(names) if "<" in flags else names
    if (kind == "authored" and target in people) or ("p" in flags and source not in people):
        return None
    return StatedEdge(source, kind, target, "†" in flags, period)


def _changed(
    sentence: str, spans: Sequence[tuple[int, int]], people: Collection[str]
) -> tuple[StatedEdge, StatedEdge] | None:
    """Return the ended edge and the one that replaced it, of three neighbouring names: “left Helios to work at Luz”."""
    (start, end), before, after = spans
    subject, ended, begun = (sentence[slice(*one)] for one in spans)
    if not _OPENING.search(sentence[:start]) or ended == begun or {ended, begun} & {*people}:
        return None
    for kind, first, second in _changes():
        if first.fullmatch(sentence, end, before[0]) and second.fullmatch(sentence, before[1], after[0]):
            if kind == "located_in" and subject in people:
                return None
            now = StatedEdge(subject, kind, begun, period=period_after(sentence[after[1] :]))
            return StatedEdge(subject, kind, ended, is_past=True), _with_is_sole(now, sentence)
    return None


def _with_is_sole(stated: StatedEdge, sentence: str) -> StatedEdge:
    """Return the edge with `is_sole` set: the type is a sole one, the edge has not ended, and the sentence has no “also”."""
    is_over = stated.is_past or stated.period.valid_until is not None
    is_sole = stated.type in SOLE_TYPES and not is_over and not _BESIDE.search(sentence)
    return replace(stated, is_sole=is_sole)


def _own(sentence: str, named: tuple[int, int], speaker: str) -> StatedEdge | None:
    """Return the edge that the speaker states in the first person."""
    for kind, flags, phrase in _first_person():
        match = phrase.search(sentence[: named[0]])
        if match and _OPENING.search(sentence[: match.start()]):
            return StatedEdge(speaker, kind, sentence[slice(*named)], "†" in flags, period_after(sentence[named[1] :]))
    return None
