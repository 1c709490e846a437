"""Keeps a single item from failing a turn: an item that cannot be judged, counted or rendered is dropped, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from sidecar.runtime.errors import PoolTooSmall
from sidecar.turn.fitting.fitting import Fitted, Fitting, fit
from sidecar.turn.items import Item, SourceReport, TokenCounter
from sidecar.turn.message.reading import Reading, message_reading
from sidecar.turn.ranking.judging import judge

_TURNS, _SUMMARY = -1, -2
_Part = tuple[int, int]
"""A part that may be at fault: the index of its report (or _TURNS, _SUMMARY), and its index in that."""

Made = TypeVar("Made")


def decide(question: Fitting, reading: Reading | None, meter: TokenCounter) -> tuple[Fitting, Fitted]:
    """Return the question with its items judged (if `reading` is given), and the fitted turn.

    If that fails, subsets of the items, turns and summary are tried to find the parts at fault. Those get the decision UNUSABLE
    with a reason, and the turn is decided without them. Raises PoolTooSmall.
    """
    decided, _ = _tried(lambda: _decided(question, reading, meter))
    if decided is not None:
        return decided
    parts = list(_parts(question))

    def fails(chosen: Collection[_Part]) -> str:
        return _tried(lambda: _decided(_only(question, chosen), reading, meter))[1]

    faults = _at_fault(parts, fails, beside=None)
    sound = [part for part in parts if part not in faults]
    if fails(sound):  # these parts fail only together
        faults |= _at_fault(sound, fails, beside=())
    return _decided(_marked(question, faults), reading, meter)


def _tried(work: Callable[[], Made]) -> tuple[Made | None, str]:
    """Return the result of `work` and an empty reason, or None and the reason of its failure."""
    try:
        return work(), ""
    except PoolTooSmall:
        raise
    except Exception as error:  # noqa: BLE001 - an item's failure becomes its decision
        return None, f"using it failed with {type(error).__name__}"


def _decided(question: Fitting, reading: Reading | None, meter: TokenCounter) -> tuple[Fitting, Fitted]:
    if reading is not None:
        judged = judge(question.reports, reading)
        question = replace(question, reports=judged.reports, reading=message_reading(reading, judged.prospects))
    return question, fit(question, meter)


def _at_fault(
    parts: Sequence[_Part], fails: Callable[[Collection[_Part]], str], *, beside: Sequence[_Part] | None
) -> dict[_Part, str]:
    """Return the parts at fault with reasons, found by bisection.

    Each half is tried together with the sound parts in `beside`, which grows by the parts that prove sound. If `beside` is None,
    each half is tried alone, which is faster.
    """
    reason = fails([*(beside or ()), *parts])
    if not reason or not parts:
        return {}
    if len(parts) == 1:
        return {parts[0]: reason}
    half = len(parts) // 2
    first = _at_fault(parts[:half], fails, beside=beside)
    if beside is not None:
        beside = [*beside, *(part for part in parts[:half] if part not in first)]
    return first | _at_fault(parts[half:], fails, beside=beside)


def _parts(question: Fitting) -> Iterable[_Part]:
    yield from ((_TURNS, index) for index in range(len(question.history)))
    yield from ((_SUMMARY, 0) for _ in range(question.summary is not None))
    for number, report in enumerate(question.reports):
        yield from ((number, index) for index in range(len(report.items)))


def _only(question: Fitting, chosen: Collection[_Part]) -> Fitting:
    """Return the question with only these parts."""
    kept = frozenset(chosen)
    return replace(
        question,
        reports=tuple(
            _with(report, [item for index, item in enumerate(report.items) if (number, index) in kept])
            for number, report in enumerate(question.reports)
        ),
        history=tuple(turn for index, turn in enumerate(question.history) if (_TURNS, index) in kept),
        summary=question.summary if (_SUMMARY, 0) in kept else None,
    )


def _marked(question: Fitting, faults: dict[_Part, str]) -> Fitting:
    """Return the question with each fault recorded on its part, reduced to the fields that the receipt needs."""
    summary, fault = question.summary, faults.get((_SUMMARY, 0), "")
    return replace(
        question,
        reports=tuple(
            _with(report, [_faulty(item, faults.get((number, index))) for index, item in enumerate(report.items)])
            for number, report in enumerate(question.reports)
        ),
        history=tuple(
            replace(turn, fault=faults[_TURNS, index]) if (_TURNS, index) in faults else turn
            for index, turn in enumerate(question.history)
        ),
        summary=replace(summary, fault=fault) if summary and fault else summary,
    )


def _faulty(item: Item, fault: str | None) -> Item:
    return item._replace(fault=fault, at=None, signature=None, relevance=0.0) if fault else item


def _with(report: SourceReport, items: Sequence[Item]) -> SourceReport:
    sound = {item.id for item in items if not item.fault}
    candidates = report.candidates and (report.candidates.only(sound) if sound else None)
    return replace(report, items=tuple(items), candidates=candidates)
