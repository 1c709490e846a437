"""What is derived from a text once, when it is written: its hash, its search words, its near-duplicate signature.

Pure and shared by everything that writes texts, so that a stored signature and one made on the fly are the same. Every
function is linear in its input, hostile input included.
"""

from __future__ import annotations

import hashlib
import re
import struct
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from store.text.shingles import BANDS, ROWS, SHINGLE_CHARS, bands, casefolded, digest, guards, normal_forms, repeated
from store.text.words import STOP_WORDS

MAX_QUERY_WORDS = 64
MAX_WORD_CHARS = 64
MAX_QUERY_CHARS = 20_000
MAX_SIGNED_CHARS = 200_000

_READ_WORDS = 4_000
_CHUNK_CHARS = 1 << 16
_FORMAT = 1
_VERSION = bytes([_FORMAT])
_HEAD, _BANDS = struct.Struct(">BQQ"), struct.Struct(f">{BANDS}Q")
_SPACES = re.compile(r"\s+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff々〆\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f]+"
)


class InvalidSignature(ValueError):
    """The stored signature was not made by this version; make it again from its text."""


class Signature(NamedTuple):
    """What decides whether two texts say the same.

    `text_key` is equal for texts equal but for case, width, punctuation and spacing. `guard` digests the numbers, dates
    and negations in order: texts with different guards never fold. `bands` are locality-sensitive hashes of character
    shingles (Broder's min-wise hashing), 64 bits each, as they are stored: texts that share none are not compared. Hardly
    any are looked at one by one, so they stay bytes.
    """

    text_key: int
    guard: int
    bands: bytes

    def pack(self) -> bytes:
        """Return the signature as stored: a version byte, then 64-bit words, highest byte first."""
        return _HEAD.pack(_FORMAT, self.text_key, self.guard) + self.bands

    @classmethod
    def unpack(cls, packed: bytes) -> Signature:
        """Return the signature that `pack` stored. Raises InvalidSignature."""
        bands = packed[_HEAD.size :]
        if packed[:1] != _VERSION or len(packed) < _HEAD.size or len(bands) not in {0, _BANDS.size}:
            raise InvalidSignature
        _, text_key, guard = _HEAD.unpack_from(packed)
        return cls(text_key, guard, bands)

    def split_bands(self) -> tuple[int, ...]:
        """Return the bands as numbers: eight, or none for a text without words."""
        return _BANDS.unpack(self.bands) if self.bands else ()


def text_hash(text: str) -> bytes:
    """Return the SHA-256 of the text in UTF-8: 32 bytes."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def fold(text: str) -> str:
    """Return the text as names are compared: NFKC, case-folded, diacritics removed, white space squeezed."""
    if text.isascii():
        return " ".join(text.lower().split())
    decomposed = unicodedata.normalize("NFKD", casefolded(text))
    kept = "".join(c for c in decomposed if not unicodedata.combining(c))
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", kept)).strip()


def search_words(text: str, *, most_chars: int | None = None) -> str:
    """Return the text as full-text search reads it: words and numbers, casefolded, one space apart.

    Punctuation separates. An accented word is followed by its folded copy; a run in a script without spaces by its
    overlapping pairs, so that a question in Japanese can match. Words are cut at 64 characters. With `most_chars` only the
    first words are returned, of about so many characters.
    """
    return " ".join(_words(text) if most_chars is None else _first(_words(text), most_chars))


def query_words(text: str) -> list[str]:
    """Return the distinct words of a question, by the rule of `search_words`, in order of appearance, at most 64.

    Stop words and single letters are left out, unless nothing else is asked. Of a long question the first 20,000
    characters are read, and of these 4,000 words.
    """
    words = list(dict.fromkeys(islice(_words(text[:MAX_QUERY_CHARS]), _READ_WORDS)))
    telling = [w for w in words if w not in STOP_WORDS and not (len(w) == 1 and "a" <= w <= "z")]
    return (telling or words)[:MAX_QUERY_WORDS]


def signatures(texts: Sequence[str]) -> list[Signature]:
    """Return each text's signature. Two texts of one guard and of `similarity` 0.8 share a band with p = .985.

    p = 1 - (1 - s^4)^8, four hashes a band and eight bands (Leskovec et al., Mining of Massive Datasets, 3.4.2). A text of
    over 200,000 characters is read by its first ones, and shares its guard and its key only with the very same text.
    """
    signed = [signature for chunk in _chunks([text[:MAX_SIGNED_CHARS] for text in texts]) for signature in _sign(chunk)]
    return [
        one if len(text) <= MAX_SIGNED_CHARS else Signature(digest(text), digest(text), one.bands)
        for one, text in zip(signed, texts, strict=True)
    ]


def shared_bands(signed: Iterable[Signature]) -> set[int]:
    """Return the bands that more than one of the signatures has: only who has one of these needs comparing."""
    return repeated([signature.bands for signature in signed])


def similarity(one: str, other: str) -> float:
    """Return the Jaccard similarity of the texts' shingles, 0 to 1."""
    return overlap(shingles(one), shingles(other))


def shingles(text: str) -> frozenset[str]:
    """Return every run of 4 characters of the text without case, width and punctuation; never none."""
    padded = normal_forms([text])[0][0].ljust(SHINGLE_CHARS)
    return frozenset(padded[start : start + SHINGLE_CHARS] for start in range(len(padded) - SHINGLE_CHARS + 1))


def overlap(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the Jaccard similarity of two sets: what they share of what they hold, 0 to 1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def estimated_similarity(one: Signature, other: Signature) -> float:
    """Return the share of min-wise hashes that two signatures of one guard share: `similarity`, give or take .13."""
    equal = 0
    for a, b in zip(one.split_bands(), other.split_bands(), strict=False):
        differing = a ^ b
        equal += sum(not differing >> shift & 0xFFFF for shift in (0, 16, 32, 48))
    return equal / (BANDS * ROWS)


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in batches whose arrays stay in the processor's cache."""
    start = size = 0
    for index, text in enumerate(texts):
        if size and size + len(text) > _CHUNK_CHARS:
            yield texts[start:index]
            start, size = index, 0
        size += len(text)
    if start < len(texts):
        yield texts[start:]


def _sign(texts: Sequence[str]) -> list[Signature]:
    forms, codes = normal_forms(texts)
    keys = [digest(form or text) for form, text in zip(forms, texts, strict=True)]
    guarded = guards(texts, forms, codes)
    rows = bands(forms, codes, guarded)
    return [
        Signature(key, guard, row if form else b"")
        for key, guard, row, form in zip(keys, guarded, rows, forms, strict=True)
    ]


def _first(words: Iterator[str], most_chars: int) -> Iterator[str]:
    taken = 0
    for word in words:
        taken += len(word) + 1
        if taken > most_chars:
            return
        yield word


def _words(text: str) -> Iterator[str]:
    """Yield the search words of a text in order, each followed by its other forms."""
    for word in casefolded(text).translate(_WORDS_ONLY).split():
        if word.isascii():
            yield word[:MAX_WORD_CHARS]
        else:
            yield from _spellings(word)


def _spellings(word: str) -> Iterator[str]:
    """Yield the runs of a word by script: unspaced ones with their overlapping pairs, others with their folded copy."""
    start = 0
    for run in _UNSPACED.finditer(word):
        yield from _with_folded(word[start : run.start()])
        yield from _with_pairs(run.group())
        start = run.end()
    yield from _with_folded(word[start:])


def _with_folded(word: str) -> Iterator[str]:
    if word:
        cut = word[:MAX_WORD_CHARS]
        yield cut
        plain = _folded(cut)
        if plain and plain != cut:
            yield plain


def _with_pairs(run: str) -> Iterator[str]:
    yield run[:MAX_WORD_CHARS]
    if len(run) > 2:
        yield from (run[i : i + 2] for i in range(len(run) - 1))


_folded = lru_cache(maxsize=8192)(fold)


class _WordsOnly(dict[int, int]):
    """What `str.translate` asks: the character itself in a word, else a space. Learned as characters come."""

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else 0x20
        return self[code]


_WORDS_ONLY = _WordsOnly()
