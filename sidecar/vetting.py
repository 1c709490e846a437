"""What a source may answer: the one place where answers are looked at before a turn is decided on them.

A source may be someone else's code, and what lies beneath any of them may go wrong. What comes through here is of the right
types, finite, encodable and bounded, so that nothing behind it has to ask again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from itertools import chain
from operator import attrgetter, index

import numpy as np

from sidecar.sources import Answer
from sidecar.turn.items import HistorySummary, Item, Ref, Source, columns_of
from sidecar.turn.rank import Candidates
from store.texts import Signature
from store.threads import StoredTurn

MOST_ID_CHARS = 1_000
MOST_TEXT_CHARS = 4_000_000
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_TIMES, _SIGNATURES = frozenset({datetime, type(None)}), frozenset({Signature, type(None)})
_kind, _ref, _label = map(attrgetter, ("kind", "ref", "label"))


class Garbage(Exception):
    """The source's answer is not what a source may answer; the text says what is wrong with it."""


def check(answer: object, source: Source, *, top_k: int) -> Answer:
    """Return the answer with `top_k` items at most. Raises Garbage naming what is wrong with any of it."""
    if not isinstance(answer, Answer):
        raise Garbage(f"it answered with {type(answer).__name__}")
    try:
        answer = answer.first(top_k)
        _check_items(answer.items, source)
        if answer.candidates is not None:
            _check_candidates(answer.candidates)
        _check_texts([*answer.notes, *answer.failures], "a note")
        _check_history(answer, source)
    except (TypeError, AttributeError) as error:
        raise Garbage(f"a part of its answer is of the wrong type: {error}") from error
    return answer


def _check_items(items: tuple[Item, ...], source: Source) -> None:
    """Column by column, since a call an item would cost a turn of hundreds more than it is worth."""
    if type(items) is not tuple or not set(map(type, items)) <= {Item}:
        raise Garbage("what it answered with is no tuple of items")
    if not items:
        return
    told = columns_of(items)
    if set(told["source"]) != {source}:
        raise Garbage("an item is not its own")
    _check_texts([*told["id"], *told["text"], *told["header"], *told["lead"]], "an item")
    if "" in told["id"] or max(map(len, told["id"])) > MOST_ID_CHARS:
        raise Garbage(f"an item's id is not of 1 to {MOST_ID_CHARS} characters")
    known = len(set(told["id"]))
    if known < len(items) and known < len(set(zip(told["id"], told["text"], strict=True))):
        raise Garbage("two items have one id and different texts")
    if False in [0.0 <= relevance <= 1.0 for relevance in told["relevance"]]:
        raise Garbage("a relevance is not between 0 and 1")
    list(map(index, chain(told["rank"], told["position"])))
    if not set(map(type, told["at"])) <= _TIMES or not set(map(type, told["signature"])) <= _SIGNATURES:
        raise Garbage("an item's time or signature is none")
    _check_references(told["provenance"], told["stands_for"])


def _check_references(provenances: Sequence[tuple[Ref, ...]], stands_for: Sequence[tuple[str, ...]]) -> None:
    if not all(provenances):
        raise Garbage("an item has no provenance")
    refs = list(chain.from_iterable(provenances))
    covered = chain.from_iterable(stands_for)
    _check_texts([*map(_kind, refs), *map(_ref, refs), *map(_label, refs), *covered], "an item's provenance")


def _check_candidates(candidates: Candidates) -> None:
    """Of one length each, and of numbers; only a cosine may be none."""
    texts, days, evidence = [*candidates.texts, *candidates.speakers], candidates.days, candidates.evidence
    if not set(map(type, texts)) <= {str} or not set(map(type, days)) <= {date}:
        raise Garbage("what its items are judged by is neither text nor day")
    lengths = {len(candidates.ids), len(candidates.texts), len(days) or len(candidates.ids)}
    if len({column.shape for column in evidence}) > 1 or lengths != {evidence.coverage.shape[-1]}:
        raise Garbage("what its items are judged by is not of one length")
    by_words, cosine = (evidence.coverage, evidence.joint_coverage, evidence.local_coverage), evidence.cosine
    numbers = np.stack([*by_words, evidence.near_cosine, evidence.local_cosine])
    if not np.isfinite(numbers).all() or np.isinf(cosine).any():
        raise Garbage("an item's evidence is no number")


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
