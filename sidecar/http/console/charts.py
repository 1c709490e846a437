"""Curves as SVG points, in a box of a hundred by a hundred units. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from store.compile.overview import Grown

_MOST_POINTS = 200


@dataclass(frozen=True, slots=True)
class Chart:
    """Two curves over the same days, as SVG points, and the labels of their ends."""

    share_points: str
    pages_points: str
    first: date
    last: date
    most_pages: int


def share_chart(grown: Sequence[Grown]) -> Chart | None:
    """Return a wiki's share of linked pages and its number of pages over time; None with fewer than two days."""
    if len(grown) < 2:
        return None
    step = max(1, len(grown) // _MOST_POINTS)
    points = [*grown[:-1:step], grown[-1]]
    first, last, most = points[0].day, points[-1].day, max(1, *(one.pages for one in points))
    days = (last - first).days
    places = [100 * (one.day - first).days / days for one in points]
    return Chart(
        _points(places, [one.share for one in points]),
        _points(places, [one.pages / most for one in points]),
        first,
        last,
        most,
    )


def _points(places: Sequence[float], heights: Sequence[float]) -> str:
    """Return points from heights of 0 to 1, a little inside the frame."""
    return " ".join(f"{x:.2f},{98 - 96 * y:.2f}" for x, y in zip(places, heights, strict=True))
