"""Decides how far a message leans on its thread: not at all ("When did Ana move to Lisbon?"), or wholly ("And why then?").

What its words tell, in many languages, is one number (`leaning_by_words.json`). A logistic model in two steps (`weights`) judges
it with the message's form. The message alone decides whether it is searched in its thread at all, so that most
messages that stand by themselves cost nothing more. After the search, what was found with and without the thread decides too:
"Where does the boat winter?" stands by itself where a memory holds its words, whatever was said of the boat just before.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidecar.turn.reading import Reading
from sidecar.turn.telling_words import telling_words
from sidecar.turn.weights import LEANING, MAY_LEAN, RankerWeights
from store.text.texts import fold

WORDS_FILE: Final = Path(__file__).with_name("leaning_by_words.json")
"""The log odds that a message leans on its thread, by its `telling_words`, and where they come from."""

_MOST_BY_WORDS: Final = 8.0
_LEAST_CHANCE = (
    0.08  # of the message alone: 1 of 20 follow-ups is not read with its thread, 1 of 5 questions of one's own is
)
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
"""Words that point at something said before, in six languages."""

_POINTING_UNSPACED = re.compile("[それあこ]の|[それあこ]れ|そこ|そう|彼|どうして|なぜ|那|这|這|他|她|它")
_BEGINNING_WORDS: Final = """
    and but so or then also ok okay und aber oder also dann auch e mas ou então y o pero entonces et mais alors puis ma allora poi
"""
_BEGINNING: Final = frozenset(map(fold, _BEGINNING_WORDS.split()))
"""Words with which a message goes on from what was said."""

_OWN_WORDS: Final = """
    i my me mine we our us myself ich mein meine meinen meinem meiner mir mich wir unser unsere uns eu meu minha meus minhas nós
    nosso nossa yo mi mis nosotros nuestro nuestra je j mon mes moi nous notre nos io mio mia miei mie noi nostro nostra
"""
_OWN: Final = frozenset(map(fold, _OWN_WORDS.split()))
"""Words for the person who asks: what they ask about themselves was seldom said just before."""

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_UNSPACED_CHARS: Final = 2  # a word in a script without spaces, on average
_MOST_NAMES, _MOST_OWN = 3, 2
_KEPT_BYTES: Final = 1_600
"""Size of the texts, best first for the message itself, that keep at least the relevance they have without the thread.

Measured: follow-ups find as much, and questions taken to lean on a stranger's thread lose a third of what they lost.
"""


class WordOdds(NamedTuple):
    """Log odds that a message leans on its thread: of any message, and what each of its words adds."""

    bias: float
    words: Mapping[str, float]

    def of(self, message_words: frozenset[str]) -> float:
        """Return the log odds for a message with these `telling_words`, within 8."""
        odds = self.bias + sum(self.words.get(word, 0.0) for word in sorted(message_words))
        return max(-_MOST_BY_WORDS, min(_MOST_BY_WORDS, odds))


class OwnEvidence(NamedTuple):
    """What the candidates hold of the message itself, a number each: the share of its words' weight, the cosine with its vector
    (NaN without one), and whether the candidate is a single fact.
    """

    coverage: NDArray[np.float64]
    cosine: NDArray[np.float64]
    is_fact: NDArray[np.bool_]


def may_lean(reading: Reading) -> bool:
    """Return whether the message may lean on its thread, judged by itself."""
    return _probability(MAY_LEAN, message_form(reading)) >= _LEAST_CHANCE


def leaning(reading: Reading, own: NDArray[np.float64], in_thread: NDArray[np.float64], evidence: OwnEvidence) -> float:
    """Return how far the message leans on its thread, 0 to 1.

    `own` and `in_thread` are the candidates' log odds of relevance for the message itself and for the message in its thread.
    """
    return _ramp(_probability(LEANING, leaning_features(reading, own, in_thread, evidence)))


def keeping_best(
    relevances: NDArray[np.float64], alone: NDArray[np.float64], sizes: Sequence[int]
) -> NDArray[np.float64]:
    """Return the relevances for a message that leans on its thread, given those for the message itself alone.

    The best for the message itself, up to `_KEPT_BYTES` of texts of these sizes, keep at least that: were the message wrongly
    taken to lean, its thread could not push them out. Their first always keeps it.
    """
    best, kept = np.argsort(-alone, kind="stable"), relevances.copy()
    places = best[: max(1, int((np.cumsum(np.array(sizes)[best]) <= _KEPT_BYTES).sum()))]
    kept[places] = np.maximum(kept[places], alone[places])
    return kept


def leaning_of(
    may: RankerWeights, leans: RankerWeights, form: Mapping[str, float], searched: Mapping[str, float]
) -> float:
    """Return how far a message of these features leans by these weights of both steps, 0 to 1."""
    return _ramp(_probability(leans, searched)) if _probability(may, form) >= _LEAST_CHANCE else 0.0


def leaning_features(
    reading: Reading, own: NDArray[np.float64], in_thread: NDArray[np.float64], evidence: OwnEvidence
) -> dict[str, float]:
    """Return the features that `leaning` judges: of the message, how the two searches judge each other's best, and how much of
    the message is found without the thread.
    """
    form, facts = message_form(reading), evidence.is_fact
    cosines = np.nan_to_num(evidence.cosine)
    best, best_there = int(own.argmax()), int(in_thread.argmax())
    of_fact = float(evidence.coverage[facts].max(initial=0.0))
    return form | {
        "own_top": float(own[best]),
        "thread_top": float(in_thread[best_there]),
        "own_of_thread_best": float(own[best_there] - own[best]),
        "thread_of_own_best": float(in_thread[best] - in_thread[best_there]),
        "same_best": float(best == best_there),
        "repeated": reading.thread.repeated if reading.thread else 0.0,
        "covered": float(evidence.coverage.max()),
        "covered_by_fact": of_fact,
        "cosine": float(cosines.max()),
        "cosine_of_fact": float(cosines[facts].max(initial=-1.0)) if facts.any() else 0.0,
        "resolved": 0.0 if form["pointing"] or form["begins"] else of_fact * form["words"],
    }


def message_form(reading: Reading) -> dict[str, float]:
    """Return the features of the message that `may_lean` and `leaning` judge."""
    text = reading.parts[0].text
    written = [fold(word) for word in _WORD.findall(text)]
    length = sum(_size(word) for word in written)
    # A script without spaces is searched by overlapping pairs: they are more than its words.
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
    """Return how many words inside sentences are capitalised or have a digit."""
    names, ends = 0, True
    for written in text.split():
        word = written.strip(_MARKS)
        is_named = word[:1].isupper() and word[1:2].islower() and not ends
        names += is_named or any(map(str.isdigit, word))
        ends = written[-1] in ".?!"
    return names


def _ramp(chance: float) -> float:
    return min(1.0, max(0.0, (chance - _NONE_BELOW) / (_ALL_ABOVE - _NONE_BELOW)))


def _probability(weights: RankerWeights, features: Mapping[str, float]) -> float:
    score = weights.bias + sum(weight * features[name] for name, weight in weights.of.items())
    return 1 / (1 + math.exp(-max(-35.0, min(35.0, score))))
