"""The query and the result of recall, for every kind of text: the shapes shared by the search functions of the schema.

Values are raw counts and cosines from the database; the caller weighs them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import compress, repeat
from typing import Any, Generic, NamedTuple, TypeVar

from store.content.validity import OPEN, Validity, ValidPrecision
from store.text.texts import Signature

Text = TypeVar("Text")

MAX_WORDS = 62  # one bit each in a signed 64-bit integer
MAX_PARTS = 4
MAX_OF_TIMES = 60
"""The most texts that are found by their time, of each kind."""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """A query: words, and one vector per part of the question, made by the embedder of that number.

    `limit` bounds the results of each search method. Without vectors, only words are searched. `weights`, one per word, are below
    1 for words that are not the message's own; empty means that all words are its own. `probe` is a vector that memories are
    compared with but not searched by; empty for none. The texts of `times`, half-open ranges, are found too, first of all.
    """

    words: tuple[str, ...]
    limit: int
    embedder_no: int = 0
    vectors: tuple[str, ...] = ()
    weights: tuple[float, ...] = ()
    probe: str = ""
    times: tuple[tuple[datetime, datetime], ...] = ()

    def parameters(self) -> dict[str, object]:
        """Return the parameters that every search function takes. The probe, if any, follows the places of all parts."""
        vectors: list[str | None] = [*self.vectors[:MAX_PARTS]]
        if vectors and self.probe:
            vectors += [*repeat(None, MAX_PARTS - len(vectors)), self.probe]
        return {
            "words": list(self.words[:MAX_WORDS]),
            "embedder_no": self.embedder_no,
            "vectors": vectors,
            "limit": self.limit,
            "weights": list(self.weights[:MAX_WORDS]) or None,
        }

    def bounds(self) -> dict[str, object]:
        """Return the parameters of the queries for the texts of `times`."""
        return {
            "starts": [start for start, _ in self.times],
            "ends": [end for _, end in self.times],
            "limit": MAX_OF_TIMES,
        }


@dataclass(frozen=True, slots=True)
class EarlierTurn:
    """An earlier turn for reading a message in context: its position, role (user or assistant) and the beginning of its text."""

    position: int
    role: str
    text: str


class RecalledMemory(NamedTuple):
    """The columns that recall reads of a memory, its marks and its near-duplicate signature. A tuple: many are created per turn.

    `sources` are the ids of the memories in a summary, `events` those of turns.
    """

    memory_id: str
    text: str
    occurred_at: datetime
    document_id: str
    turn_ids: tuple[str, ...]
    status: str
    confidence: float
    authority: str
    is_compressed: bool
    valid_from: datetime | None
    valid_until: datetime | None
    valid_precision: str
    until_precision: str
    has_sources: bool
    marks: int | None
    signature: Signature
    sources: tuple[str, ...] = ()
    events: tuple[str, ...] = ()

    @property
    def validity(self) -> Validity:
        """The period in which it is valid."""
        if self.valid_from is None and self.valid_until is None:
            return OPEN
        precisions = ValidPrecision(self.valid_precision), ValidPrecision(self.until_precision)
        return Validity(self.valid_from, self.valid_until, *precisions)


@dataclass(frozen=True, slots=True)
class Recalled(Generic[Text]):
    """The texts that match, and how many of `total` texts contain each word (counted up to 500).

    Bit i of a text's `matched` is set if it contains word i. Its `cosines` hold one value per query vector, or are empty if the
    text has no vector. `probed` holds each text's product with the query's probe, None without a vector; empty without a probe.
    """

    texts: tuple[Text, ...] = ()
    matched: tuple[int, ...] = ()
    cosines: tuple[Sequence[float], ...] = ()
    frequencies: tuple[int, ...] = ()
    total: int = 0
    probed: tuple[float | None, ...] = ()

    def only(self, is_kept: Sequence[bool]) -> Recalled[Text]:
        """Return the result with only some of its texts."""
        return replace(
            self,
            texts=tuple(compress(self.texts, is_kept)),
            matched=tuple(compress(self.matched, is_kept)),
            cosines=tuple(compress(self.cosines, is_kept)),
            probed=tuple(compress(self.probed, is_kept)),
        )

    def led_by(self, first: Iterable[Text], id_of: Callable[[Text], Hashable]) -> Recalled[Text]:
        """Return the result with these texts at its beginning; those that it lacks match no word and have no cosines."""
        places = {id_of(text): place for place, text in enumerate(self.texts)}
        leading = {id_of(text): text for text in first}
        order = [*(places.get(one) for one in leading), *(place for one, place in places.items() if one not in leading)]
        return replace(
            self,
            texts=(*leading.values(), *[self.texts[place] for place in order[len(leading) :] if place is not None]),
            matched=tuple([0 if place is None else self.matched[place] for place in order]),
            cosines=tuple([() if place is None else self.cosines[place] for place in order]),
            probed=tuple([None if place is None else self.probed[place] for place in order]) if self.probed else (),
        )

    def with_probed(self, wanted: RecallQuery) -> Recalled[Text]:
        """Return the result of a query with a probe, with the products with the probe apart from the cosines."""
        if not wanted.probe:
            return self
        parts = min(len(wanted.vectors), MAX_PARTS)
        products = tuple([one[MAX_PARTS] if one else None for one in self.cosines])
        return replace(self, cosines=tuple([one[:parts] for one in self.cosines]), probed=products)


def recalled(rows: Sequence[Any], read: Callable[..., Iterable[Text | None]]) -> Recalled[Text]:
    """Return the result in the rows of a search function, in their order.

    Each row begins with the match data: matched, cosines, frequencies and total. `read` takes the other columns and returns the
    texts; None is left out.
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


def columns_read(rows: Sequence[Any], read: Callable[..., Iterable[Text]]) -> Iterable[Text]:
    """Return the texts in rows without match data; `read` takes their columns."""
    return read(*zip(*rows, strict=True)) if rows else ()


def literal(vector: Sequence[float]) -> str:
    """Return a vector in the database's text format."""
    return "[" + ",".join([f"{number:.5g}" for number in vector]) + "]"


def numbers(vector: str) -> list[float]:
    """Return the numbers of a vector in the database's text format."""
    return [float(number) for number in vector[1:-1].split(",")]
