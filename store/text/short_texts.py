"""A cache of values computed from short texts. A cache bounded by entries alone would hold gigabytes of long texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

MOST_CHARS = 10_000

_Result = TypeVar("_Result")


def cached_if_short(most: int) -> Callable[[Callable[[str], _Result]], Callable[[str], _Result]]:
    """Cache a function's last `most` results for texts of at most 10,000 characters; results for longer texts are not cached."""

    def decorate(function: Callable[[str], _Result]) -> Callable[[str], _Result]:
        cached = lru_cache(maxsize=most)(function)

        @wraps(function)
        def call(text: str) -> _Result:
            return cached(text) if len(text) <= MOST_CHARS else function(text)

        return call

    return decorate
