"""The tokens of a text in which names are looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache

from compiler.plan.lexicon.country_names import COUNTRY_NAMES
from compiler.plan.lexicon.joined_names import FIRM_ENDS, JOINED, NAMES_ENDING_IN_MONTH, NOT_OWNED, OWNED
from compiler.plan.text.german_nouns import is_german_compound
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.page_words import language_of
from compiler.plan.text.words import HONOURED
from store.text.text_cache import cached_by_text

NO_TOKEN = ""
"""Stands for a token that was taken away."""

_PAIRS = "|".join(
    rf"{first} (?:and|und|y|e|et) {last}" for first, last in map(str.split, re.split(r"[|\n]", JOINED.strip()))
)
_FIRM = rf"[^\W\d_a-z][^\W\d_]+ (?:and|und|y|e|et) (?:{'|'.join(FIRM_ENDS.split())})(?! of\b)"
_ENDING_IN_MONTH = rf"(?:{NAMES_ENDING_IN_MONTH})(?! \d)"
_KIND = "|".join(OWNED.split())
_NO_KIND = "|".join(NOT_OWNED.split())
_OWNED = rf"[^\W\d_a-z][^\W\d_]+['’]s (?:{_KIND})\b(?! (?:{_NO_KIND})\b)"
_CONTINENT = "Africa|America|Asia|Australia|Europe|Pacific"
_TOKEN = re.compile(
    rf"(?=[^\W\d_a-z])(?:(?:{_PAIRS}|{_FIRM}|{_ENDING_IN_MONTH})(?!\w)|{_OWNED})|"
    r"(?:Dr|Dra|Prof|Mr|Mrs|Ms|Sr|Sra|Srta|Hr|Fr|Mme|Ing|St|Ste|Mt)\.(?=\s+[^\W\d_a-z])|"
    rf"(?:{_CONTINENT})/(?!{_CONTINENT})[A-Z]\w+|"  # a time zone
    r"[A-Z]{3,}(?=['’]s\s+[A-Z])|"  # an owner before a name: `UIP's DNP program`
    r"(?:[A-Z]\.){1,4}(?=\s*[A-Z][a-z])|[A-Z][A-Z\d]+(?::[A-Z\d]+)+(?!\w)|"
    r"[^\W_](?:[\w'’.-]*[^\W_])?(?:(?:\+\+?|#)(?![\w+#]))?|[^\w\s]|\n"
)
_POSSESSIVE = re.compile(
    r"['’](?i:s)?$|(?<=\w{4})-[a-z]\w*$"
    r"|(?<=\w)-(?:based|style|like|themed|related|inspired|powered|free|made|led|run|ish|san|kun|chan|era|born|friendly|driven"
    r"|specific|only|wide|side|level|type|backed|ready|first|native|compatible|basierte?[rns]?)$"
)
# `J'ai`, `Qu'elle`, `Un'altra`, and not `D'Artagnan`, `Ana's` or `There'll`.
_ELIDED = re.compile(
    r"(?:[CDJLMNST]|Qu|Jusqu|Lorsqu|Puisqu|Aujourd|Quelqu|Un|Dell|All|Nell|Sull|Dall|Quell|Com|Dov)['’][^\W\d_A-ZÀ-Þ]{2}"
)
_ARTICLED = re.compile(r"l['’][A-ZÀ-Þ][a-zß-ÿ]{2}")
_HONOURED = tuple(f"-{one}" for one in HONOURED.split("|"))
_QUOTES = frozenset('"“”„«»‘’')
_AMOUNT = re.compile(r"\d+[.,]\d")
_LONGEST_UNIT = 3
_BEFORE_INNS = frozenset(["at", "outside", "behind", "near", "called"])
_OF_INNS = frozenset(["is", "was", "has", "had", "does", "did", "serves", "closes", "opens", "closed", "opened"])
_PARTS = frozenset(
    ["in", "on", "at", "for", "with", "and", "by", "near", "because", "after", "before", "is", "was", "has"]
)
# `A podcast called Lamp and Lens`, and not `a couple called Ana and Tim` or `a house with dogs called Max and Moritz`.
_SEVERAL = "couple|pair|duo|parents|people|twins|with|mit|con|com|avec|two|zwei|dos|dois|deux|paar|pareja|casal"
_ARTICLE = "an?|the|one|my|our|his|her|their|eine?[nmr]?|d(?:er|ie|as|en|em)|una?|el|la|mi|su|uma?|o|une?|le"
_PAIR = r"[^\W\d_a-zß-ÿ][^\W\d_]+ (?:and|und|y|e|et) [^\W\d_a-zß-ÿ][^\W\d_]+"
_NAMED_AFTER_TWO = re.compile(
    rf"(?:\b(?i:{_ARTICLE}) (?:(?!(?i:{_SEVERAL})\b)[\w-]+ ){{1,5}}?(?<!s )(?:called|named|namens|llamad[oa]|chamad[oa]|appelée?)"
    r"|\b(?:(?:is|was) (?:now )?(?:called|named)|heißt|hieß|se llama|se chama|chama-se|s['’]appelle))"
    rf" (?:the )?({_PAIR})(?=[.;:!?)]|,(?! [^\W\d_a-zß-ÿ])|$| (?:in|at|on|for|from|since|by|about|which|that|is|was|has)\b)"
)
_STREET = "St."
_PARTICLES = frozenset(["den", "der", "ter"])  # `Van der Aa`
_GOING = "Van"  # a name, `Van Gogh`, or Spanish and Portuguese for `they go`


def tokens_of(text: str) -> list[str]:
    """Return the words, stops and line ends of a text. Names joined by a word are one token: `Turks and Caicos`,
    `Crumb and Co`, `McGee's bar`.
    """
    tokens = _TOKEN.findall(text)
    if _GOING in tokens and language_of(text) in ("spanish", "portuguese"):
        after = (*tokens[1:], "")
        tokens = [
            one.lower() if one == _GOING and following not in _PARTICLES else one
            for one, following in zip(tokens, after, strict=True)
        ]
    if "and" in tokens and ("the" in tokens or "The" in tokens):
        tokens = list(_inns_joined(tokens))
    for pair in paired(text):
        tokens = list(_joined(tokens, pair.split()))
    is_street = _STREET in tokens and language_of(text) not in ("german", "french")
    return list(_streets_ended(tokens)) if is_street else tokens


@cached_by_text(4096)
def paired(text: str) -> tuple[str, ...]:
    """Return the names of two words joined by `and` that a text gives to one thing: `a podcast called Lamp and Lens`."""
    return tuple(dict.fromkeys(_NAMED_AFTER_TWO.findall(text)))


def is_capital(word: str) -> bool:
    """Return whether a word begins with a capital, or is a name that begins with a small letter or a digit: `easyVET`, `3M`, and
    not `kWh` or `11.8M`.
    """
    is_brand = len(word) > _LONGEST_UNIT and word.isalnum() and word[0].islower()
    is_upper = word[0].isupper() and not _ELIDED.match(word)
    is_numbered = word[0].isdigit() and not _AMOUNT.match(word)
    return is_upper or (any(map(str.isupper, word)) and (is_numbered or is_brand or _has_article(word)))


def _has_article(word: str) -> bool:
    """Return whether a word is a French or Italian name with its article: `l'Entêtée`, and not `l'Espagne`."""
    return bool(_ARTICLED.match(word)) and plain_key(word[2:]) not in _countries()


@cache
def _countries() -> frozenset[str]:
    return frozenset(plain_key(name) for one in COUNTRY_NAMES for names in one.values() for name in names)


def is_honoured(token: str) -> bool:
    """Return whether a form of address follows a name: `Kudo-san`."""
    return token.endswith(_HONOURED)


def is_quoted(tokens: Sequence[str], start: int, end: int) -> bool:
    """Return whether tokens stand alone in quotation marks: a name of several words (`"Fog Signal"`)."""
    return end - start > 1 and start > 0 and tokens[start - 1] in _QUOTES and tokens[end] in _QUOTES


def bare(token: str) -> str:
    """Return the token without a possessive sign or a suffix."""
    return _POSSESSIVE.sub("", token) or token


@lru_cache(maxsize=8192)
def bare_key(token: str) -> str:
    """Return the plain key of the bare token."""
    return plain_key(bare(token))


def capitals(name: str) -> int:
    """Return how many words of a name begin with a capital."""
    return sum(word[0].isupper() for word in name.split())


def _inns_joined(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens; a house that is named after two things is one: `at the Wig and Gown`, `The Wig and Gown has`, and not
    `the Dayton and Springfield clinics` or `the Alps and Jura`.
    """
    at = 0
    while at < len(tokens):
        one, joint, other, after = (*tokens[at : at + 4], *[""] * 4)[:4]
        is_pair = joint == "and" and one.istitle() and other.istitle() and not one.endswith("s")
        before, ahead = (tokens[place] if place >= 0 else "" for place in (at - 1, at - 2))
        is_there = (
            before == "the"
            and ahead.lower() in _BEFORE_INNS
            and (not after or not after[0].isalpha() or after in _PARTS)
        )
        is_house = is_there or (before == "The" and after in _OF_INNS)
        yield f"{one} and {other}" if is_pair and is_house else one
        at += 3 if is_pair and is_house else 1


def _joined(tokens: list[str], words: list[str]) -> Iterator[str]:
    """Yield the tokens; these words in a row are one token."""
    at = 0
    while at < len(tokens):
        is_name = tokens[at : at + len(words)] == words
        yield " ".join(words) if is_name else tokens[at]
        at += len(words) if is_name else 1


def _streets_ended(tokens: list[str]) -> Iterator[str]:
    """Yield the tokens; the stop after a street is one of its own: `on Main St. The shop`, and not `at St. Anne's` or `im
    Knabenchor St. Nikolai`.
    """
    before = ""
    for token in tokens:
        if token == _STREET and before[:1].isupper() and not is_german_compound(plain_key(before)):
            yield from ("St", ".")
        else:
            yield token
        before = token
