"""The array computations behind near-duplicate signatures: normal forms, guards and min-wise hashes of many texts at once.

Used only by `store.text.texts`. Each text's values are independent of the other texts in its batch.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from store.text.words import GUARD_RUNS, GUARD_WORDS

BANDS, ROWS, SHINGLE_CHARS = 8, 4, 4

_Codes = NDArray[np.uint32]
_Places = NDArray[np.int64]

_TABLE_SIZE = 1 << 16
_WORD = np.dtype(">u8")
_SPACE = np.uint32(0x20)
_FACTORS = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F], np.uint32)
_PERMUTATIONS = np.random.default_rng(4).integers(1 << 31, 1 << 32, BANDS * ROWS, np.uint32) | np.uint32(1)

_APOSTROPHES = re.compile("['’ʼ‘]")
_MARK_RUN = re.compile(r"([^\w\s\x00-\x7f]{32})[^\w\s\x00-\x7f]+")
# The leading character class lets the search skip a text without digits quickly.
_ASCII_NUMBER = re.compile(r"[-0-9$%][0-9.,:/-]*")
_NUMBER = re.compile(r"[-−\d$€£¥₹₩%‰°][\d.,:/-]*")


def digest(text: str) -> int:
    """Return a 64-bit hash of the text."""
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest())


def casefolded(text: str) -> str:
    """Return the text in NFKC, case-folded. In a long text, runs of combining marks are cut to 32."""
    if text.isascii():
        return text.lower()
    # Normalization sorts each run of marks by insertion: 200,000 of them would take a minute.
    calm = _MARK_RUN.sub(r"\1", text) if len(text) > 512 else text
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", calm).casefold())


def normal_forms(texts: Sequence[str]) -> tuple[list[str], _Codes]:
    """Return each text as words with one space after each ("" if it has none), and the code points of all of them."""
    plain = [_without_apostrophes(casefolded(text)) for text in texts]
    codes = _code_points(" ".join([*plain, ""]))
    gaps = _gap_table().take(codes, mode="clip")
    kept = ~gaps
    kept[1:] |= ~gaps[:-1]
    kept[0] &= not gaps[0]
    ends = np.cumsum(np.fromiter(map(len, plain), np.int64, len(plain)) + 1)
    places = np.flatnonzero(kept)
    cuts = [0, *np.searchsorted(places, ends).tolist()]
    codes = codes.take(places)
    codes[gaps.take(places)] = _SPACE
    blob = _text(codes)
    return [blob[start:end] for start, end in pairwise(cuts)], codes


def guards(texts: Sequence[str], forms: Sequence[str], codes: _Codes) -> list[int]:
    """Return the digest of each text's numbers, dates and negations; 0 if it has none."""
    found = [_numbers(text) for text in texts]
    for index, word in _guard_words(forms, codes):
        found[index].append(word)
    for index, text in enumerate(texts):
        if not text.isascii():
            found[index] += GUARD_RUNS.findall(forms[index])
    return [digest(" ".join(words)) if words else 0 for words in found]


def bands(forms: Sequence[str], codes: _Codes, guarded: Sequence[int]) -> list[bytes]:
    """Return each text's bands: four 16-bit minima each, mixed with the guard so that different guards share no band.

    A band is eight bytes, big-endian.
    """
    sizes = np.fromiter(map(len, forms), np.int64, len(forms))
    rows = np.zeros((len(sizes), BANDS), _WORD)
    wordy = np.flatnonzero(sizes)
    if len(wordy):
        starts = np.cumsum(sizes)[wordy] - sizes[wordy]
        minima = _minima(_shingle_hashes(codes, starts, sizes[wordy]), starts)
        lanes = (minima & np.uint32(0xFFFF)).astype(np.uint64).reshape(BANDS, ROWS, -1)
        packed = lanes[:, 0] | lanes[:, 1] << 16 | lanes[:, 2] << 32 | lanes[:, 3] << 48
        rows[wordy] = packed.T ^ np.array(guarded, np.uint64)[wordy, None]
    return [row.tobytes() for row in rows]


def repeated(rows: Iterable[bytes]) -> set[int]:
    """Return the 64-bit numbers that occur more than once in the rows, which are in the format of `bands`."""
    ordered = np.frombuffer(b"".join(rows), _WORD).astype(np.uint64)
    ordered.sort()
    again: list[int] = ordered[1:][ordered[1:] == ordered[:-1]].tolist()
    return set(again)


def _numbers(text: str) -> list[str]:
    found = (_ASCII_NUMBER if text.isascii() else _NUMBER).findall(text)
    return [number for piece in found if (number := piece.rstrip(".,:/-−"))]


def _guard_words(forms: Sequence[str], codes: _Codes) -> list[tuple[int, str]]:
    """Return the guard words of all forms in order, each with the index of its text."""
    starts, hashes = _word_hashes(codes)
    hits = starts[_guard_table()[hashes]]
    ends = np.cumsum(np.fromiter(map(len, forms), np.int64, len(forms)))
    owners = np.searchsorted(ends, hits, side="right").tolist()
    blob = "".join(forms)
    words = [blob[start : blob.index(" ", start)] for start in hits.tolist()]
    return [(owner, word) for owner, word in zip(owners, words, strict=True) if word in GUARD_WORDS]


@cache
def _guard_table() -> NDArray[np.bool_]:
    """Return a table of the hashes of guard words. Other words may share a hash, so hits must be looked up again."""
    table = np.zeros(1 << 16, np.bool_)
    table[_word_hashes(_code_points(" ".join([*sorted(GUARD_WORDS), ""])))[1]] = True
    return table


def _word_hashes(codes: _Codes) -> tuple[_Places, _Codes]:
    """Return the start of each word, and a 16-bit hash that ignores the order of its letters.

    The space after a word is hashed with it.
    """
    ends = np.flatnonzero(codes == _SPACE)
    starts = np.concatenate((np.zeros(1, np.int64), ends + 1))[: len(ends)]
    mixed = codes * _FACTORS[0]
    mixed ^= mixed >> np.uint32(15)
    sums = np.add.reduceat(mixed, starts, dtype=np.uint32) if len(starts) else np.zeros(0, np.uint32)
    return starts, sums * _FACTORS[1] >> np.uint32(16)


def _shingle_hashes(codes: _Codes, starts: _Places, sizes: _Places) -> _Codes:
    """Return one 32-bit hash per shingle; a shingle that would extend into the next text gets its text's first hash."""
    padded = np.concatenate((codes, np.full(SHINGLE_CHARS, _SPACE)))
    hashes = np.zeros(len(codes), np.uint32)
    for offset, factor in enumerate(_FACTORS):
        hashes += padded[offset : len(codes) + offset] * factor
    hashes[starts] = _first_hashes(padded, starts, sizes)
    for back in range(1, SHINGLE_CHARS):
        hashes[np.maximum(starts + sizes - back, starts)] = hashes[starts]
    hashes ^= hashes >> np.uint32(16)
    hashes *= np.uint32(0x85EBCA6B)
    hashes ^= hashes >> np.uint32(13)
    return hashes


def _first_hashes(padded: _Codes, starts: _Places, sizes: _Places) -> _Codes:
    """Return each text's first shingle hash, with short texts padded with spaces."""
    offsets = np.arange(SHINGLE_CHARS)
    windows = np.where(offsets < sizes[:, None], padded[starts[:, None] + offsets], _SPACE)
    first: _Codes = (windows * _FACTORS).sum(axis=1, dtype=np.uint32)
    return first


def _minima(hashes: _Codes, starts: _Places) -> _Codes:
    """Return the minimum of each permutation over each text's shingles: one row per permutation."""
    minima = np.empty((BANDS * ROWS, len(starts)), np.uint32)
    permuted = np.empty_like(hashes)
    for row, factor in zip(minima, _PERMUTATIONS, strict=True):
        np.multiply(hashes, factor, out=permuted)
        np.minimum.reduceat(permuted, starts, out=row)
    return minima


def _code_points(text: str) -> _Codes:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _text(codes: _Codes) -> str:
    return codes.tobytes().decode("utf-32-le", "surrogatepass")


def _without_apostrophes(text: str) -> str:
    return text.replace("'", "") if text.isascii() else _APOSTROPHES.sub("", text)


@cache
def _gap_table() -> NDArray[np.bool_]:
    """Return which code points below 65536 separate words; there are none above."""
    return np.frombuffer(bytes(map(_is_gap, map(chr, range(_TABLE_SIZE)))), np.bool_)


def _is_gap(char: str) -> bool:
    """Return whether the character is a space, a control or punctuation. Symbols are not gaps: $5 differs from €5."""
    category = unicodedata.category(char)
    return category[0] in "ZP" or category in {"Cc", "Cf", "Sk"}
