"""Judges whether a message asks for anything, and which items are worth their tokens.

Both are judged before the pool is allocated, independently of its size and the priorities. `calibration` holds the fitted
weights.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.fitted.calibration import ASKS, ASKS_BY_WORDS, MESSAGE, MESSAGE_BY_WORDS, MESSAGE_VECTOR
from store.text.texts import query_words

_READ_CHARS: Final = 2_000
_MOST_LIKENESS: Final = 0.5  # beyond it, a memory is certainly like the question
_BYTES_PER_TOKEN, _LEAST_TOKENS = 4, 4
_FIFTH = 4
_WORD = re.compile(r"\w+")
_QUESTION_MARKS: Final = frozenset("?？؟¿")
# Particles that end a question in languages that need no question mark: Japanese, Chinese, Korean, Thai.
_QUESTION_END: Final = re.compile(r"(?:か|かな|吗|嗎|呢|까|까요|나요|ไหม|มั้ย)\W*$")
_EXCLAMATION_MARKS: Final = frozenset("!！¡")
# Days, years and codes ("BA-17", "P16", "4B") are part of a question; other digits, also those before units ("5km"), are mostly
# sums.
_DAY_YEAR_OR_CODE: Final = re.compile(
    r"(?<!\d)\d{1,2}\.\d{1,2}\.(?:(?:19|20)\d\d)?(?!\d)|(?<!\d)(?:19|20)\d\d-\d\d-\d\d(?!\d)|"
    r"(?<!\d)(?:1[5-9]|20)\d\d(?!\d)|(?<!\w)[A-Za-z\u00c0-\u04ff]+-?\d(?:[\w-]*\w)?|(?<!\w)\d+[A-Z](?!\w)"
)


class Spend(StrEnum):
    """How many tokens a turn may spend on recalled items: few, those that are worth it, or all the room there is."""

    FRUGAL = "frugal"
    BALANCED = "balanced"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class SpendRule:
    """The thresholds of a `Spend`.

    `least_worth` is the threshold of an item's worth (see `worths`) times the probability that the message asks for anything,
    `least_relevance` that of its relevance, and `least_asking` that of the probability. `recall_tokens` bounds recalled items
    and turns before the last exchange if no budget is set. `follow_up_tokens` bounds, at any budget, the judged items of a
    message that means nothing without its thread (see `judged_tokens`).
    """

    least_worth: float
    least_relevance: float
    least_asking: float
    recall_tokens: int
    follow_up_tokens: int

    def judged_tokens(self, leaning: float) -> int:
        """Return the bound on the tokens of judged items, for a message that leans on its thread by 0 to 1.

        Of a follow-up's words the thread brings most, and much in store holds some of them. Measured: what answers a follow-up is
        among the first 3,000 tokens by worth.
        """
        return round(self.recall_tokens - leaning * (self.recall_tokens - self.follow_up_tokens))


RULES: Final = {
    Spend.FRUGAL: SpendRule(0.002, least_relevance=0.1, least_asking=0.5, recall_tokens=4_000, follow_up_tokens=1_000),
    Spend.BALANCED: SpendRule(
        0.00032, least_relevance=0, least_asking=0.2, recall_tokens=12_000, follow_up_tokens=3_000
    ),
    Spend.FULL: SpendRule(0, least_relevance=0, least_asking=0, recall_tokens=128_000, follow_up_tokens=128_000),
}


def message_score(text: str, vector: Sequence[float] | None, blind: float = 0.0) -> float:
    """Return the log odds that a message asks for something, judged by the message alone: its form and, if given, its vector.

    The vector counts less the larger `blind` is, 0 to 1 (see `likeness.blindness`).
    """
    features = message_features(text)
    by_words = MESSAGE_BY_WORDS.log_odds(features)
    if vector is None:
        return by_words
    by_vector = MESSAGE.log_odds(features) + float(np.dot(np.array(MESSAGE_VECTOR), np.array(vector)))
    return (1 - blind) * by_vector + blind * by_words


def asking(score: float, relevances: Iterable[float], likeness: float, leaning: float, *, has_vector: bool) -> float:
    """Return the probability that a message with this `message_score` asks for anything, given the results of recall.

    `relevances` are those of all candidates. `likeness` is the highest likeness of a memory or page, 0 if unknown; without a
    vector, half of `judging.share_held`. `leaning` is how far the message leans on its thread, 0 to 1.
    """
    features = recall_features(relevances, likeness, leaning) | {"message": score}
    return (ASKS if has_vector else ASKS_BY_WORDS).probability(features)


def recall_features(relevances: Iterable[float], likeness: float, leaning: float) -> dict[str, float]:
    """Return the features of the results of recall: the log odds of the best and the fifth best relevance (of the best, if there
    are fewer than five), the log of the sum of relevances, the likeness clipped to 0 to 0.5, and the leaning, alone and times
    that log.

    The product is a feature because candidates that the thread brought tell less about the message itself.
    """
    best = sorted(relevances, reverse=True)
    first = best[0] if best else 0.0
    # With fewer texts the best one counts twice, so that an answer is as clear among three texts as among a hundred.
    fifth = best[_FIFTH] if len(best) > _FIFTH else first
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
    """Return the worth of each item: relevance * holds / sqrt(tokens).

    The relevance already contains `holds`, the probability that the item's kind holds an answer (see `holding`), so a threshold
    on worth admits much where answers are likely and little elsewhere. `holds` is applied twice because irrelevant items do more
    harm than missing ones. Measured: at equal tokens, such a threshold finds more than stopping at a sum or share of relevance.
    """
    values: list[float] = (np.array(relevances) * np.array(holds) / np.sqrt(estimated_tokens(texts))).tolist()
    return values


def estimated_tokens(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return the tokens of each text, estimated from its bytes, so that a judgement does not depend on a tokenizer."""
    sizes = [len(text) if text.isascii() else len(text.encode(errors="replace")) for text in texts]
    return np.maximum(_LEAST_TOKENS, np.array(sizes, np.float64) / _BYTES_PER_TOKEN)


def message_features(text: str) -> Mapping[str, float]:
    """Return the features of a message's form: its punctuation, its counts of distinct words, their length in bytes, and its
    shares of letters and of digits. The digits of days, years and codes do not count.
    """
    read = text[:_READ_CHARS]
    words, telling = set(_WORD.findall(read.casefold())), query_words(read)
    chars = max(1, len(read))
    return {
        "is_question": float(not _QUESTION_MARKS.isdisjoint(read) or _QUESTION_END.search(read) is not None),
        "words": math.log1p(len(words)),
        "telling": math.log1p(len(telling)),
        "telling_share": len(telling) / max(1, len(words)),
        "digits": sum(map(str.isdigit, _DAY_YEAR_OR_CODE.sub("", read))) / chars,
        "letters": sum(map(str.isalpha, read)) / chars,
        "is_call": float(not _EXCLAMATION_MARKS.isdisjoint(read)),
        "length": math.log(max(1, sum(len(word.encode(errors="replace")) for word in words))),
    }


def _log_odds(relevance: float) -> float:
    bounded = min(max(relevance, 1e-6), 1 - 1e-6)
    return math.log(bounded / (1 - bounded))
