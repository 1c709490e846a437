"""Decides whether one text says all that another says, so that the other may be left out without losing a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from store.text.sentences import sentence_spans
from store.text.texts import signatures
from store.text.words import STOP_WORDS

_SAME_FROM = 0.9
_GRAM_WORDS = 3
_MOST_CHARS = 20_000  # a longer text says no other: reading it would hold up the turn
_REMEMBERED_CHARS = 2_000
_END_CHARS = 24
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_MARKUP = re.compile(r"[*_`#>]+")
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_ENDS = " .!?。！？…;,:\"'”’)"

_Gram = tuple[str, ...]


def says(one: str, other: str) -> bool:
    """Return whether the first text says each sentence of the second.

    A sentence is said word for word, or by a sentence that holds nine tenths of its runs of three words and has the same
    numbers, dates, negations and names.
    """
    if len(one) > _MOST_CHARS or len(other) > _MOST_CHARS:
        return False
    is_short = len(one) + len(other) <= _REMEMBERED_CHARS
    return _says(one, other) if is_short else _says.__wrapped__(one, other)


@lru_cache(maxsize=4096)
def _says(one: str, other: str) -> bool:
    whole, wanted = _plain(one), _plain(other)
    missing = [sentence for sentence in _sentences(wanted) if not _stands_in(whole, sentence)]
    if not missing:
        return True
    said = _sentences(whole)
    return all(any(_is_near(sentence, near) for near in said) for sentence in missing)


@lru_cache(maxsize=4096)
def sentence_ends(text: str) -> tuple[str, ...]:
    """Return the last 24 characters of each of the text's sentences, without case and end marks, those of the longest first; none
    if the text is too long to be compared.

    A text that says another mostly has a sentence with the same end as the longest of the other's.
    """
    if len(text) > _MOST_CHARS:
        return ()
    sentences = sorted((one.strip(_ENDS).casefold() for one in _sentences(_plain(text))), key=len, reverse=True)
    return tuple(dict.fromkeys(one[-_END_CHARS:] for one in sentences))


def _plain(text: str) -> str:
    """Return the text without links' targets and marks of emphasis, lines kept apart."""
    return _MARKUP.sub("", _LINK.sub(r"\1", text))


def _sentences(text: str) -> list[str]:
    """Return the sentences of the text, line by line, each with single spaces."""
    lines = (line for line in text.splitlines() if _WORD.search(line))
    return [
        _SPACES.sub(" ", line[start:end]).strip()
        for line in lines
        for start, end in sentence_spans(line, 0, len(line), shortest_chars=1)
    ]


def _stands_in(whole: str, sentence: str) -> bool:
    """Return whether the sentence stands in the text word for word, whatever its case and the mark at its end."""
    wanted = sentence.strip(_ENDS).casefold()
    text = _SPACES.sub(" ", whole).casefold()
    start = text.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        before, after = text[start - 1 : start], text[end : end + 1]
        if not _joins(before, wanted[:1]) and not _joins(wanted[-1:], after):
            return True
        start = text.find(wanted, start + 1)
    return False


def _joins(one: str, other: str) -> bool:
    """Return whether two characters belong to one word or number, in scripts that part words by spaces."""
    return bool(one and other) and (one + other).isascii() and (one.isalnum() or one in "-$") and other.isalnum()


def _is_near(sentence: str, said: str) -> bool:
    wanted = _grams(sentence)
    if len(wanted & _grams(said)) < _SAME_FROM * len(wanted) or _differ_in_names(sentence, said):
        return False
    first, second = signatures([sentence, said])
    return first.guard == second.guard


def _grams(sentence: str) -> frozenset[_Gram]:
    """Return every run of three words; the words alone if there are fewer."""
    words = _words(sentence)
    runs = range(max(1, len(words) - _GRAM_WORDS + 1))
    return frozenset(tuple(words[start : start + _GRAM_WORDS]) for start in runs)


def _words(sentence: str) -> Sequence[str]:
    return [word.casefold() for word in _WORD.findall(sentence)]


def _differ_in_names(one: str, other: str) -> bool:
    words = [_WORD.findall(text) for text in (one, other)]
    folded = [{word.casefold() for word in of_text} for of_text in words]
    names = [{word.casefold() for word in of_text if word[0].isupper()} - STOP_WORDS for of_text in words]
    return bool(names[0] - folded[1] or names[1] - folded[0])
