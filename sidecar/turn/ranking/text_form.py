"""Computes the form of candidate texts: their lengths, whether they are questions, and their counts of times and names.

All but the length is stored beside a stored text (see `store.text.marks`); for other texts it is computed here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from store.text.marks import MARKS, Marks, marks_of

_CACHED_CHARS: Final = 8_000  # bounds the cache: a single text may be a megabyte
_LEAST_BYTES: Final = 8


def forms_of(texts: Sequence[str], stored: Sequence[int | None]) -> tuple[NDArray[np.float64], ...]:
    """Return the texts' lengths (log of UTF-8 bytes), whether they are questions, and their counts of times and names.

    `stored` are the texts' marks. Marks that are missing, or were made by another rule, are computed from the text.
    """
    sizes = [len(text.encode(errors="replace")) for text in texts]
    marks = [MARKS.get(mark) or _read(text) for text, mark in zip(texts, stored, strict=True)]
    return (np.log(np.maximum(sizes, _LEAST_BYTES)), *np.array(marks, np.float64).T)


def _read(text: str) -> Marks:
    return MARKS[_marks_of(text) if len(text) <= _CACHED_CHARS else marks_of(text)]


_marks_of = lru_cache(maxsize=20_000)(marks_of)
