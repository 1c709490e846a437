"""Persons in a text by grammar: words of the first person, and names used as a form of address."""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.plan.text.german_nouns import is_german
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.words import FIRST_PERSON, SECOND_PERSON
from store.text.short_texts import cached_if_short

_ALSO_GERMAN = frozenset(["im"])  # "I'm" without its apostrophe
_ONLY_GERMAN = frozenset(["du"])  # French: of the
_CALLED = re.compile(
    r"(?:^|[,.!?:]\s*|\b(?i:hey|hi|hello|thanks|thank you|wow|bye|yeah|yes|sure|congrats|love you)\s+)([^\W\d_]+)\s*[!,.?]"
)
_GREETED = re.compile(
    r"(?:\b(?i:hey|hi|hello|thanks|thank you|wow|bye|congrats|love you)\s+|,\s*)([^\W\d_]+)\s*(?:[!?]|\.(?:\s|$))"
)


def speaks_of_self(words: Iterable[str]) -> bool:
    """Return whether one of the folded words is in the first person. In a German text `im` is not."""
    found = FIRST_PERSON.intersection(words := frozenset(words))
    return bool(found) and (bool(found - _ALSO_GERMAN) or not is_german(words))


def speaks_to_other(words: Iterable[str]) -> bool:
    """Return whether one of the folded words is in the second person. `du` is only in a German text."""
    found = SECOND_PERSON.intersection(words := frozenset(words))
    return bool(found) and (bool(found - _ONLY_GERMAN) or is_german(words))


@cached_if_short(4096)
def addressed(text: str) -> frozenset[str]:
    """Return the keys of names that a text uses as a form of address."""
    return frozenset(plain_key(name) for name in _CALLED.findall(text) if name[0].isupper())


@cached_if_short(4096)
def greeted(text: str) -> frozenset[str]:
    """Return the keys of names after a greeting, or after a comma at the end of a clause. Stricter than `addressed`."""
    return frozenset(plain_key(name) for name in _GREETED.findall(text) if name[0].isupper())
