"""What recall asks of every kind of text, and what it is told: the shapes that the search functions of the schema share.

What a found word or a cosine is worth is weighed by who asked; here are counts and numbers as the database gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any, Generic, TypeVar

Text = TypeVar("Text")

MAX_WORDS = 62  # a bit each, in a signed number of 64
MAX_PARTS = 4


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """What to look for: words, and one vector a part of the question, made by the embedder of that number.

    `limit` bounds what each way of searching may bring. No vectors means by words alone.
    """

    words: tuple[str, ...]
    limit: int
    embedder_no: int = 0
    vectors: tuple[str, ...] = ()

    def parameters(self) -> dict[str, object]:
        """Return the parameters that every search function takes."""
        return {
            "words": list(self.words[:MAX_WORDS]),
            "embedder_no": self.embedder_no,
            "vectors": list(self.vectors[:MAX_PARTS]),
            "limit": self.limit,
        }


@dataclass(frozen=True, slots=True)
class Recalled(Generic[Text]):
    """The texts that may answer, and how many of `total` texts hold each word (counted up to 500).

    Bit i of a text's `matched` says that it holds word i; its `cosines`, one a vector, are empty where it has none of its own.
    """

    texts: tuple[Text, ...] = ()
    matched: tuple[int, ...] = ()
    cosines: tuple[Sequence[float], ...] = ()
    frequencies: tuple[int, ...] = ()
    total: int = 0


def recalled(rows: Sequence[Any], read: Callable[..., Iterable[Text | None]]) -> Recalled[Text]:
    """Return what the rows of a search function tell, in their order.

    Each row begins with what the search tells of it: matched, cosines, frequencies and total. `read` takes the other columns
    and returns the texts; None is left out.
    """
    if not rows:
        return Recalled()
    matched, cosines, frequencies, totals, *columns = zip(*rows, strict=True)
    counted = zip(frequencies, totals, strict=True)
    held, total = next(((held, total) for held, total in counted if held is not None), ((), 0))
    texts: tuple[Any, ...] = tuple(read(*columns))
    if None in texts:
        has_text = [text is not None for text in texts]
        texts, matched, cosines = (tuple(compress(column, has_text)) for column in (texts, matched, cosines))
    return Recalled(texts, matched, tuple([one or () for one in cosines]), tuple(held), total)


def literal(vector: Sequence[float]) -> str:
    """Return a vector as the database reads it."""
    return "[" + ",".join([f"{number:.5g}" for number in vector]) + "]"
