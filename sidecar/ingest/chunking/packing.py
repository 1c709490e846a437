"""Packs units of text into runs near a target size, breaking at headings and paragraphs first.

Pure; uses only sizes and seams. A run stays inside a section unless it would be below the minimum.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import accumulate, pairwise

from sidecar.ingest.errors import InvalidLimits

Run = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ChunkLimits:
    """The size limits of a chunk in tokens: near the target, at most the maximum, and below the minimum only if unavoidable."""

    target_tokens: int = 200
    max_tokens: int = 320
    min_tokens: int = 40

    def __post_init__(self) -> None:
        if not 1 <= self.min_tokens <= self.target_tokens <= self.max_tokens:
            sizes = f"{self.min_tokens}, {self.target_tokens}, {self.max_tokens}"
            raise InvalidLimits("ChunkLimits", f"minimum, target and maximum are {sizes} tokens")

    @property
    def snug_tokens(self) -> int:
        """The size up to which the rest of a section becomes one chunk."""
        return min(self.max_tokens, self.target_tokens + self.target_tokens // 4)


class Seam(IntEnum):
    """The kind of break before a unit, from the best place to cut to the worst."""

    SECTION = 0
    HEADING = 1
    BLOCK = 2
    LINE = 3
    SENTENCE = 4
    CUT = 5
    UNDER_HEADING = 6


# In shares of the target size: a paragraph's end costs 0.15 more than a heading, as much as missing the target by 15 %.
_COST = {
    Seam.SECTION: 0.0,
    Seam.HEADING: 0.05,
    Seam.BLOCK: 0.2,
    Seam.LINE: 0.3,
    Seam.SENTENCE: 0.35,
    Seam.CUT: 0.8,
    Seam.UNDER_HEADING: 3.0,
}


def pack(tokens: Sequence[int], seams: Sequence[Seam], limits: ChunkLimits) -> list[Run]:
    """Return runs (start, end) that cover the units exactly once, in order. The time is linear in the number of units.

    A run is above `max_tokens` only if it is a single unit that is.
    """
    before = [0, *accumulate(tokens)]
    runs = [run for section in _sections(seams) for run in _fill(before, seams, section, limits)]
    for ceiling in (limits.target_tokens, limits.max_tokens):
        runs = _without_small_runs(before, runs, limits.min_tokens, ceiling)
    return runs


def halve(tokens: Sequence[int], seams: Sequence[Seam]) -> int:
    """Return the index at which to split two or more units: near the middle, at a good seam."""
    before = [0, *accumulate(tokens)]
    whole = max(1, before[-1])
    return min(range(1, len(tokens)), key=lambda at: abs(2 * before[at] / whole - 1) + _COST[seams[at]])


def _sections(seams: Sequence[Seam]) -> Iterator[Run]:
    starts = [at for at, seam in enumerate(seams) if seam is Seam.SECTION and at]
    if seams:
        yield from pairwise([0, *starts, len(seams)])


def _fill(before: Sequence[int], seams: Sequence[Seam], section: Run, limits: ChunkLimits) -> Iterator[Run]:
    start, stop = section
    while start < stop:
        end = _best_end(before, seams, (start, stop), limits)
        yield start, end
        start = end


def _best_end(before: Sequence[int], seams: Sequence[Seam], rest: Run, limits: ChunkLimits) -> int:
    start, stop = rest
    if before[stop] - before[start] <= limits.snug_tokens:
        return stop
    best, best_cost = start + 1, float("inf")
    for end in range(start + 1, stop + 1):
        size = before[end] - before[start]
        if size > limits.max_tokens:
            break
        remaining = before[stop] - before[end]
        cost = abs(size - limits.target_tokens) / limits.target_tokens
        cost += _COST[seams[end]] if end < stop else 0.0
        cost += 1.0 if 0 < remaining < limits.min_tokens else 0.0
        if cost <= best_cost:
            best, best_cost = end, cost
    return best


def _without_small_runs(before: Sequence[int], runs: Sequence[Run], min_tokens: int, ceiling: int) -> list[Run]:
    merged: list[Run] = []
    for start, end in runs:
        if merged:
            first, middle = merged[-1]
            sizes = before[middle] - before[first], before[end] - before[start]
            if min(sizes) < min_tokens and sum(sizes) <= ceiling:
                merged[-1] = first, end
                continue
        merged.append((start, end))
    return merged
