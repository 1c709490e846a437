"""Texts for benchmarks, from a seed: English-looking sentences whose words follow Zipf's law, and questions about them.

Half the words are stop words, the frequent others are common English, the rare ones are invented names, so that token
counts, word frequencies and search behave as with people's own texts. The same seed gives the same texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from store.text.words import STOP_WORDS

VOCABULARY_WORDS = 20_000
_SENTENCE_WORDS = 13
_STOP_WORDS = sorted(word for word in STOP_WORDS if word.isalpha() and word.isascii())
_COMMON = Path(__file__).with_name("words.txt").read_text(encoding="utf-8").split()
_SYLLABLES = tuple(map("".join, product("bdfgklmnprst", "aeiou")))


class Writer:
    """Writes texts from a seed. Two writers of one seed write the same, two of different seeds share their vocabulary."""

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._words = _vocabulary()
        weights = 1.0 / np.arange(2, len(self._words) + 2) ** 1.15
        self._shares = np.cumsum(weights / weights.sum())

    def text(self, words: int) -> str:
        """Return about so many words (a quarter more or less) in sentences."""
        return self.texts(1, words)[0]

    def texts(self, count: int, words: int) -> list[str]:
        """Return so many texts of about so many words each."""
        sizes = self._rng.integers(max(3, words * 3 // 4), words * 5 // 4 + 4, count)
        stream = self._telling(int(sizes.sum()))
        ends = np.cumsum(sizes)
        return [_sentences(stream[end - size : end]) for end, size in zip(ends.tolist(), sizes.tolist(), strict=True)]

    def question_about(self, text: str) -> str:
        """Return a question of about nine words, three or four of them telling ones from the text."""
        telling = [word for word in _plain(text) if word not in STOP_WORDS and len(word) > 2]
        chosen = self._rng.choice(telling or self._words, size=min(4, max(3, len(telling) // 20)))
        return f"What did we say about the {chosen[0]} and {' '.join(chosen[1:])} that I had?"

    def name(self) -> str:
        """Return a word or two as a title."""
        return " ".join(self._telling(2)[:2]).title()

    def pick(self, texts: Sequence[str]) -> str:
        """Return one of the texts."""
        return texts[int(self._rng.integers(len(texts)))]

    def _telling(self, count: int) -> list[str]:
        """Return words in the mix of a text: every other one a stop word, one of forty a number."""
        places: NDArray[np.int64] = np.searchsorted(self._shares, self._rng.random(count))
        kinds, stops = self._rng.random(count), self._rng.integers(len(_STOP_WORDS), size=count)
        return [
            _STOP_WORDS[stop] if kind < 0.48 else str(place % 997) if kind > 0.975 else self._words[place]
            for place, kind, stop in zip(places.tolist(), kinds.tolist(), stops.tolist(), strict=True)
        ]


def _sentences(words: Sequence[str]) -> str:
    pieces = [words[start : start + _SENTENCE_WORDS] for start in range(0, len(words), _SENTENCE_WORDS)]
    return " ".join(f"{' '.join(piece).capitalize()}." for piece in pieces)


def _plain(text: str) -> list[str]:
    return text.lower().replace(".", " ").split()


@cache
def _vocabulary() -> list[str]:
    """Return the common words and, behind them, invented names: the same list for every writer."""
    rng = np.random.default_rng(7)
    short = ["".join(pair) for pair in product(_SYLLABLES, repeat=2)]
    names = [*short, *(first + second for first, second in product(short, repeat=2))]
    chosen = rng.choice(len(names), size=VOCABULARY_WORDS - len(_COMMON), replace=False)
    common = [str(word) for word in rng.permutation(_COMMON)]
    return common + [names[place] for place in chosen.tolist()]
