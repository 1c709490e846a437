"""Computes evidence for the texts of remote searches during the turn, from their words and vectors, as for stored texts.

Remote scores are not comparable, so `rank` judges these texts with the same model as all others. Pure; the sources fetch the
results, and the assembler fetches their vectors.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, tzinfo
from itertools import chain, repeat, zip_longest
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import Evidence, inverse_frequencies, weigh
from sidecar.turn.items import Item, Source, SourceReport
from sidecar.turn.message.periods import day_of
from sidecar.turn.message.reading import Reading
from store.content.recalling import MAX_WORDS, Recalled
from store.text.texts import search_words

MOST_EMBEDDED: Final = 40
"""The number of a turn's remote texts that get a vector, taken from the sources in turn, best first."""

_KINDS: Final = {Source.MEMORY: CandidateKind.FACT}
_READ_CHARS: Final = 20_000
_EMBEDDED_CHARS: Final = 2_000
_THREAD_WORDS: Final = 8
_OTHER_TEXTS: Final = 20  # an assumed number of texts that the search did not return, holding none of the words
_LEAST_STEM: Final = 3
_NO_DAY: Final = date.min  # far from every period that a question names
_ENDINGS: Final = ("", "ing", "ings", "ed", "es", "s", "e")
_ENDING = re.compile(r"(?:ings?|ed|e?s|e)$")

_Numbers = NDArray[np.float64]


class QuestionVectors(NamedTuple):
    """The unit vectors of a question's parts, one per row, and its probe (see `sensitivity`), None without one."""

    parts: _Numbers
    probe: _Numbers | None


def coverage(words: Sequence[str], text: str) -> float:
    """Return the share of the question's words that the text holds, 0 to 1."""
    (held,) = _held_words(words, [text])
    return sum(held) / max(1, len(words))


def texts_to_embed(reports: Iterable[SourceReport], reading: Reading) -> list[str]:
    """Return the beginnings of the remote texts that need a vector: the best of each source first, at most 40."""
    ranked = zip_longest(*(_unjudged(report, reading) for report in reports))
    texts = dict.fromkeys(item.text[:_EMBEDDED_CHARS] for item in chain.from_iterable(ranked) if item is not None)
    return list(texts)[:MOST_EMBEDDED]


def with_evidence(
    reports: Sequence[SourceReport],
    reading: Reading,
    question: QuestionVectors | None,
    vectors: Mapping[str, _Numbers],
    *,
    zone: tzinfo | None = UTC,
) -> tuple[SourceReport, ...]:
    """Return the reports with evidence for the items that had none. Their days are those of the user's time zone.

    `vectors` are those of the texts that `texts_to_embed` returned. A text without a vector is judged by its words.
    """
    return tuple(
        replace(
            report,
            candidates=_merged(report.candidates, _dated(_candidates(items, reading, question, vectors), items, zone)),
        )
        if (items := _unjudged(report, reading))
        else report
        for report in reports
    )


def readable(text: str) -> str:
    """Return the text made storable: lone surrogates become question marks, NUL becomes U+FFFD."""
    whole = text if text.isascii() else text.encode(errors="replace").decode()
    return whole.replace("\0", "\ufffd")


def _unjudged(report: SourceReport, reading: Reading) -> list[Item]:
    """Return the report's items that compete and have no evidence for this reading. Workspace files and pinned items do not."""
    if report.source is Source.WORKSPACE or not report.items:
        return []
    candidates = report.candidates
    known = frozenset(candidates.ids if candidates and len(candidates.evidence.coverage) == len(reading.parts) else ())
    return [item for item in report.items if not item.is_pinned and item.id not in known]


def _candidates(
    items: Sequence[Item], reading: Reading, question: QuestionVectors | None, vectors: Mapping[str, _Numbers]
) -> Candidates:
    kind = _KINDS.get(items[0].source, CandidateKind.PASSAGE)
    vector_of = [vectors.get(item.text[:_EMBEDDED_CHARS]) for item in items]
    probe = question.probe if question and kind is CandidateKind.FACT else None
    return Candidates(
        kind=kind,
        ids=[item.id for item in items],
        texts=[item.text for item in items],
        evidence=_evidence(items, reading, question.parts if question else None, vector_of),
        sensitivity=() if probe is None else [None if one is None else float(probe @ one) for one in vector_of],
    )


def _dated(candidates: Candidates, items: Sequence[Item], zone: tzinfo | None) -> Candidates:
    return replace(candidates, days=[day_of(item.at, zone) if item.at else _NO_DAY for item in items])


def _evidence(
    items: Sequence[Item], reading: Reading, parts: _Numbers | None, vectors: Sequence[_Numbers | None]
) -> Evidence:
    """Return the evidence of the items. Word frequencies in the remote corpus are unknown and are estimated from the items."""
    thread_weights = reading.thread.weights if reading.thread else {}
    thread_words = sorted(thread_weights, key=lambda word: (-thread_weights[word], word))[:_THREAD_WORDS]
    words = (*reading.words, *thread_words)[:MAX_WORDS]
    held = _held_words(words, [item.text for item in items])
    matched = [sum(1 << place for place, is_held in enumerate(one) if is_held) for one in held]
    idfs = inverse_frequencies([sum(column) for column in zip(*held, strict=True)], len(items) + _OTHER_TEXTS)
    weighed = [(word, idf * thread_weights.get(word, 1.0)) for word, idf in zip(words, idfs, strict=True)]
    weights = [[weight if word in part.words else 0.0 for word, weight in weighed] for part in reading.parts]
    cosines = [_cosines(parts, vector) for vector in vectors]
    return weigh(Recalled(tuple(items), tuple(matched), tuple(cosines)), weights)


def _cosines(parts: _Numbers | None, vector: _Numbers | None) -> Sequence[float]:
    if parts is None or vector is None:
        return ()
    return [float(np.clip(cosine, -1.0, 1.0)) if math.isfinite(cosine) else 0.0 for cosine in parts @ vector]


def _merged(known: Candidates | None, added: Candidates) -> Candidates:
    """Return the known candidates with the added ones appended; a source has only one kind of candidates."""
    if known is None or len(known.evidence.coverage) != len(added.evidence.coverage):
        return added
    days = known.days or [_NO_DAY] * len(known.ids)
    trust = (*known.trust, *repeat(1.0, len(added.ids))) if known.trust else ()
    odds = (*known.odds, *repeat(1.0, len(added.ids))) if known.odds else ()
    return Candidates(
        kind=known.kind,
        ids=[*known.ids, *added.ids],
        texts=[*known.texts, *added.texts],
        evidence=known.evidence.beside(added.evidence),
        days=[*days, *added.days],
        trust=trust,
        odds=odds,
        marks=(*known.marks, *repeat(None, len(added.ids))) if known.marks else (),
        sensitivity=list(chain.from_iterable(one.sensitivity or repeat(None, len(one.ids)) for one in (known, added))),
        unknown=known.unknown,
    )


def _held_words(words: Sequence[str], texts: Iterable[str]) -> list[list[bool]]:
    """Return for each text a flag per word: whether the text holds the word in any form with the same stem."""
    stems, spellings = [_stem(word) for word in words], [_spellings(word) for word in words]
    none = [False] * len(words)
    held = []
    for text in texts:
        read = text[:_READ_CHARS]
        lowered = read.lower()
        if read.isascii() and not any(map(lowered.__contains__, stems)):
            held.append(none)  # the case of most texts; splitting them into words would take ten times as long
            continue
        found = frozenset(search_words(read).split())
        held.append([not each.isdisjoint(found) for each in spellings])
    return held


def _spellings(word: str) -> frozenset[str]:
    """Return the forms with the same stem. Looking these up is much faster than stemming every word of every text."""
    stem = _stem(word)
    return frozenset(form for form in (stem + ending for ending in _ENDINGS) if _stem(form) == stem)


def _stem(word: str) -> str:
    """Return an English word without its ending if at least three letters remain. Stored texts use the database's stemmer."""
    cut = _ENDING.sub("", word) if word.isascii() else word
    return cut if len(cut) >= _LEAST_STEM else word
