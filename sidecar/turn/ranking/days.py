"""Ranks texts by their day, for a message that asks only for days ("What did I say last Tuesday?").

Such a message has no words and little meaning that its answers share, so that their day is their evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.candidates import Candidates
from sidecar.turn.message.reading import Reading
from sidecar.turn.ranking.rank import Ranked
from sidecar.turn.ranking.worth import RULES, Spend, estimated_tokens

OF_DAY: Final = 0.05
"""The least relevance of a text of the day that a message asks for: below that of texts of any day that match its words."""

_PERSONAL: Final = 1.0
_LABEL_TOKENS, _ROUNDED_UP = 16, 1.01  # before a turn stands its speaker's name
_FOUND: Final = 0.5  # how far such a text speaks for that the message asks for something


def of_days(ranked: Ranked, reading: Reading, candidates: Sequence[Candidates]) -> Ranked:
    """Return the relevances with those of texts on the asked days raised to `OF_DAY` or more, in the same order."""
    if not ranked.relevances or not reading.asks_for_days:
        return ranked
    relevances = np.array(ranked.relevances)
    least = OF_DAY * stand_on_days(reading, candidates)
    return replace(ranked, relevances=(least + (1 - least) * relevances).round(6).tolist())


def relevances_of_days(ranked: Ranked, reading: Reading, candidates: Sequence[Candidates]) -> list[float]:
    """Return the relevances that tell whether a message finds what it asks for: those of the texts on the asked days, if any."""
    stands = stand_on_days(reading, candidates)
    return [max(relevance, _FOUND) for relevance, is_asked in zip(ranked.relevances, stands, strict=False) if is_asked]


def worth_of_days(ranked: Ranked, reading: Reading, candidates: Sequence[Candidates], asks: float) -> Ranked:
    """Return the texts on the asked days as just worth their tokens, if the message asks for anything of the user's own life.

    So they come after all other texts that are worth theirs. Such a question has few words, which tell little of whether a kind
    of text holds its answer.
    """
    rule, stands = RULES[Spend.BALANCED], stand_on_days(reading, candidates)
    if asks < rule.least_asking or reading.personal < _PERSONAL or not stands.any():
        return ranked
    tokens = estimated_tokens([text for one in candidates for text in one.texts]) + _LABEL_TOKENS
    least = _ROUNDED_UP * rule.least_worth * np.sqrt(tokens) / (asks * np.maximum(ranked.relevances, OF_DAY))
    held = np.maximum(ranked.held, np.where(stands > 0, np.minimum(least, 1.0), 0.0))
    return replace(ranked, held=held.round(4).tolist())


def likeness_of_day(reading: Reading) -> float:
    """Return the least likeness of a memory of the asked day: a tenth of the log odds above 1 that the message is about the
    user's own life. So "Who won the match yesterday?" brings no memory of that day that is not like it.
    """
    return (reading.personal - _PERSONAL) / 10


def stand_on_days(reading: Reading, candidates: Sequence[Candidates]) -> NDArray[np.float64]:
    """Return 1 for each text that stands on a day that the message asks for, and 0 for all others."""
    return np.concatenate([np.zeros(0), *[_of_one(reading, one) for one in candidates]])


def _of_one(reading: Reading, one: Candidates) -> NDArray[np.float64]:
    if not reading.asks_for_days or not one.days:
        return np.zeros(len(one.ids))
    is_asked = {day: any(period.holds(day) for period in reading.periods) for day in set(one.days)}
    return np.array([float(is_asked[day]) for day in one.days])
