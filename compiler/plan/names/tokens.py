"""The tokens of a text in which names are looked for."""

from __future__ import annotations

import re
from functools import lru_cache

from compiler.plan.lexicon.joined_names import JOINED, NOT_OWNED, OWNED
from compiler.plan.text.markdown import plain_key

NO_TOKEN = ""
"""Stands for a token that was taken away."""

_PAIRS = "|".join(
    rf"{first} (?:and|und|y|e|et) {last}" for first, last in map(str.split, re.split(r"[|\n]", JOINED.strip()))
)
_KIND = "|".join(OWNED.split())
_NO_KIND = "|".join(NOT_OWNED.split())
_TOKEN = re.compile(
    rf"(?=[^\W\d_a-z])(?:(?:{_PAIRS})(?!\w)|[^\W\d_a-z][^\W\d_]+['’]s (?:{_KIND})\b(?! (?:{_NO_KIND})\b))|"
    r"(?:Dr|Dra|Prof|Mr|Mrs|Ms|Sr|Sra|Srta|Hr|Fr|Mme|Ing)\.(?=\s+[^\W\d_a-z])|"
    r"(?:[A-Z]\.){1,4}(?=\s*[A-Z][a-z])|[A-Z][A-Z\d]+(?::[A-Z\d]+)+(?!\w)|"
    r"[^\W_](?:[\w'’.-]*[^\W_])?(?:(?:\+\+?|#)(?![\w+#]))?|[^\w\s]|\n"
)
_POSSESSIVE = re.compile(
    r"['’](?i:s)?$|(?<=\w{4})-[a-z]\w*$"
    r"|(?<=\w)-(?:based|style|like|themed|related|inspired|powered|free|made|led|run|ish|san|kun|chan|era|born|friendly|driven"
    r"|specific|only|wide|side|level|type|backed|ready|first|native|compatible|basierte?[rns]?)$"
)


def tokens_of(text: str) -> list[str]:
    """Return the words, stops and line ends of a text. Names joined by a word are one token: `Turks and Caicos`,
    `McGee's bar`.
    """
    return _TOKEN.findall(text)


def bare(token: str) -> str:
    """Return the token without a possessive sign or a suffix."""
    return _POSSESSIVE.sub("", token) or token


@lru_cache(maxsize=8192)
def bare_key(token: str) -> str:
    """Return the plain key of the bare token."""
    return plain_key(bare(token))
