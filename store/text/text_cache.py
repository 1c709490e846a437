"""A cache of values computed from texts. A cache bounded by entries alone would hold gigabytes of long texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from threading import Lock
from typing import TypeVar

MOST_CHARS = 10_000
MOST_LONG_CHARS = 250_000  # more than a batch of a compile has, which asks for the same texts for each of its names

_Result = TypeVar("_Result")


def cached_by_text(most: int) -> Callable[[Callable[[str], _Result]], Callable[[str], _Result]]:
    """Cache a function's last `most` results for texts of at most 10,000 characters. Of results for longer texts, the last are
    cached, those of 250,000 characters together.
    """

    def decorate(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
        cached = lru_cache(maxsize=most)(function)
        lock, long = Lock(), dict[str, _Result]()

        @wraps(function)
        def call(text: str) -> _Result:
            if len(text) <= MOST_CHARS:
                return cached(text)
            with lock:
                if text in long:
                    return long[text]
            made = function(text)
            if len(text) <= MOST_LONG_CHARS:
                with lock:
                    while long and sum(map(len, long)) + len(text) > MOST_LONG_CHARS:
                        del long[next(iter(long))]
                    long[text] = made
            return made

        return call

    return decorate
