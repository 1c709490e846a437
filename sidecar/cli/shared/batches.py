"""Cuts what is to be sent into calls of a bearable size. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

V = TypeVar("V")

BATCH_COUNT = 500
BATCH_CHARS = 4_000_000  # at four bytes a character still well inside the message limit


def batches(
    values: Iterable[V], chars: Callable[[V], int], *, most: int = BATCH_COUNT, most_chars: int = BATCH_CHARS
) -> Iterator[list[V]]:
    """Yield the values in order, at most so many and so many characters at once; a longer one goes alone."""
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
