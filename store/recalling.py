"""What recall asks of every kind of text, and what it is told: the shapes that the search functions of the schema share.

What a found word or a cosine is worth is weighed by who asked; here are counts and numbers as the database gave them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

Text = TypeVar("Text")

MAX_WORDS = 62  # a bit each, in a signed number of 64
MAX_PARTS = 4


@dataclass(frozen=True, slots=True)
class Wanted:
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


class Match(NamedTuple, Generic[Text]):
    """A text that may answer. Bit i of `matched` says that it holds word i; `cosines` are empty where it has no vector.

    Hundreds are made a turn, which is why it is a tuple.
    """

    text: Text
    matched: int
    cosines: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Recalled(Generic[Text]):
    """The texts that may answer, and how many of `total` texts hold each word (counted up to 500)."""

    matches: tuple[Match[Text], ...] = ()
    frequencies: tuple[int, ...] = ()
    total: int = 0


def recalled(rows: Sequence[Any], read: Callable[[Any], Text | None]) -> Recalled[Text]:
    """Return what the rows of a search function say of the texts read with them, in their order; None is left out."""
    matches = tuple(
        [
            Match(text, row["matched"], tuple(row["cosines"] or ()))
            for row, text in zip(rows, map(read, rows), strict=True)
            if text is not None
        ]
    )
    counted = next((row for row in rows if row["frequencies"] is not None), None)
    return Recalled(matches, tuple(counted["frequencies"]), counted["total"]) if counted else Recalled(matches)


def literal(vector: Sequence[float]) -> str:
    """Return a vector as the database reads it."""
    return "[" + ",".join(f"{number:.5g}" for number in vector) + "]"
