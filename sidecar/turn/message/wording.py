"""Computes the share of a question's words that texts hold, in any language. Inflected forms count; scripts without spaces are
compared by pairs of signs.

Except in English, the search matches words only as they are written. Where vectors tell little, a question in Polish or Turkish
would then miss its answer.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from itertools import takewhile
from operator import eq
from typing import Final

from store.text.calendar_words import CALENDAR_WORDS
from store.text.languages import FUNCTION_WORDS
from store.text.texts import fold, is_unspaced, search_words

_READ_CHARS: Final = 1_000
_MOST_LETTERS: Final = 8
# Words without a meaning of their own that `FUNCTION_WORDS` lacks: a search may need them.
_AUXILIARY_WORDS: Final = """
    habe haben hast hat hatte hatten dir worüber wovon quoi avons avez sobre hemos 什么 何を
"""
_AUXILIARIES: Final = frozenset(map(fold, _AUXILIARY_WORDS.split()))
_HEAD, _MOST_APART = 3, 3
_YEAR_DIGITS: Final = 4
_HIRAGANA: Final = re.compile("[\u3041-\u309f]")  # inflects and joins words in Japanese


def word_shares(words: Sequence[str], texts: Sequence[str]) -> list[float]:
    """Return the share of the words' weight that each text holds, 0 to 1; `words` are search words without stop words.

    A word's weight is its number of letters, up to eight; words of fewer than three letters have none. In a script without
    spaces, pairs of signs have weight, except pairs of hiragana, which are mostly Japanese endings. Function words ("meine") and
    words for dates ("March", "2017") count only if there are no others. A text holds a word if it has any form of it: the two
    share their first three letters or more, at least half of the longer word, and differ in at most its last three letters.
    """
    weights = {word: weight for word in map(fold, words) if (weight := _weight(word))}
    weights = {word: weight for word, weight in weights.items() if not _tells_little(word)} or weights
    whole = sum(weights.values())
    if not whole:
        return [0.0] * len(texts)
    return [sum(weights[word] for word in weights if _holds(_by_heads(text), word)) / whole for text in texts]


def weight_besides(words: Sequence[str], names: Collection[str]) -> float:
    """Return the weight of the words, as in `word_shares`, but auxiliaries, function words, words for dates and `names` have
    none.

    A pair of signs counts half, because each sign is in two pairs.
    """
    telling = {word for word in map(fold, words) if not (_tells_little(word) or word in names or word in _AUXILIARIES)}
    return sum(_weight(word) / (2 if is_unspaced(word) else 1) for word in telling)


def _tells_little(word: str) -> bool:
    return word in CALENDAR_WORDS or word in FUNCTION_WORDS or (word.isdecimal() and len(word) == _YEAR_DIGITS)


def _weight(word: str) -> float:
    if is_unspaced(word):
        return (2 - len(_HIRAGANA.findall(word))) / 2 if len(word) == 2 else 0.0
    return min(len(word), _MOST_LETTERS) / _MOST_LETTERS if len(word) >= _HEAD else 0.0


@lru_cache(maxsize=1_000)
def _by_heads(text: str) -> Mapping[str, Sequence[str]]:
    """Return the folded search words of a text's first 1,000 characters, by their first three letters."""
    heads: dict[str, list[str]] = {}
    for word in set(search_words(fold(text[:_READ_CHARS])).split()):
        heads.setdefault(word[:_HEAD], []).append(word)
    return heads


def _holds(text: Mapping[str, Sequence[str]], word: str) -> bool:
    similar = text.get(word[:_HEAD], ())
    return word in similar or (len(word) >= _HEAD and any(_is_form(word, other) for other in similar))


def _is_form(one: str, other: str) -> bool:
    """Return whether two words may be forms of the same word, such as "Marka" and "Marek"."""
    longer = max(len(one), len(other))
    common = sum(1 for _ in takewhile(bool, map(eq, one, other)))
    return common >= _HEAD and common >= longer - _MOST_APART and 2 * common >= longer
