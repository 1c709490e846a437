"""Runs long pure work off the event loop in short slices, with a pause after each.

A thread that computes holds the interpreter lock for milliseconds at a time, and a turn needs the lock dozens of times. One
slice takes about two milliseconds, and the pauses leave the lock free two thirds of the time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

SLICE_CHARS = 1 << 16
QUICK_CHARS = 1 << 13  # up to this size, light work is faster inline than in a thread
STATEMENT_CHARS = 1 << 20
_REST = 2  # seconds of pause for each second of work

T = TypeVar("T")
R = TypeVar("R")


async def in_slices(
    work: Callable[[Sequence[T]], Sequence[R]],
    items: Sequence[T],
    chars: Callable[[T], int],
    *,
    quick_chars: int = 0,
) -> list[R]:
    """Return the results of `work`, one per item, in order.

    `work` runs in a thread on about 65,536 characters at a time and must be pure. Cancelling stops it after the current slice.
    Fewer than `quick_chars` characters in total are processed inline, on the event loop.
    """
    if len(items) <= quick_chars and sum(map(chars, items)) < quick_chars:
        return list(work(items))
    done: list[R] = []
    took_s = 0.0
    clock = asyncio.get_running_loop().time
    for some in slices(items, chars, most_chars=SLICE_CHARS):
        if took_s:
            await asyncio.sleep(_REST * took_s)
        began_s = clock()
        done += await asyncio.to_thread(work, some)
        took_s = clock() - began_s
    return done


def slices(items: Sequence[T], chars: Callable[[T], int], *, most_chars: int) -> Iterator[Sequence[T]]:
    """Yield slices of the items in order, each at most `most_chars` characters; a longer item is a slice of its own."""
    start = held_chars = 0
    for place, size in enumerate(map(chars, items)):
        if place > start and held_chars + size > most_chars:
            yield items[start:place]
            start, held_chars = place, 0
        held_chars += size
    if start < len(items):
        yield items[start:]
