"""Decides whether one text holds every sentence of another, so that the other may be left out without losing a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from store.text.sentences import sentence_spans
from store.text.texts import signatures
from store.text.words import STOP_WORDS

_SAME_FROM = 0.9
_GRAM_WORDS = 3
_MOST_CHARS = 20_000  # longer texts are not compared, because that would delay the turn
_MOST_PAIRS = 10_000  # of sentences, for the same reason
_CACHED_CHARS = 2_000
_END_CHARS = 24
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_MARKUP = re.compile(r"[*_`#>]+")
_LABEL = re.compile(r"^(?:- )?(?:\d{4}-\d\d-\d\d|[^\W\d_]+): ", re.MULTILINE)  # a speaker or a day before a statement
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_ENDS = " .!?。！？؟…;,:\"'”’)"
_QUESTION_MARKS = frozenset("?？؟")
_CLOSING = " .!。！…;,:\"'”’)"

_Gram = tuple[str, ...]


def says(one: str, other: str) -> bool:
    """Return whether the first text says each sentence of the second.

    A sentence is said if the first text has the same sentence, or one that begins with the same word, holds nine tenths of its
    three-word runs, has the same numbers, dates, negations and names, and is a question only if it is one. The first word must
    match because words before a statement may deny it ("no", "if", "she doubts that"). A text without words must occur verbatim.
    """
    if len(one) > _MOST_CHARS or len(other) > _MOST_CHARS:
        return False
    is_short = len(one) + len(other) <= _CACHED_CHARS
    return _says(one, other) if is_short else _says.__wrapped__(one, other)


def says_some(one: str, other: str) -> bool:
    """Return whether the first text says at least one sentence of the second."""
    return any(says(one, sentence) for sentence in _sentences(other))


@lru_cache(maxsize=4096)
def _says(one: str, other: str) -> bool:
    whole, wanted = _plain(one), _plain(other)
    if not _WORD.search(wanted):
        return other.strip() in one
    unlabelled = _LABEL.sub("", whole)
    texts = dict.fromkeys((whole, _unwrapped(whole), unlabelled, _unwrapped(unlabelled)))
    sentences = list(dict.fromkeys(chain.from_iterable(map(_sentences, texts))))
    known = set(map(_bare, sentences))
    for text in dict.fromkeys((wanted, _unwrapped(wanted))):
        missing = [sentence for sentence in _sentences(text) if _bare(sentence) not in known]
        if len(missing) * len(sentences) <= _MOST_PAIRS and all(_is_said(lacking, sentences) for lacking in missing):
            return True
    return False


@lru_cache(maxsize=4096)
def sentence_ends(text: str) -> tuple[str, ...]:
    """Return the last 24 characters of each sentence of the text, without case and end marks, the longest sentence's first; none
    if the text is too long to be compared.

    A text that says another usually has a sentence that ends like the other's longest.
    """
    if len(text) > _MOST_CHARS:
        return ()
    sentences = sorted((one.strip(_ENDS).casefold() for one in _sentences(_plain(text))), key=len, reverse=True)
    return tuple(dict.fromkeys(one[-_END_CHARS:] for one in sentences))


def _plain(text: str) -> str:
    """Return the text without link targets and emphasis marks, line by line."""
    return _MARKUP.sub("", _LINK.sub(r"\1", text))


@lru_cache(maxsize=1024)
def _sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of the text, line by line, each with single spaces."""
    lines = (line for line in text.splitlines() if _WORD.search(line))
    return tuple(
        _SPACES.sub(" ", line[start:end]).strip()
        for line in lines
        for start, end in sentence_spans(line, 0, len(line), shortest_chars=1)
    )


def _unwrapped(text: str) -> str:
    """Return the text on one line, since a sentence may continue on the next line."""
    return _SPACES.sub(" ", text)


def _bare(sentence: str) -> str:
    """Return the sentence without case and the marks at its ends, except a question mark."""
    bare = sentence.strip(_ENDS).casefold()
    return f"{bare}?" if _asks(sentence) else bare


def _asks(sentence: str) -> bool:
    return not _QUESTION_MARKS.isdisjoint(sentence.rstrip(_CLOSING)[-1:])


def _is_said(sentence: str, others: Sequence[str]) -> bool:
    """Return whether one of the others says nearly the same as the sentence (see `says`)."""
    wanted, first = _grams(sentence), _words(sentence)[0]
    least = _SAME_FROM * len(wanted)
    near = (other for other in others if len(other) >= least and len(wanted & _grams(other)) >= least)
    return any(
        _words(other)[0] == first
        and _asks(other) == _asks(sentence)
        and not _differ_in_names(sentence, other)
        and _same_guards(sentence, other)
        for other in near
    )


def _same_guards(one: str, other: str) -> bool:
    first, second = signatures([one, other])
    return first.guard == second.guard


@lru_cache(maxsize=8192)
def _grams(sentence: str) -> frozenset[_Gram]:
    """Return every run of three words; a single run of all words if there are fewer."""
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
