"""Counts work instead of timing it: the lines of Python that a call runs, the same on every machine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

_MARGIN = 1.2


def grows_in_line(work: Callable[[int], object], size: int) -> bool:
    """Return whether twice the size takes no more than about twice the lines; a square would take four times as many."""
    return lines_run(lambda: work(2 * size)) <= 2 * _MARGIN * lines_run(lambda: work(size)) + size / 10


def lines_run(work: Callable[[], object]) -> int:
    """Return how many lines of Python the call runs, those of libraries included. What runs in C counts as its line."""
    count = 0

    def trace(_frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
