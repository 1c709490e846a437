"""Lines of printed pages, and the detection of running titles and page numbers.

Pure. A line is removed only if it stands at the edge of several pages with the same words in the same size, and its number, if
it has one, counts up with the page. Rows of a table do neither.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

_FEWEST_PAGES = 3
_SMALLEST_SHARE = 0.3
_NUMBER = re.compile(r"[0-9]{1,6}")

_Key = tuple[float, str, str, int]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page. `size` and `baseline` are in points; the baseline is measured from the page's foot."""

    text: str
    page: int
    size: float
    baseline: float


def without_running_lines(lines: Sequence[Line]) -> list[Line]:
    """Return the lines in order, without running titles and page numbers at the top and the foot of pages."""
    pages = [list(page) for _, page in groupby(lines, key=lambda line: line.page)]
    edges = [_edges(page) for page in pages]
    counts = Counter(key for page in edges for line in page for key in _keys(line))
    return [
        line
        for page, page_edges in zip(pages, edges, strict=True)
        for line in page
        if line not in page_edges or not _is_running(line, counts, len(pages))
    ]


def _edges(page: Sequence[Line]) -> set[Line]:
    """Return the topmost and the lowest line, independent of their order."""
    by_height = sorted(page, key=lambda line: line.baseline)
    return {by_height[0], by_height[-1]}


def _keys(line: Line) -> Iterator[_Key]:
    """Yield the keys that the line shares with its counterparts on other pages: its words, and its number less the page's."""
    numbers = list(_NUMBER.finditer(line.text))
    for number in {match.start(): match for match in (numbers[:1] + numbers[-1:])}.values():
        before, after = line.text[: number.start()], line.text[number.end() :]
        yield line.size, before, after, int(number[0]) - line.page
    if not numbers:
        yield line.size, line.text, "", 0


def _is_running(line: Line, counts: Counter[_Key], page_count: int) -> bool:
    needed = _FEWEST_PAGES if _NUMBER.search(line.text) else max(_FEWEST_PAGES, _SMALLEST_SHARE * page_count)
    return any(counts[key] >= needed for key in _keys(line))
