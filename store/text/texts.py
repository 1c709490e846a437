"""Values derived from a text once, when it is written: its hash, its search words, its near-duplicate signature.

Pure, and used by every writer of texts, so that stored and freshly computed signatures are equal. Every function is linear
in its input, even for hostile input.
"""

from __future__ import annotations

import hashlib
import re
import struct
import unicodedata
from binascii import a2b_base64, b2a_base64
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from store.text.shingles import BANDS, ROWS, bands, casefolded, digest, guards, normal_forms, repeated
from store.text.words import STOP_WORDS

MAX_QUERY_WORDS = 64
MAX_WORD_CHARS = 64
MAX_QUERY_CHARS = 20_000
MAX_SIGNED_CHARS = 200_000
SHORT_HASH_BYTES = 18

_WHOLE_HASH_CHARS = 64
_READ_WORDS = 4_000
_CHUNK_CHARS = 1 << 16
_FORMAT = 1
_HEAD, _BANDS = struct.Struct(">BQQ"), struct.Struct(f">{BANDS}Q")
_PACKED_SIZES = frozenset({_HEAD.size, _HEAD.size + _BANDS.size})
_SPACES = re.compile(r"\s+")
_WORD = re.compile(r"\w+")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff々〆\u3041-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0002fa1f]+"
)


class InvalidSignature(ValueError):
    """The stored signature was made by another version; compute it again from the text."""


class Signature(NamedTuple):
    """Decides whether two texts are near-duplicates.

    `text_key` is equal for texts that differ only in case, width, punctuation and spacing. `guard` is a digest of the numbers,
    dates and negations in order: texts with different guards are never deduped. `bands` are locality-sensitive hashes of
    character shingles (Broder's min-wise hashing), 64 bits each, in the stored format: texts that share none are not compared.
    They stay bytes, because few are read one by one.
    """

    text_key: int
    guard: int
    bands: bytes

    def pack(self) -> bytes:
        """Return the stored form of the signature: a version byte, then 64-bit words, big-endian."""
        return _HEAD.pack(_FORMAT, self.text_key, self.guard) + self.bands

    @classmethod
    def unpack(cls, packed: bytes) -> Signature:
        """Return the signature that `pack` stored. Raises InvalidSignature."""
        if len(packed) not in _PACKED_SIZES:
            raise InvalidSignature
        version, text_key, guard = _HEAD.unpack_from(packed)
        if version != _FORMAT:
            raise InvalidSignature
        return cls(text_key, guard, packed[_HEAD.size :])

    def split_bands(self) -> tuple[int, ...]:
        """Return the bands as integers: eight, or none for a text without words."""
        return _BANDS.unpack(self.bands) if self.bands else ()


def text_hash(text: str) -> bytes:
    """Return the SHA-256 of the text in UTF-8: 32 bytes."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def short_hash(text: str) -> bytes:
    """Return the first 18 bytes of the text's hash, by which receipts name texts. Long enough to rule out collisions."""
    return text_hash(text)[:SHORT_HASH_BYTES]


def text_name(short: bytes) -> str:
    """Return a short hash as receipts write it: 24 characters of Base64."""
    return b2a_base64(short, newline=False).decode()


def hash_named(name: str) -> bytes:
    """Return the hash in a receipt's name of a text; receipts of earlier releases have the whole hash, in hexadecimal."""
    return bytes.fromhex(name) if len(name) == _WHOLE_HASH_CHARS else a2b_base64(name)


def fold(text: str) -> str:
    """Return the text in the form used to compare names: NFKC, case-folded, without diacritics, white space collapsed."""
    if text.isascii():
        return " ".join(text.lower().split())
    decomposed = unicodedata.normalize("NFKD", casefolded(text))
    kept = "".join(c for c in decomposed if not unicodedata.combining(c))
    return _SPACES.sub(" ", unicodedata.normalize("NFKC", kept)).strip()


def search_words(text: str, *, most_chars: int | None = None) -> str:
    """Return the text as indexed by full-text search: words and numbers, case-folded, separated by one space.

    Punctuation separates words. An accented word is followed by its folded copy, a run in a script without spaces by its
    overlapping pairs, so that a question in Japanese can match. Words are cut at 64 characters. With `most_chars`, only the
    first words of about that many characters are returned.
    """
    return " ".join(_words(text) if most_chars is None else _first(_words(text), most_chars))


def is_unspaced(word: str) -> bool:
    """Return whether a word is written in a script without spaces, as of Japanese, Chinese, Korean or Thai."""
    return _UNSPACED.fullmatch(word) is not None


def query_words(text: str) -> list[str]:
    """Return the distinct words of a question, by the rules of `search_words`, in order of appearance, at most 64.

    Stop words and single letters are left out, unless the question has no other words. Of a long question only the first
    20,000 characters are read, and of these the first 4,000 words.
    """
    words = list(dict.fromkeys(islice(_words(text[:MAX_QUERY_CHARS]), _READ_WORDS)))
    telling = [w for w in words if w not in STOP_WORDS and not (len(w) == 1 and "a" <= w <= "z")]
    return (telling or words)[:MAX_QUERY_WORDS]


def telling_weight(text: str) -> float:
    """Return the weight of a text's lasting content: content words + names + 2 x numbers. A question has half the weight."""
    words = _WORD.findall(text)
    names = sum(word[:1].isupper() and word[1:2].islower() for word in words[1:])
    numbers = sum(word[:1].isdigit() for word in words)
    weight = float(len(query_words(text)) + names + 2 * numbers)
    return weight / 2 if text.rstrip().endswith(("?", "？")) else weight


def signatures(texts: Sequence[str]) -> list[Signature]:
    """Return each text's signature. Two texts with equal guards and a `similarity` of 0.8 share a band with p = .985.

    p = 1 - (1 - s^4)^8, four hashes a band and eight bands (Leskovec et al., Mining of Massive Datasets, 3.4.2). Of a
    text over 200,000 characters only the first ones are read, and only an identical text has the same guard and key.
    """
    signed = [signature for chunk in _chunks([text[:MAX_SIGNED_CHARS] for text in texts]) for signature in _sign(chunk)]
    return [
        one if len(text) <= MAX_SIGNED_CHARS else Signature(digest(text), digest(text), one.bands)
        for one, text in zip(signed, texts, strict=True)
    ]


def shared_bands(signed: Iterable[Signature]) -> set[int]:
    """Return the bands that more than one signature has; only signatures with one of these need comparing."""
    return repeated([signature.bands for signature in signed])


def estimated_similarity(one: Signature, other: Signature) -> float:
    """Estimate the Jaccard similarity of two texts' shingles, 0 to 1, within .13.

    It is the share of min-wise hashes that two signatures with equal guards have in common.
    """
    equal = 0
    for a, b in zip(one.split_bands(), other.split_bands(), strict=False):
        differing = a ^ b
        equal += sum(not differing >> shift & 0xFFFF for shift in (0, 16, 32, 48))
    return equal / (BANDS * ROWS)


def _chunks(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield the texts in batches whose arrays fit the processor's cache."""
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
    if text.isascii():
        yield from [word[:MAX_WORD_CHARS] for word in text.lower().translate(_WORDS_ONLY).split()]
        return
    for word in casefolded(text).translate(_WORDS_ONLY).split():
        if word.isascii():
            yield word[:MAX_WORD_CHARS]
        else:
            yield from _spellings(word)


def _spellings(word: str) -> Iterator[str]:
    """Yield the runs of a word by script: runs in scripts without spaces with their overlapping pairs, others with their
    folded copy."""
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
    """A table for `str.translate`, filled on demand: a word character maps to itself, any other to a space."""

    def __missing__(self, code: int) -> int:
        self[code] = code if unicodedata.category(chr(code))[0] in "LNM" else 0x20
        return self[code]


_WORDS_ONLY = _WordsOnly()
