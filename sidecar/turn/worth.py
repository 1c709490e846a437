"""Decides what is worth its tokens: whether a message asks for anything, and which items may help more than they cost.

Both are judged before any room is shared out, whatever the pool and the priorities. `calibration` holds the fitted numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from sidecar.turn.calibration import ASKS, ASKS_BY_WORDS, MESSAGE, MESSAGE_BY_WORDS, MESSAGE_VECTOR
from sidecar.turn.holding import probability
from sidecar.turn.weights import RankerWeights
from store.text.texts import query_words

_READ_CHARS: Final = 2_000
_MOST_LIKENESS: Final = 0.5  # beyond it, a memory is surely like the question
_BYTES_A_TOKEN, _LEAST_TOKENS = 4, 4
_FIFTH = 4
_WORD = re.compile(r"\w+")
_QUESTION_MARKS: Final = frozenset("?？؟¿")
# Particles that end a question where no mark need stand: Japanese, Chinese, Korean, Thai.
_QUESTION_END: Final = re.compile(r"(?:か|かな|吗|嗎|呢|까|까요|나요|ไหม|มั้ย)\W*$")
_CALLS: Final = frozenset("!！¡")
# A year and a code ("BA-17", "P16", "4B") are part of a question, other digits are mostly sums. Units ("5km") stay with the sums.
_YEAR_OR_CODE: Final = re.compile(
    r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)|(?<!\w)[A-Za-z\u00c0-\u04ff]+-?\d(?:[\w-]*\w)?|(?<!\w)\d+[A-Z](?!\w)"
)


class Spend(StrEnum):
    """How much a turn may spend on what may help: little, what is worth it, or all the room there is."""

    FRUGAL = "frugal"
    BALANCED = "balanced"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class SpendRule:
    """The numbers beneath a choice of `Spend`.

    `least_worth` is the least of an item's worth (see `worths`) times the probability that the message asks for anything,
    `least_relevance` the least of its relevance, and `least_asking` of that probability. `recall_tokens` bounds what is recalled
    or older than the last exchange, if no budget is set.
    """

    least_worth: float
    least_relevance: float
    least_asking: float
    recall_tokens: int


RULES: Final = {
    Spend.FRUGAL: SpendRule(least_worth=0.002, least_relevance=0.1, least_asking=0.5, recall_tokens=4_000),
    Spend.BALANCED: SpendRule(least_worth=0.00036, least_relevance=0.0, least_asking=0.2, recall_tokens=12_000),
    Spend.FULL: SpendRule(least_worth=0.0, least_relevance=0.0, least_asking=0.0, recall_tokens=128_000),
}


@dataclass(frozen=True, slots=True)
class Prospects:
    """How a message stands with what recall brought: the probability that it asks for anything, and that an answer is there."""

    asks: float = 1.0
    holds: float = 1.0


def message_score(text: str, vector: Sequence[float] | None, blind: float = 0.0) -> float:
    """Return the log odds that a message asks for something, by how it reads alone: its form and, if given, its vector.

    A vector counts less in a language that the embedder hardly knows (`likeness.blindness`, 0 to 1).
    """
    features = message_features(text)
    by_words = _score(MESSAGE_BY_WORDS, features)
    if vector is None:
        return by_words
    by_vector = _score(MESSAGE, features) + float(np.dot(np.array(MESSAGE_VECTOR), np.array(vector)))
    return (1 - blind) * by_vector + blind * by_words


def asking(score: float, relevances: Iterable[float], likeness: float, leaning: float, *, has_vector: bool) -> float:
    """Return the probability that a message of this `message_score` asks for anything, given all that recall brought, how like
    the message the memory or page most like it is, 0 if that is not known (without a vector, half of `judging.share_held`), and
    how far it leans on its thread, 0 to 1.
    """
    features = recall_features(relevances, likeness, leaning) | {"message": score}
    return probability(ASKS if has_vector else ASKS_BY_WORDS, features)


def recall_features(relevances: Iterable[float], likeness: float, leaning: float) -> dict[str, float]:
    """Return what recall brought, in log odds: the best relevance, the fifth best, or of fewer than five the best, and the log of
    their sum; the likeness within 0 and 0.5; and how far the message leans, alone and times that log: what its thread brings
    tells less of the message itself.
    """
    best = sorted(relevances, reverse=True)
    first = best[0] if best else 0.0
    fifth = (
        best[_FIFTH] if len(best) > _FIFTH else first
    )  # one answer among three texts stands as clear as among a hundred
    total = math.log(sum(best) + 1e-3)
    return {
        "best": _log_odds(first),
        "fifth": _log_odds(fifth),
        "sum": total,
        "likeness": min(max(likeness, 0.0), _MOST_LIKENESS),
        "leaning": leaning,
        "leaning_sum": leaning * total,
    }


def worths(relevances: Sequence[float], texts: Sequence[str], holds: Sequence[float]) -> list[float]:
    """Return what each item is worth: relevance * holds / sqrt(tokens).

    The relevance tells already how likely an answer is there at all (see `holding`), so that a floor of worth spends much where
    much is likely, and little where nothing is. `holds` counts again, because silence costs less than what is beside the point.
    At equal tokens a floor finds more than stopping when a sum of relevance, or a share of it, is left. Tokens are guessed from
    bytes, so that no tokenizer decides.
    """
    sizes = [len(text) if text.isascii() else len(text.encode(errors="replace")) for text in texts]
    tokens = np.maximum(_LEAST_TOKENS, np.array(sizes, np.float64) / _BYTES_A_TOKEN)
    values: list[float] = (np.array(relevances) * np.array(holds) / np.sqrt(tokens)).tolist()
    return values


def message_features(text: str) -> Mapping[str, float]:
    """Return the form of a message: its marks, its counts of words, and the shares of letters and of digits, but for those of
    years and codes.
    """
    read = text[:_READ_CHARS]
    words, telling = _WORD.findall(read), query_words(read)
    chars = max(1, len(read))
    return {
        "is_question": float(not _QUESTION_MARKS.isdisjoint(read) or _QUESTION_END.search(read) is not None),
        "words": math.log1p(len(words)),
        "telling": math.log1p(len(telling)),
        "telling_share": len(telling) / max(1, len(words)),
        "digits": sum(map(str.isdigit, _YEAR_OR_CODE.sub("", read))) / chars,
        "letters": sum(map(str.isalpha, read)) / chars,
        "is_call": float(not _CALLS.isdisjoint(read)),
        "length": math.log(max(1, len(read.encode(errors="replace")))),
    }


def _log_odds(relevance: float) -> float:
    bounded = min(max(relevance, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))


def _score(weights: RankerWeights, features: Mapping[str, float]) -> float:
    return weights.bias + sum(weight * features[name] for name, weight in weights.of.items())
