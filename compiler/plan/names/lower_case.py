"""Names in chats where capitals are rare or everywhere: `met liv at the bar`, `LISBON IS BACK ON`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.themes import is_form
from compiler.plan.text.german_nouns import is_german
from compiler.plan.text.kin import kind_of
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import is_verb
from compiler.plan.text.words import ADDRESSES, NAMING, NO_NAMES, PERSONAL, PREDICATES
from store.text.text_cache import cached_by_text
from store.text.words import STOP_WORDS

_SHORTEST = 3
_LONGEST_NOTE = 300
# Words before a person's name in a chat: `w liv`, which may be a thing as well, and `told liv`.
_WITH = frozenset(["with", "w", "and", "n", "con", "com", "y", "e", "avec", "et"])
_TELLING = frozenset(
    ["tell", "told", "meet", "met", "ask", "asked", "thanks", "thx", "thank", "texted", "invite", "invited"]
)
_JOINING = frozenset(["and", "n"])
_DETERMINER_WORDS = """
a an the one another each every some any my your his its our their
un una el los las uma le les une ein eine der das
"""
_DETERMINERS = frozenset(_DETERMINER_WORDS.split())
_MODALS = frozenset(["can", "cant", "could", "couldnt", "did", "will", "wont", "would", "wouldnt"])
_PERSONS = frozenset(["me", "you", "u", "him", "her", "us", "them"])
_OBJECTS = frozenset(["me", "us"])
_NAMES = frozenset(["names", "name's"])  # `her names kim`
_BEGINNING = re.compile(r"(?:^|[.!?…\n])[^\S\n]*([^\W\d_])")
_WORD = re.compile(r"(?<![\w'’@#/.])[^\W\d_]+(?![\w@/]|['’](?!s\b))")
# Words that a run of words in capitals has only where everything is in capitals, and not in `US GP`.
_SHOUTED = (STOP_WORDS | PREDICATES | _MODALS | ADDRESSES) - {"us", "it"}


def is_shouted(run: Sequence[str]) -> bool:
    """Return whether the run of capitalised words is shouted and no name: a part of a sentence in capitals, or a form of address
    in capitals and a name (`DOCTOR INES`).
    """
    return len(run) > 1 and all(map(str.isupper, run)) and not _SHOUTED.isdisjoint(map(plain_key, run))


@cached_by_text(4096)
def has_deliberate_capitals(text: str) -> bool:
    """Return whether most sentences of an utterance begin with a small letter, the first one too: a capital at the beginning of
    another one is then that of a name (`Ana: ok let's go. Marek comes too. he drives`).
    """
    begins = _BEGINNING.findall(_uttered(text))
    return bool(begins) and begins[0].islower() and 2 * sum(map(str.isupper, begins)) < len(begins)


@cached_by_text(4096)
def small_names(text: str) -> tuple[str, ...]:
    """Return the words of an utterance or note in lower case that may be names: those that are not among the frequent words.

    None if the text does not begin with a small letter, or is German.
    """
    said = _said(text)
    if not said[:1].islower() or is_german(plain_key(said).split()):
        return ()
    words = (word for word in _WORD.findall(said) if word.islower() and len(word) >= _SHORTEST)
    return tuple(dict.fromkeys(word for word in words if _may_be_name(plain_key(word))))


@cached_by_text(4096)
def introduced(text: str) -> frozenset[str]:
    """Return the words of an utterance in lower case that are certainly names, as `small_names` has them: those after a word like
    `cousin` or `called`.
    """
    said = _said(text)
    words = list(_WORD.finditer(said))
    beside = ((one, other) for one, other in pairwise(words) if said[one.end() : other.start()].isspace())
    after = {
        other[0] for one, other in beside if one[0].islower() and (plain_key(one[0]) in NAMING or one[0] in _NAMES)
    }
    return frozenset(after).intersection(small_names(text))


@cached_by_text(4096)
def small_keys(text: str) -> frozenset[str]:
    """Return the plain keys of the words that `small_names` returns."""
    return frozenset(map(plain_key, small_names(text)))


@cached_by_text(4096)
def determined(text: str) -> frozenset[str]:
    """Return the plain keys of `small_names` that follow a determiner, as common nouns do: `one fella comes in`."""
    words = plain_key(_said(text)).split()
    return small_keys(text).intersection(word for before, word in pairwise(words) if before in _DETERMINERS)


@cached_by_text(4096)
def accompanied(text: str) -> frozenset[str]:
    """Return the plain keys of `small_names` beside a word that stands beside people's names: `liv n marek`, `told liv`."""
    words = plain_key(_said(text)).split()
    beside = (
        word
        for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False)
        if before in _WITH or before in _TELLING or after in _JOINING
    )
    return small_keys(text).intersection(beside)


@cached_by_text(4096)
def addressees(text: str) -> frozenset[str]:
    """Return the plain keys of `small_names` that stand as only people's names do: `told liv`, `me n liv`, `liv cant come`."""
    words = plain_key(_said(text)).split()
    told = {word for before, word in pairwise(words) if before in _TELLING}
    told |= {
        word
        for word, modal, verb in zip(words, words[1:], (*words[2:], ""), strict=False)
        if modal in _MODALS and verb != "be"
    }
    joined = {
        one
        for first, joint, last in zip(words, words[1:], words[2:], strict=False)
        for one, other in ((first, last), (last, first))
        if joint in _JOINING and other in _PERSONS
    }
    return small_keys(text).intersection(told | joined)


@cached_by_text(4096)
def serving(text: str) -> frozenset[str]:
    """Return the plain keys of `small_names` that do what only people do: `liv says`, `liv lent me`."""
    words = plain_key(_said(text)).split()
    done = {
        word
        for word, verb, after in zip(words, words[1:], (*words[2:], ""), strict=False)
        if verb in PERSONAL - _MODALS or (is_verb(verb) and after in _OBJECTS)
    }
    return small_keys(text).intersection(done)


def _said(text: str) -> str:
    """Return an utterance without its speaker, or a short note; empty for a longer text without a speaker, such as a log."""
    if not speaker_of(text):
        return text.lstrip() if len(text) <= _LONGEST_NOTE else ""
    return _uttered(text)


def _uttered(text: str) -> str:
    """Return an utterance without its speaker; empty if the text has none."""
    speaker = speaker_of(text)
    return text.lstrip().removeprefix(f"{speaker}: ") if speaker else ""


def _may_be_name(key: str) -> bool:
    return bool(key) and not (is_ordinary(key) or key in NO_NAMES or is_form(key) or kind_of(key))
