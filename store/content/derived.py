"""Values stored beside a text: its hash, its packed signature, the words it is searched by, and its marks.

Computed in bulk with `store/text`, off the event loop, because a large write takes long enough to delay a turn. Texts that an
earlier release wrote without marks get them here too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from store.content.embeddings import TextKind, TextPartition
from store.db import queries
from store.db.pacing import in_slices
from store.db.postgres import DatabaseRole, Pool, installation
from store.text.marks import marks_of
from store.text.texts import search_words, signatures, text_hash

_sql = queries.load(__file__)

MAX_WORDS_BYTES = 200_000
_MAX_REMEMBERED_CHARS = 2_000
_MOST_REMEMBERED = 4_096
_MAX_SEARCHED_CHARS = 2 * MAX_WORDS_BYTES  # words beyond this rarely fit the bound
_MARKED_AT_ONCE = 200
_UNMARKED = {
    TextKind.TURNS: (_sql.turns_without_marks, _sql.put_turn_marks),
    TextKind.MEMORIES: (_sql.memories_without_marks, _sql.put_memory_marks),
    TextKind.CHUNKS: (_sql.chunks_without_marks, _sql.put_chunk_marks),
}


@dataclass(frozen=True, slots=True)
class Derived:
    """The values stored beside one text. `words` is the input of the database's `search_vector`; `word_count` is at least 1.

    `marks` are as `store.text.marks` writes them; None for texts of pages, which are ranked with their titles.
    """

    text_hash: bytes
    signature: bytes
    words: str
    word_count: int
    marks: int | None = None


async def derive(texts: Sequence[str], searched: Sequence[str]) -> list[Derived]:
    """Return the values to store beside each text; `searched` holds the search texts in the same order. Seconds for 30 MB."""
    pairs = list(zip(texts, searched, strict=True))
    return await in_slices(derive_now, pairs, lambda pair: len(pair[0]) + len(pair[1]))


def derive_now(pairs: Sequence[tuple[str, str]]) -> list[Derived]:
    """Return the same as `derive` for pairs of text and search text, in the calling thread."""
    texts = [text for text, _ in pairs]
    packed, words = [signature.pack() for signature in signatures(texts)], [_words(found) for _, found in pairs]
    derived = _together(texts, packed, words)
    return [replace(one, marks=marks_of(text)) for one, text in zip(derived, texts, strict=True)]


async def derive_pieces(texts: Sequence[str], searched: Sequence[tuple[str, ...]]) -> list[Derived]:
    """Return the same as `derive` for texts with several search texts each, such as names and passages, which often repeat."""
    return await asyncio.to_thread(_derive_pieces, texts, searched)


def _derive_pieces(texts: Sequence[str], searched: Sequence[tuple[str, ...]]) -> list[Derived]:
    words = [_bounded(" ".join(filter(None, map(_piece, pieces)))) for pieces in searched]
    distinct = dict.fromkeys(texts)
    known = {text: packed for text in distinct if (packed := _signed.get(text)) is not None}
    fresh = [text for text in distinct if text not in known]
    known.update(zip(fresh, (signature.pack() for signature in signatures(fresh)), strict=True))
    if len(_signed) + len(fresh) > _MOST_REMEMBERED:
        _signed.clear()
    _signed.update((text, known[text]) for text in fresh if len(text) <= _MAX_REMEMBERED_CHARS)
    return _together(texts, [known[text] for text in texts], words)


def _together(texts: Sequence[str], packed: Sequence[bytes], words: Sequence[str]) -> list[Derived]:
    return [
        Derived(text_hash(text), signature, found, max(1, found.count(" ") + 1))
        for text, signature, found in zip(texts, packed, words, strict=True)
    ]


def _words(text: str) -> str:
    return _bounded(search_words(text[:_MAX_SEARCHED_CHARS], most_chars=MAX_WORDS_BYTES))


def _piece(text: str) -> str:
    return _short_piece(text) if len(text) <= _MAX_REMEMBERED_CHARS else _words(text)


async def mark_some(pool: Pool) -> int:
    """Write missing marks of some texts, from one partition of each kind, and return how many. Several workers may run it. The
    texts are locked meanwhile, so that a concurrent edit cannot keep the marks of the old text.
    """
    async with installation(pool, role=DatabaseRole.WORKER, read_only=True) as connection:
        rows = await _sql.places_without_marks(connection)
    partitions = [TextPartition(TextKind(row["kind"]), row["tenant_id"], row["owner_id"], row["ref"]) for row in rows]
    return sum([await _mark_partition(pool, partition) for partition in partitions])


async def _mark_partition(pool: Pool, partition: TextPartition) -> int:
    read, write = _UNMARKED[partition.kind]
    async with partition.opened(pool) as connection:
        rows = await read(connection, **partition.parameters, limit=_MARKED_AT_ONCE)
        marks = [marks_of(row["text"]) for row in rows]
        await write(connection, **partition.parameters, items=[row["item"] for row in rows], marks=marks)
    return len(rows)


_short_piece = lru_cache(maxsize=_MOST_REMEMBERED)(_words)
_signed: dict[str, bytes] = {}


def _bounded(words: str) -> str:
    """Return as many of the first words as Postgres can hold: a tsvector is limited to 1 MiB, including word positions."""
    if len(words) * 4 <= MAX_WORDS_BYTES:
        return words
    encoded = words.encode()
    return words if len(encoded) <= MAX_WORDS_BYTES else encoded[:MAX_WORDS_BYTES].rpartition(b" ")[0].decode()
