"""Decides how far a message leans on its thread: not at all ("When did Ana move to Lisbon?"), or wholly ("And why then?").

Two logistic models (`weights`) judge it in two steps. The first decides, from the message alone, whether the message is searched
with its thread at all; so most messages that stand by themselves cost no further search. Its features are the message's form and
the log odds of its words, in many languages (`leaning_by_words.json`). The second also compares the results of the searches with
and without the thread: "Where does the boat winter?" stands by itself if a memory holds its words, even if the thread just
mentioned the boat.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.fitted.weights import LEANING, MAY_LEAN, RankerWeights
from sidecar.turn.message.reading import OWN, Reading
from sidecar.turn.message.telling_words import telling_words
from store.text.texts import fold

WORDS_FILE: Final = Path(__file__).with_name("leaning_by_words.json")
"""The file of the log odds that a message leans on its thread, by its `telling_words`, and of their origin."""

_MOST_BY_WORDS: Final = 8.0
# For the first model: 1 of 20 follow-ups is not read with its thread, and 1 of 5 questions that stand by themselves is.
_LEAST_CHANCE = 0.08
# Measured: without this ramp, messages that lean a little lose more than they gain.
_NONE_BELOW, _ALL_ABOVE = 0.35, 0.65
_WORD = re.compile(r"\w+")
_MARKS: Final = ".,;:!?()[]…\"“”'’¿¡"
_POINTING_WORDS: Final = """
    it its he him his she her hers they them their theirs this that these those there one ones then so else other another
    er ihn ihm ihr ihre ihren ihrem ihrer seine seinen seinem seiner sein dies dieser dieses diese jener dort dabei damit davon
    dazu danach dafür noch
    ele ela eles elas dele dela deles delas isso isto aquilo esse essa este esta aquele aquela lá também outro outra
    él ella ello ellos ellas eso esto aquello ese esa aquel aquella allí también otro otra
    il elle ils elles lui leur leurs cela ça celui celle ceux celles là aussi autre
    lui lei loro questo questa quello quella anche altro altra
"""
_POINTING: Final = frozenset(map(fold, _POINTING_WORDS.split()))
"""Words that point to something said before, in six languages."""

_POINTING_UNSPACED = re.compile("[それあこ]の|[それあこ]れ|そこ|そう|彼|どうして|なぜ|那|这|這|他|她|它")
_BEGINNING_WORDS: Final = """
    and but so or then also ok okay und aber oder also dann auch e mas ou então y o pero entonces et mais alors puis ma allora poi
"""
_BEGINNING: Final = frozenset(map(fold, _BEGINNING_WORDS.split()))
"""First words of a message that continues what was said before."""

_GROUP_WORDS: Final = (
    "we our us wir unser unsere uns nós nosso nossa nosotros nuestro nuestra nous notre nos noi nostro nostra"
)
_OWN: Final = OWN | frozenset(map(fold, _GROUP_WORDS.split()))
"""Words for the speaker: questions about oneself seldom refer to the turns just before."""

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED_CHARS: Final = 2  # the average length of a word in a script without spaces
_MOST_NAMES, _MOST_OWN = 3, 2
_KEPT_BYTES: Final = 1_600
"""The bytes of the best texts for the message alone that keep at least the relevance they have without the thread.

Measured: follow-ups find as much as without this rule, and standalone questions in an unrelated thread lose a third as much.
"""


class WordOdds(NamedTuple):
    """The log odds that a message leans on its thread: an intercept, and a coefficient for each of its words."""

    bias: float
    words: Mapping[str, float]

    def of(self, message_words: frozenset[str]) -> float:
        """Return the log odds for a message with these `telling_words`, -8 to 8."""
        odds = self.bias + sum(self.words.get(word, 0.0) for word in sorted(message_words))
        return max(-_MOST_BY_WORDS, min(_MOST_BY_WORDS, odds))


class OwnEvidence(NamedTuple):
    """Evidence of the candidates for the message alone: the share of its words' weight, the cosine with its vector (NaN for a
    candidate without a vector), and whether the candidate is a single fact. One element per candidate.
    """

    coverage: NDArray[np.float64]
    cosine: NDArray[np.float64]
    is_fact: NDArray[np.bool_]


def may_lean(reading: Reading) -> bool:
    """Return whether the message may lean on its thread, judged by itself."""
    return MAY_LEAN.probability(message_form(reading)) >= _LEAST_CHANCE


def leaning(reading: Reading, own: NDArray[np.float64], in_thread: NDArray[np.float64], evidence: OwnEvidence) -> float:
    """Return how far the message leans on its thread, 0 to 1.

    `own` and `in_thread` are the candidates' log odds of relevance for the message itself and for the message in its thread.
    """
    return _ramp(LEANING.probability(leaning_features(reading, own, in_thread, evidence)))


def keeping_best(
    relevances: NDArray[np.float64], alone: NDArray[np.float64], sizes: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Return the relevances of candidates with a floor for the best ones: their relevance `alone`, for the message alone.

    The floor applies to the best candidates for the message alone, up to `_KEPT_BYTES` (given their `sizes` in bytes), and always
    to the first. So a thread cannot displace them if the message is wrongly taken to lean on it.
    """
    best, kept = np.argsort(-alone, kind="stable"), relevances.copy()
    places = best[: max(1, int((np.cumsum(sizes[best]) <= _KEPT_BYTES).sum()))]
    kept[places] = np.maximum(kept[places], alone[places])
    return kept


def leaning_of(
    may: RankerWeights, leans: RankerWeights, form: Mapping[str, float], searched: Mapping[str, float]
) -> float:
    """Return how far a message with these features leans on its thread, 0 to 1, by the weights of both steps."""
    return _ramp(leans.probability(searched)) if may.probability(form) >= _LEAST_CHANCE else 0.0


def leaning_features(
    reading: Reading, own: NDArray[np.float64], in_thread: NDArray[np.float64], evidence: OwnEvidence
) -> dict[str, float]:
    """Return the features of `leaning`: the message's form, how each of the two searches rates the other's best candidate, and
    how much of the message is found without the thread.

    Cosines count less the larger the reading's `blind` is: in a language that the embedder does not know, all texts are alike.
    """
    form, facts = message_form(reading), evidence.is_fact
    cosines = (1 - reading.blind) * np.nan_to_num(evidence.cosine)
    best_alone, best_in_thread = int(own.argmax()), int(in_thread.argmax())
    fact_coverage = float(evidence.coverage[facts].max(initial=0.0))
    return form | {
        "own_top": float(own[best_alone]),
        "thread_top": float(in_thread[best_in_thread]),
        "own_of_thread_best": float(own[best_in_thread] - own[best_alone]),
        "thread_of_own_best": float(in_thread[best_alone] - in_thread[best_in_thread]),
        "same_best": float(best_alone == best_in_thread),
        "repeated": reading.thread.repeated if reading.thread else 0.0,
        "covered": float(evidence.coverage.max()),
        "covered_by_fact": fact_coverage,
        "cosine": float(cosines.max()),
        "cosine_of_fact": float(cosines[facts].max(initial=-1.0)) if facts.any() else 0.0,
        "resolved": 0.0 if form["pointing"] or form["begins"] else fact_coverage * form["words"],
    }


def message_form(reading: Reading) -> dict[str, float]:
    """Return the features of the message's form, for `may_lean` and `leaning`."""
    text = reading.parts[0].text
    written = [fold(word) for word in _WORD.findall(text)]
    length = sum(_size(word) for word in written)
    # A script without spaces is searched by overlapping pairs of signs, which outnumber its words.
    words = sum(not _UNSPACED.search(word) for word in reading.words)
    words += sum(_size(word) for word in written if _UNSPACED.search(word)) // 2
    pointing = sum(word in _POINTING for word in written) + len(_POINTING_UNSPACED.findall(text))
    return {
        "words": math.log1p(words),
        "pointing": pointing / max(1, length),
        "length": math.log1p(length),
        "names": min(_MOST_NAMES, _names(text)),
        "begins": float(bool(written) and written[0] in _BEGINNING),
        "own": min(_MOST_OWN, sum(word in _OWN for word in written)),
        "by_words": _BY_WORDS.of(telling_words(reading)),
    }


def _read(path: Path) -> WordOdds:
    payload = json.loads(path.read_text(encoding="utf-8"))
    return WordOdds(payload["bias"], payload["words"])


_BY_WORDS: Final = _read(WORDS_FILE)


def _size(word: str) -> int:
    return max(1, len(word) // _UNSPACED_CHARS) if _UNSPACED.search(word) else 1


def _names(text: str) -> int:
    """Return the number of words that have a digit, or are capitalised inside a sentence."""
    names, ends = 0, True
    for written in text.split():
        word = written.strip(_MARKS)
        is_named = word[:1].isupper() and word[1:2].islower() and not ends
        names += is_named or any(map(str.isdigit, word))
        ends = written[-1] in ".?!"
    return names


def _ramp(chance: float) -> float:
    return min(1.0, max(0.0, (chance - _NONE_BELOW) / (_ALL_ABOVE - _NONE_BELOW)))
