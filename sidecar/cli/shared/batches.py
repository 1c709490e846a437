"""Splits values into batches, each small enough for one call. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

V = TypeVar("V")

BATCH_COUNT = 500
BATCH_CHARS = 4_000_000  # even at four bytes per character well below the message limit


def batches(
    values: Iterable[V], chars: Callable[[V], int], *, most: int = BATCH_COUNT, most_chars: int = BATCH_CHARS
) -> Iterator[list[V]]:
    """Yield batches in order, each with at most `most` values and `most_chars` characters; a longer value is alone."""
    batch: list[V] = []
    held_chars = 0
    for value in values:
        size = chars(value)
        if batch and (len(batch) >= most or held_chars + size > most_chars):
            yield batch
            batch, held_chars = [], 0
        batch.append(value)
        held_chars += size
    if batch:
        yield batch
