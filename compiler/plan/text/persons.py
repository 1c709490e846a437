"""Persons in a text by grammar: words of the first person, names used as a form of address, and names that a verb follows."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from itertools import pairwise

from compiler.plan.text.german_nouns import is_german
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.page_words import language_of
from compiler.plan.text.words import FIRST_PERSON, HONOURED, PASTS, PREDICATES, SECOND_PERSON
from store.text.text_cache import cached_by_text

_ALSO_GERMAN = frozenset(["im"])  # "I'm" without its apostrophe
# Without an apostrophe, `we're` and `we'll` are other words and no evidence of the first person.
OWN = FIRST_PERSON - {"were", "well", "wed"}
_ONLY_GERMAN = frozenset(["du"])  # French: of the
_CALLED = re.compile(
    r"(?:^|[,.!?:]\s*|\b(?i:hey|hi|hello|thanks|thank you|wow|bye|yeah|yes|sure|congrats|love you)\s+)([^\W\d_]+)\s*[!,.?]"
)
_GREETED = re.compile(
    r"(?:\b(?i:hey|hi|hello|thanks|thank you|wow|bye|congrats|love you)\s+|,\s*)([^\W\d_]+)\s*(?:[!?]|\.(?:\s|$))"
)
_APPOSED = re.compile(
    r"([^\W\d_a-z][\w-]+), (?:an?|the|my|our|his|her|their|user['’]s|una?|el|la|mi|su|uma?|o|meu|minha|eine?|der|die|mein\w*)"
    r" [^\W\d_]"
)
_HONOURED = re.compile(rf"^(?:{HONOURED}) ")
_PAST = re.compile(r"[a-z]{3,}ed")
_OWNERS = re.compile(r"\b([^\W\d_a-z][\w-]*)['’]s\b")
COPULA = re.compile(r"\s[éè]\s")  # without its accent it is the Portuguese `and`


def speaks_of_self(words: Iterable[str]) -> bool:
    """Return whether one of the folded words is in the first person. In a German text `im` is not."""
    found = OWN.intersection(words := frozenset(words))
    return bool(found) and (bool(found - _ALSO_GERMAN) or not is_german(words))


def speaks_to_other(words: Iterable[str]) -> bool:
    """Return whether one of the folded words is in the second person. `du` is only in a German text."""
    found = SECOND_PERSON.intersection(words := frozenset(words))
    return bool(found) and (bool(found - _ONLY_GERMAN) or is_german(words))


@cached_by_text(4096)
def addressed(text: str) -> frozenset[str]:
    """Return the keys of names that a text uses as a form of address."""
    return frozenset(plain_key(name) for name in _CALLED.findall(text) if name[0].isupper())


@cached_by_text(4096)
def greeted(text: str) -> frozenset[str]:
    """Return the keys of names after a greeting, or after a comma at the end of a clause. Stricter than `addressed`."""
    return frozenset(plain_key(name) for name in _GREETED.findall(text) if name[0].isupper())


def acts(key: str, text: str, verbs: Collection[str] = ()) -> bool:
    """Return whether a verb of the third person or a possessive sign follows the name with this plain key in the text; of
    `verbs`, if given, one of these.
    """
    if not verbs and any(plain_key(owner) == key for owner in _OWNERS.findall(text)):
        return True
    words = f" {plain_key(COPULA.sub(' est ', text))} "
    at = words.find(f" {key} ")
    while at >= 0:
        after = _HONOURED.sub("", words[at + len(key) + 2 :]).split(" ", 1)[0]
        if after in verbs or (not verbs and _is_verb_in(text, after)):
            return True
        at = words.find(f" {key} ", at + 1)
    return False


def is_apposed(key: str, text: str) -> bool:
    """Return whether the text begins with the name and a comma and says who that is: `Ana, the designer, agrees.`"""
    found = _APPOSED.match(text)
    return found is not None and plain_key(found[1]) == key


@cached_by_text(4096)
def acting(text: str) -> frozenset[str]:
    """Return the plain keys of one word for which `acts` is true."""
    words = plain_key(COPULA.sub(" est ", text)).split()
    verbs = {word for word in set(words) if _is_verb_in(text, word)}
    return frozenset(word for word, after in pairwise(words) if after in verbs).union(
        map(plain_key, _OWNERS.findall(text))
    )


def is_verb(word: str) -> bool:
    """Return whether a plain key is a verb of the third person, by lists and by the English past: `gives`, `called`."""
    return word in PASTS or word in PREDICATES or _PAST.fullmatch(word) is not None


def _is_verb_in(text: str, word: str) -> bool:
    """Return whether a word is a verb of the third person in the text: `a` is none in Spanish and Portuguese."""
    return is_verb(word) and (word != "a" or language_of(text) not in ("spanish", "portuguese"))
