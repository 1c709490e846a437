"""Validates the answers of sources. This is the only check before a turn is decided on them.

A source may be third-party code, and any backend may misbehave. A validated answer has the right types and is finite,
encodable and bounded, so later code need not check again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import chain
from operator import attrgetter

import numpy as np
import orjson

from sidecar.context.ports import SourceAnswer
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import MOST_COSINE
from sidecar.turn.items import HistorySummary, Item, Ref, Source, columns_of
from store.content.threads import StoredTurn
from store.text.shingles import BANDS
from store.text.texts import Signature

MOST_ID_CHARS = 1_000
MOST_TEXT_CHARS = 4_000_000
MOST_REMOTE_CHARS = 200_000
"""The longest text of a remote item. No window holds more, and making a hostile one harmless takes seconds per megabyte."""
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_TIMES, _SIGNATURES = frozenset({datetime, type(None)}), frozenset({Signature, type(None)})
_NUMBERS, _BANDS_BYTES = frozenset({float, int}), frozenset({0, 8 * BANDS})
_MOST_PLACE = 1 << 31  # receipts and responses hold 32 bits
_kind, _ref, _label = map(attrgetter, ("kind", "ref", "label"))


class Garbage(Exception):
    """The source's answer is invalid; the text says why."""


def check(answer: object, source: Source, *, top_k: int) -> SourceAnswer:
    """Return the answer cut to `top_k` items. Raises Garbage naming the fault."""
    if not isinstance(answer, SourceAnswer):
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


def sound(backend: str, answer: SourceAnswer) -> SourceAnswer:
    """Return a backend's answer without its faulty items, with a note for each kind of fault.

    So a faulty item costs neither the others nor the items of other backends. Raises Garbage if no item is left, or if another
    part of the answer is at fault.
    """
    if not (fault := _fault(answer)):
        return answer
    faulty = {place: why for place, item in enumerate(answer.items) if (why := _fault(SourceAnswer((item,))))}
    items = tuple(item for place, item in enumerate(answer.items) if place not in faulty)
    counts = sorted(Counter(faulty.values()).items())
    notes = tuple(f"{backend}: {count} unusable, left out ({why})" for why, count in counts)
    rest = replace(answer, items=items, notes=(*answer.notes, *notes))
    if not items or (fault := _fault(rest)):
        raise Garbage(fault)
    return rest


def _fault(answer: SourceAnswer) -> str:
    """Return the fault of a remote answer; empty if it has none."""
    try:
        check(answer, answer.items[0].source if answer.items else Source.MEMORY, top_k=len(answer.items))
    except Garbage as fault:
        return str(fault)
    is_long = max([len(item.text) for item in answer.items], default=0) > MOST_REMOTE_CHARS
    return f"a text of more than {MOST_REMOTE_CHARS:,} characters" if is_long else ""


def _check_items(items: tuple[Item, ...], source: Source) -> None:
    """Check items column by column: a call per item is too slow for a turn of hundreds."""
    if type(items) is not tuple or not set(map(type, items)) <= {Item}:
        raise Garbage("its items are not a tuple of items")
    if not items:
        return
    columns = columns_of(items)
    if set(columns["source"]) != {source}:
        raise Garbage("an item belongs to another source")
    _check_texts([*columns["id"], *columns["text"], *columns["header"], *columns["lead"]], "an item")
    if "" in columns["id"] or max(map(len, columns["id"])) > MOST_ID_CHARS:
        raise Garbage(f"an item's id is not of 1 to {MOST_ID_CHARS} characters")
    known = len(set(columns["id"]))
    if known < len(items) and known < len(set(zip(columns["id"], columns["text"], strict=True))):
        raise Garbage("two items share one id but have different texts")
    is_number = set(map(type, columns["relevance"])) <= _NUMBERS
    if not is_number or False in [0.0 <= relevance <= 1.0 for relevance in columns["relevance"]]:
        raise Garbage("a relevance is not between 0 and 1")
    if any(columns["features"]):
        raise Garbage("an item has features before it is judged")
    _check_places([*columns["rank"], *columns["position"], *columns["unsigned_chars"]], "an item")
    _check_times(columns["at"], "an item")
    _check_signatures(columns["signature"])
    _check_references(columns["provenance"], columns["stands_for"])


def _check_places(places: Sequence[int], what: str) -> None:
    if set(map(type, places)) != {int} or not -_MOST_PLACE <= min(places) <= max(places) < _MOST_PLACE:
        raise Garbage(f"{what} has a place or count that is not a 32-bit integer")


def _check_times(times: Sequence[datetime | None], what: str) -> None:
    """Raise Garbage for a value that is not a datetime. A faulty time zone raises here, before a turn depends on it."""
    if not set(map(type, times)) <= _TIMES:
        raise Garbage(f"{what} has a time that is not a datetime")
    for time in [time for time in times if time is not None and time.tzinfo is not UTC]:
        time.isoformat()


def _check_signatures(signatures: Sequence[Signature | None]) -> None:
    if not set(map(type, signatures)) <= _SIGNATURES:
        raise Garbage("an item's signature has the wrong type")
    signed = list(filter(None, signatures))
    if not signed:
        return
    keys, guards, bands = zip(*signed, strict=True)
    is_typed = {*map(type, keys), *map(type, guards)} == {int} and set(map(type, bands)) == {bytes}
    if not is_typed or not set(map(len, bands)) <= _BANDS_BYTES:
        raise Garbage("an item's signature is malformed")


def _check_references(provenances: Sequence[tuple[Ref, ...]], stands_for: Sequence[tuple[str, ...]]) -> None:
    if not all(provenances):
        raise Garbage("an item has no provenance")
    refs = list(chain.from_iterable(provenances))
    covered = chain.from_iterable(stands_for)
    _check_texts([*map(_kind, refs), *map(_ref, refs), *map(_label, refs), *covered], "an item's provenance")


def _check_candidates(candidates: Candidates) -> None:
    """Raise Garbage unless all columns have the same length and numbers in bounds. Cosines may be NaN; turns need speakers."""
    ids, speakers, days, evidence = candidates.ids, candidates.speakers, candidates.days, candidates.evidence
    _check_texts([*ids, *candidates.texts, *speakers], "a candidate")
    if not set(map(type, days)) <= {date}:
        raise Garbage("a candidate's day is not a date")
    said_by = speakers if candidates.kind is CandidateKind.TURN else speakers or ids
    lengths = {len(ids), len(candidates.texts), len(said_by), len(days or ids), len(candidates.walked or ids)}
    if {column.shape for column in evidence} != {(len(evidence.coverage), len(ids))} or len(lengths) > 1:
        raise Garbage("its candidates' columns differ in length")
    by_words, cosine = (evidence.coverage, evidence.joint_coverage, evidence.local_coverage), evidence.cosine
    known = np.where(np.isnan(cosine), 0.0, cosine)
    # An answer cosine has a mean subtracted, so its bound is twice as large.
    numbers = np.stack([*by_words, evidence.near_cosine, evidence.local_cosine, known, evidence.answer_cosine / 2])
    is_real = {column.dtype.kind for column in evidence} == {"f"}
    if not is_real or not (np.abs(numbers) <= MOST_COSINE).all():
        raise Garbage("an item's evidence is not a number between -1 and 1")


def _check_history(answer: SourceAnswer, source: Source) -> None:
    if source is not Source.THREAD and (answer.history or answer.summary):
        raise Garbage("only the thread has a history")
    if answer.history:
        _check_turns(answer.history)
    if answer.summary is not None:
        _check_summary(answer.summary)


def _check_turns(turns: Sequence[StoredTurn]) -> None:
    numbers = [number for turn in turns for number in (turn.position, turn.o200k_tokens, turn.cl100k_tokens)]
    _check_places(numbers, "a turn")
    if min(numbers) < 0:
        raise Garbage("a turn's position or count is negative")
    _check_times([turn.said_at for turn in turns], "a turn")
    parts = list(chain.from_iterable([turn.parts for turn in turns]))
    if not {turn.role for turn in turns} <= _ROLES or not set(map(type, parts)) <= {dict}:
        raise Garbage("a turn has an unknown role, or a part that is not an object")
    orjson.dumps(parts)
    _check_texts([text for turn in turns for text in (turn.text, turn.speaker, turn.client_turn_id)], "a turn")


def _check_summary(summary: HistorySummary) -> None:
    _check_places([summary.through_position], "its summary")
    _check_texts([summary.text, *summary.turn_ids], "its summary")


def _check_texts(texts: Sequence[str], what: str) -> None:
    """Raise Garbage unless all texts can be sent, TypeError for a non-string. The texts are checked joined, which is faster."""
    joined = "".join(texts)
    if "\0" in joined:
        raise Garbage(f"{what} holds a NUL character, which receipts cannot store")
    if len(joined) > MOST_TEXT_CHARS and max(map(len, texts)) > MOST_TEXT_CHARS:
        raise Garbage(f"{what} has a text of over {MOST_TEXT_CHARS} characters")
    if not joined.isascii():
        try:
            joined.encode()
        except UnicodeEncodeError as error:
            raise Garbage(f"{what} holds half a surrogate pair") from error
