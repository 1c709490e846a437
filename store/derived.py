"""What a row holds beside its text: the hash, the packed signature, the words it is searched by.

Computed in bulk from `store/texts.py`, off the event loop, since a large write takes long enough to hold up a turn.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from store.texts import search_words, signatures, text_hash

MAX_WORDS_BYTES = 200_000
_MAX_SEARCHED_CHARS = 2 * MAX_WORDS_BYTES  # of more, few would find a place


@dataclass(frozen=True, slots=True)
class Derived:
    """What is written beside one text. `words` go through the database's `search_vector`; `word_count` is 1 or more."""

    text_hash: bytes
    signature: bytes
    words: str
    word_count: int


async def derive(texts: Sequence[str], searched: Sequence[str]) -> list[Derived]:
    """Return what to write beside each text; `searched` is what it is found by, in the same order."""
    return await asyncio.to_thread(_derive, texts, searched)


def _derive(texts: Sequence[str], searched: Sequence[str]) -> list[Derived]:
    words = [_bounded(search_words(one[:_MAX_SEARCHED_CHARS], most_chars=MAX_WORDS_BYTES)) for one in searched]
    packed = [signature.pack() for signature in signatures(texts)]
    return [
        Derived(text_hash(text), signature, found, max(1, len(found.split())))
        for text, signature, found in zip(texts, packed, words, strict=True)
    ]


def _bounded(words: str) -> str:
    """Return as many of the first words as Postgres surely holds: a tsvector ends at 1 MiB, each word's places included."""
    if len(words) * 4 <= MAX_WORDS_BYTES:
        return words
    encoded = words.encode()
    return words if len(encoded) <= MAX_WORDS_BYTES else encoded[:MAX_WORDS_BYTES].rpartition(b" ")[0].decode()
