"""Words that are names only in some contexts: given names that are other words too, and short names of countries.

`Jun wrote it` names a person, `in June` and `will you come` do not; `the UK route` names a route.
"""

from __future__ import annotations

import re

from compiler.plan.lexicon.common_words import COMMON_WORDS
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.tokens import bare, bare_key, is_capital, tokens_of
from compiler.plan.text.words import CONNECTORS, NAMING, NO_NAMES, PERSONAL, PREDICATES

_MONTHS = "jan jun june april may mai julio abril avril august domingo summer autumn"
_CALENDAR = frozenset(_MONTHS.split())
# Within a sentence only a name has a capital.
_ORDINARY = frozenset(["will", "hope", "miles", "al", "ty"])
# Words of themes: `Faith asked the nurse` names a person, `Faith is a gift` does not.
_ART = "art"
_THEMES = frozenset([_ART, "charity", "clay", "faith", "forest", "kitty", "river"])
_GIVEN = _CALENDAR | _ORDINARY | _THEMES | {"christian"}
_DETERMINER_WORDS = """
the a an this that each every some any no my your his her its our their der die das den dem des ein eine einen einem einer mein
meine unser unsere sein seine ihr ihre diese diesem dieser el la los las un una mi tu su nuestro nuestra o os as um uma meu minha
nosso nossa le les une mon ma mes notre nos
"""
_DETERMINERS = frozenset(_DETERMINER_WORDS.split())
# They open questions and wishes: `Will Ana come?`, `Hope Ana is well`.
_VERBS = frozenset(["will", "may", "hope"])
_BEFORE_OTHERS = """
in of by until till since before after during last this next early late mid every each the a an on from for to through between
im am ab seit bis vor nach letzten diesen nachsten jeden en de desde hasta cada em ate dans depuis jusqu
"""
# A month has these verbs too: `June was hot`, `April brings rain`.
_MONTH_VERBS = """
is was has had will comes came brings brought starts started goes went feels made makes turns turned takes took means gave gives
leaves left closes opens costs
ist war hat hatte wird kommt kam geht ging kann muss soll macht braucht bekommt
es era esta estaba tiene tenia viene vino va fue lleva hace hizo empieza empezo sigue
estava tem tinha vem veio vai foi faz fez comecou est etait a avait vient
"""
_NO_PERSON_AFTER = frozenset(_BEFORE_OTHERS.split())
_OF_PERSONS = PREDICATES - frozenset(_MONTH_VERBS.split())
_NO_FAMILY_NAMES = NO_NAMES | COMMON_WORDS
_COUNTRIES = frozenset(["uk", "us", "usa", "eu"])
_NO_NOUNS = NO_NAMES | PREDICATES
_NOUN = re.compile(r"(?!\w+ed$)[a-z]+")
SPEAKERS = _ORDINARY | {"christian"}
"""Given names that a speaker may have although they are other words; before a colon a month is a label."""


def is_ambiguous(word: str) -> bool:
    """Return whether the word is a name only in some contexts; not Art, which is a theme's title."""
    key = plain_key(bare(word))
    return (key in _GIVEN and key != _ART) or key in _COUNTRIES


def is_theme_and_name(word: str) -> bool:
    """Return whether the word is a given name and a word of a theme."""
    return plain_key(bare(word)) in _THEMES


def is_written(key: str, text: str) -> bool:
    """Return whether the text has the word with this plain key with a capital, and not as a month: neither `it will rain` nor
    `in June`.
    """
    tokens = tokens_of(text)
    return any(
        is_capital(token) and bare_key(token) == key and not (key in _CALENDAR and _is_dated(before))
        for before, token in zip(("", *tokens), tokens, strict=False)
    )


def _is_dated(before: str) -> bool:
    return before.lower() in _NO_PERSON_AFTER or before.isdigit()


def is_attributive(word: str, after: str) -> bool:
    """Return whether the word is a country's short name that only describes the noun after it: `the UK route`."""
    is_country = word.isupper() and plain_key(word) in _COUNTRIES
    return is_country and bool(_NOUN.fullmatch(after)) and plain_key(after) not in _NO_NOUNS


def person_in(run: list[str], before: str, after: str, *, is_initial: bool) -> str:
    """Return the person that a run of capitalised words ends with, if its given name is another word too; else empty.

    `before` and `after` are the tokens beside the run, `before` in lower case.
    """
    start = next((at for at, word in enumerate(run) if plain_key(bare(word)) in _GIVEN or not _is_common(word)), 0)
    words, before = run[start:], run[start - 1].lower() if start else before
    is_month = bool(words) and plain_key(bare(words[0])) in _CALENDAR
    if _is_dated(before) if is_month else before in _DETERMINERS:
        return ""
    is_initial = is_initial and not start
    if len(words) == 2 and _begins_name(words, is_initial=is_initial):
        return f"{words[0]} {bare(words[1])}"
    is_named = before in NAMING
    is_person = len(words) == 1 and _is_person(words[0], after, is_initial=is_initial, is_named=is_named)
    return bare(words[0]) if is_person else ""


def _is_person(word: str, after: str, *, is_initial: bool, is_named: bool) -> bool:
    """Return whether a word that stands alone is a person: `Jun wrote it`, `we met Will`, `Will's car`."""
    key = plain_key(bare(word))
    if key not in _GIVEN:
        return False
    if key in _THEMES:
        is_sure = is_named or plain_key(after) in PERSONAL
        return is_sure or (not is_initial and (key != _ART or bare(word) != word or plain_key(after) in PREDICATES))
    if key in _ORDINARY and (not is_initial or bare(word) != word):
        return True
    return after.islower() and plain_key(after) in (_OF_PERSONS if key in _CALENDAR else PREDICATES)


def _begins_name(words: list[str], *, is_initial: bool) -> bool:
    """Return whether two words are a given name and a family name: `Jun Takeda`."""
    first, second = plain_key(words[0]), plain_key(bare(words[1]))
    is_family_name = second not in _NO_FAMILY_NAMES and not words[1].isupper()
    return first in _GIVEN - _THEMES and is_family_name and not (is_initial and first in _VERBS)


def _is_common(word: str) -> bool:
    return word.lower() in CONNECTORS or plain_key(bare(word)) in NO_NAMES
