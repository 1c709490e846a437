"""What is derived from a text once, when it is written: its hash, its search words, its near-duplicate signature.

Pure and shared by everything that writes texts, so that a stored signature and one made on the fly are the same.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from dataclasses import dataclass

_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Signature:
    """What decides whether two texts say the same.

    `text_key` is equal for texts equal but for case, width, punctuation and spacing. `guard` digests the numbers, dates and
    negations in order: texts with different guards never fold. `bands` are locality-sensitive hashes of character shingles
    (Broder's min-wise hashing): texts that share none are not compared.
    """

    text_key: int
    guard: int
    bands: tuple[int, ...]


def text_hash(text: str) -> bytes:
    """Return the SHA-256 of the text in UTF-8: 32 bytes."""
    return hashlib.sha256(text.encode()).digest()


def fold(text: str) -> str:
    """Return the text as names are compared: NFKC, case-folded, diacritics removed, white space squeezed."""
    decomposed = unicodedata.normalize("NFKD", unicodedata.normalize("NFKC", text).casefold())
    kept = "".join(c for c in decomposed if not unicodedata.combining(c))
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", kept)).strip()
