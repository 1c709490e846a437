"""Speakers of utterances: names before a colon at a text's start."""

from __future__ import annotations

import re

from compiler.plan.lexicon.ordinary_words import is_ordinary
from compiler.plan.names.ambiguous_names import SPEAKERS
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import speaks_to_other
from compiler.plan.text.sentences import SPEAKER
from compiler.plan.text.words import CONNECTORS, FIRST_PERSON, INTERJECTIONS, NO_NAMES, NOTE_LABELS
from store.text.text_cache import cached_by_text

_CALLING = re.compile(r"[!?？！](?:\s|$)")
# `We'll` and `we're` without their apostrophes are other words too, and some interjections are adjectives.
_CONTRACTIONS = frozenset(["well", "were", "ill", "id", "wed"])
_CONTRACTED = re.compile(r"\b(?:i|we)['’](?:ll|d|re|m|ve)\b", re.IGNORECASE)
_ADJECTIVES = """
well right great good nice cool sweet true fun happy sad glad super clear morning evening afternoon man girl hear please perfect
lovely beautiful excellent brilliant incredible amazing awesome fantastic wonderful stunning impressive gorgeous dear indeed sure
"""
_CALLS = INTERJECTIONS - frozenset(_ADJECTIVES.split())
_NO_SPEAKERS = (NO_NAMES - SPEAKERS) | NOTE_LABELS


def speaker_of(text: str) -> str:
    """Return the name before a colon at the text's start; empty if there is none, or if one of its words is not part of a name.

    Each of several words must have a capital or be a connector: `Cert rotation owner: Imani` has no speaker.
    """
    found = SPEAKER.match(text)
    words = found[1].split() if found else []
    if any(plain_key(word) in _NO_SPEAKERS for word in words):
        return ""
    is_name = len(words) == 1 or all(word[0].isupper() or word.lower() in CONNECTORS for word in words)
    return found[1] if found and is_name else ""


@cached_by_text(4096)
def is_talk(text: str) -> bool:
    """Return whether the text is an utterance, not a note under a label (`Landlord: Mr Petersen`): it has a speaker and a word of
    the first or second person, an interjection, a question or an exclamation.

    After an ordinary word (`Climbing: the squad trains as well`), an interjection that is also an adjective is no sign of one,
    unless it comes first.
    """
    speaker = speaker_of(text)
    words = plain_key(text.removeprefix(f"{speaker}: ")).split() if speaker else []
    is_label = is_ordinary(plain_key(speaker))
    persons = FIRST_PERSON - _CONTRACTIONS if is_label else FIRST_PERSON
    is_personal = not persons.isdisjoint(words) or speaks_to_other(words) or not INTERJECTIONS.isdisjoint(words[:1])
    is_personal |= not (_CALLS if is_label else INTERJECTIONS).isdisjoint(words)
    return bool(words) and (is_personal or bool(_CALLING.search(text)) or bool(_CONTRACTED.search(text)))
