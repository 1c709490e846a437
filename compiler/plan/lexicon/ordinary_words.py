"""Words that are mostly written in lower case, in any language: one that only opens sentences is no name.

`ordinary_words.txt` has those among the 140,000 most frequent tokens of the o200k tokenizer (MIT licence) whose capitalised form
is a less frequent token or none, folded, without those of `common_words`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from compiler.plan.lexicon.common_words import COMMON_WORDS

# Endings of verb forms that open notes (`Repotted the fern`, `Fuimos al mercado`); there are too many forms to list.
_VERB_ENDS = (
    "ed",
    "ing",
    "amos",
    "imos",
    "emos",
    "aron",
    "ieron",
    "aram",
    "eram",
    "iram",
    "ando",
    "iendo",
    "endo",
    "ierte",
    "iert",
)


def is_ordinary(key: str) -> bool:
    """Return whether a folded word is mostly written in lower case, or has a verb's ending."""
    return key in COMMON_WORDS or key in _listed() or key.endswith(_VERB_ENDS)


@cache
def _listed() -> frozenset[str]:
    return frozenset((files(__package__) / "ordinary_words.txt").read_text(encoding="ascii").split())
