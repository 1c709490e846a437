"""Whether words speak of the one who says them."""

from __future__ import annotations

from collections.abc import Iterable

from compiler.plan.text.german_nouns import is_german
from compiler.plan.text.words import FIRST_PERSON

_ALSO_GERMAN = frozenset(["im"])  # "I'm" without its apostrophe


def speaks_of_self(words: Iterable[str]) -> bool:
    """Return whether one of the folded words is in the first person: `im` is not, in a German text."""
    found = FIRST_PERSON.intersection(words := frozenset(words))
    return bool(found) and (bool(found - _ALSO_GERMAN) or not is_german(words))
