"""What a source may answer: the one place where answers are looked at before a turn is decided on them.

A source may be someone else's code, and what lies beneath any of them may go wrong. What comes through here is of the right
types, finite, encodable and bounded, so that nothing behind it has to ask again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import chain
from math import isfinite
from operator import attrgetter, index

from sidecar.sources import Answer
from sidecar.turn.evidence import Evidence
from sidecar.turn.items import HistorySummary, Item, Source
from sidecar.turn.rank import Candidate
from store.texts import Signature
from store.threads import StoredTurn

MOST_ID_CHARS = 1_000
MOST_TEXT_CHARS = 4_000_000
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_TIMES, _SIGNATURES = frozenset({datetime, type(None)}), frozenset({Signature, type(None)})
_id, _text, _header, _lead = map(attrgetter, ("id", "text", "header", "lead"))
_rank, _position, _kind, _ref, _label = map(attrgetter, ("rank", "position", "kind", "ref", "label"))


class Garbage(Exception):
    """The source's answer is not what a source may answer; the text says what is wrong with it."""


def check(answer: object, source: Source, *, top_k: int) -> tuple[Item, ...]:
    """Return the answer's items, `top_k` at most. Raises Garbage naming what is wrong with any of it."""
    if not isinstance(answer, Answer):
        raise Garbage(f"it answered with {type(answer).__name__}")
    try:
        items = answer.items[:top_k]
        _check_items(items, source)
        _check_evidence([item.candidate for item in items if item.candidate is not None])
        _check_texts([*answer.notes, *answer.failures], "a note")
        _check_history(answer, source)
    except (TypeError, AttributeError) as error:
        raise Garbage(f"a part of its answer is of the wrong type: {error}") from error
    return items


def _check_items(items: tuple[Item, ...], source: Source) -> None:
    """Column by column, since a call an item would cost a turn of hundreds more than it is worth."""
    if type(items) is not tuple or not set(map(type, items)) <= {Item}:
        raise Garbage("what it answered with is no tuple of items")
    if {item.source for item in items} - {source}:
        raise Garbage("an item is not its own")
    ids, texts = list(map(_id, items)), list(map(_text, items))
    _check_texts([*ids, *texts, *map(_header, items), *map(_lead, items)], "an item")
    if "" in ids or max(map(len, ids), default=0) > MOST_ID_CHARS:
        raise Garbage(f"an item's id is not of 1 to {MOST_ID_CHARS} characters")
    known = len(set(ids))
    if known < len(ids) and known < len(set(zip(ids, texts, strict=True))):
        raise Garbage("two items have one id and different texts")
    if False in [0.0 <= item.relevance <= 1.0 for item in items]:
        raise Garbage("a relevance is not between 0 and 1")
    list(map(index, chain(map(_rank, items), map(_position, items))))
    if not {type(item.at) for item in items} <= _TIMES or not {type(item.signature) for item in items} <= _SIGNATURES:
        raise Garbage("an item's time or signature is none")
    _check_references(items)


def _check_references(items: Sequence[Item]) -> None:
    provenances = [item.provenance for item in items]
    if not all(provenances):
        raise Garbage("an item has no provenance")
    refs = list(chain.from_iterable(provenances))
    covered = chain.from_iterable([item.stands_for for item in items if item.stands_for])
    _check_texts([*map(_kind, refs), *map(_ref, refs), *map(_label, refs), *covered], "an item's provenance")


def _check_evidence(candidates: Iterable[Candidate]) -> None:
    for candidate in candidates:
        if not all(map(isfinite, map(_sum, candidate.evidence))):
            raise Garbage("an item's evidence is no number")


def _sum(evidence: Evidence) -> float:
    """Return the sum of the evidence's numbers: it is finite when each of them is."""
    by_words = evidence.coverage + evidence.joint_coverage + evidence.local_coverage
    return by_words + (evidence.cosine or 0) + (evidence.near_cosine or 0) + (evidence.local_cosine or 0)


def _check_history(answer: Answer, source: Source) -> None:
    if source is not Source.THREAD and (answer.history or answer.summary):
        raise Garbage("only the thread has a history")
    for turn in answer.history:
        _check_turn(turn)
    if answer.summary is not None:
        _check_summary(answer.summary)


def _check_turn(turn: StoredTurn) -> None:
    if min(map(index, (turn.position, turn.o200k_tokens, turn.cl100k_tokens))) < 0:
        raise Garbage("a turn's position or count is negative")
    if turn.role not in _ROLES or not all(isinstance(part, dict) for part in turn.parts):
        raise Garbage("a turn's role or part is none")
    _check_texts([turn.text, turn.speaker, turn.client_turn_id], "a turn")


def _check_summary(summary: HistorySummary) -> None:
    index(summary.through_position)
    _check_texts([summary.text, *summary.turn_ids], "its summary")


def _check_texts(texts: Sequence[str], what: str) -> None:
    """Raise Garbage unless all are texts that can be sent, TypeError for what is no text. Joined, they are looked at once."""
    joined = "".join(texts)
    if len(joined) > MOST_TEXT_CHARS and max(map(len, texts)) > MOST_TEXT_CHARS:
        raise Garbage(f"{what} has a text of over {MOST_TEXT_CHARS} characters")
    if not joined.isascii():
        try:
            joined.encode()
        except UnicodeEncodeError as error:
            raise Garbage(f"{what} holds half a surrogate pair") from error
