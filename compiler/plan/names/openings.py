"""The sentence that a page opens with: the one that best says what its subject is."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from compiler.plan.names.excerpts import founds
from compiler.plan.names.spotting import runs, speaker_of
from compiler.plan.names.themes import theme_of
from compiler.plan.text.change import content_words
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import FIRST_PERSON, NAMING, SECOND_PERSON

_IS = "is|are|was|were|es|era|e|foi|ist|war|est|etait|means|stands for"
_AN = (
    "a|an|the|my|our|his|her|their|one|un|una|el|la|um|uma|o|ein|eine|der|die|das|une|le|mi|meu|minha|mein|meine|mon|ma"
)
_LIKES = """
love loves loved like likes enjoy enjoys enjoyed favorite favourite passion passionate hobby started starting learning joined
practice practices interested fan ama encanta gosta liebt mag aime adore always usually every never often weekly daily
"""
_POINTING = re.compile(
    r"(?:and|but|so|or|not|also|then|plus|because|it|its|that|thats|this|these|those|they|theyre|he|she|hes|shes|there|here|either"
    r"|as for|on the other hand|one of|some of|another|other|for example|dont|lets|wow|yeah|yes|no|nah|hope|thanks|hmm|well)\b"
)
_REACTING = re.compile(
    r"\b(?:sounds?|seems?|must (?:be|have)|looks? like|glad|sorry to|thats|if|whether|would|shares? a (?:picture|photo))\b"
)
_DISCOURSE = re.compile(
    r"^(?:oh|ooh|ah|well|no|nah|nope|yes|yeah|yep|okay|ok|hmm|wow|sure|right|actually|honestly|basically|anyway|unfortunately"
    r"|sadly|luckily|fortunately|hopefully|of course|by the way|btw|as for me"
    r"|as i \w+ to say|like i said|you know|for example|and also)\b"
)
_LOOSE = frozenset(["it", "there", "them", "then", "this", "these", "those"])
_OTHERS = frozenset(["he", "she", "him", "her", "his", "hers", "they", "their"])
_LONGEST = 240
_SHORTEST_WORDS = 3
_WORDS = 12


def opening(said: Iterable[str], keys: Collection[str]) -> str:
    """Return the sentence that says best what the subject with these keys is; empty without any.

    Of equal ones the one that names it first, then the one nearest to a dozen words: never the first that came, so that the
    choice depends on the sentences alone.
    """
    return max(said, key=lambda one: _order(one, keys), default="")


def _order(sentence: str, keys: Collection[str]) -> tuple[int, int, int, str]:
    text = plain_key(sentence)
    at = min((text.find(key) for key in keys if key in text), default=len(text))
    return (fitness(sentence, keys), -at, -abs(len(text.split()) - _WORDS), sentence)


def fitness(sentence: str, keys: Collection[str]) -> int:
    """Return how well a page about the subject may open with the sentence; a definition counts most, an aside least."""
    speaker = speaker_of(sentence)
    said = plain_key(sentence.removeprefix(f"{speaker}: "))
    words = set(said.split())
    found = -2 if _POINTING.match(said) else -1 if _DISCOURSE.match(said) else 0
    found -= _looseness(sentence, words)
    found -= 2 if _REACTING.search(said) else 0
    found -= 0 if words.isdisjoint(SECOND_PERSON) else 2
    is_own = not words.isdisjoint(FIRST_PERSON)
    is_theme = any(theme_of(key) for key in keys)
    is_theirs = is_theme or not speaker or plain_key(speaker) in keys
    found += 2 if is_own and is_theirs else -1 if is_own else 0
    found -= 0 if founds(sentence, frozenset(keys)) else 2
    found -= 2 if len(sentence) > _LONGEST or len(content_words(sentence)) < _SHORTEST_WORDS else 0
    found -= 1 if sentence.rstrip().endswith("!") else 0
    if is_theme:
        opens = runs(sentence)[:1]
        is_told = bool(opens) and not speaker and said.startswith(plain_key(opens[0].name))
        return found + (1 if is_told else 0) + (2 if not words.isdisjoint(_LIKES.split()) else 0)
    return found + max((_defined(said, key) for key in keys), default=0)


def is_loose(sentence: str) -> bool:
    """Return whether the sentence points to one that went before it, so that alone it does not say what it is about."""
    return bool(_POINTING.match(plain_key(sentence.removeprefix(f"{speaker_of(sentence)}: "))))


def _looseness(sentence: str, words: Collection[str]) -> int:
    """Return how much a sentence hangs on others: 1 for a word like `it` or `there`, 1 for a `she` without a name."""
    found = 0 if _LOOSE.isdisjoint(words) else 1
    return found + (0 if _OTHERS.isdisjoint(words) or runs(sentence) else 1)


def _defined(said: str, key: str) -> int:
    name = re.escape(key)
    if re.search(rf"^(?:\S+ ){{0,3}}{name} (?:{_IS}) (?:{_AN})\b", said):
        return 6
    before = re.search(rf"(?:^|\s)(\S+) (\S+) {name}\b", f"  {said}")
    if before and (before[2] in NAMING or (before[1] in NAMING and len(before[2]) > 2)):
        return 5
    if said.startswith(key):
        return 3
    return 1 if re.search(rf"\b{name}\b", said) else 0
