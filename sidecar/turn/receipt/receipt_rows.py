"""The rows of a receipt's candidates: their defaults, their named features, and the only reader for rows of all releases."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import compress, count
from typing import Any, Final

from sidecar.turn.candidates import Features
from sidecar.turn.items import Source
from sidecar.turn.ranking.holding import FEATURE as HOLDS
from sidecar.turn.ranking.likeness import FEATURE as LIKENESS
from sidecar.turn.ranking.rank import NAMES

_LEFT_OUT: Final[Mapping[str, Any]] = {
    "lead": "",
    "header": "",
    "position": 0,
    "group": "",
    "section": "",
    "is_pinned": False,
    "confidence": None,
    "authority": "",
    "unsigned_chars": 0,
    "features": [],
    "provenance": [],
    "stands_for": [],
    "at": None,
    "form": None,
    "tokens": 0,
    "mark": "",
    "into": "",
}
"""The values of fields that a candidate's row leaves out. A missing rank is the row's index; earlier receipts have all fields."""


def whole(details: Mapping[str, Any]) -> dict[str, Any]:
    """Return a receipt whose candidates' rows have all their fields."""
    sources = [{**source, "items": list(map(whole_row, source["items"], count()))} for source in details["sources"]]
    history = details["history"]
    summary = history.get("summary")
    if summary and summary.get("item"):  # absent in receipts of earlier releases
        history = {**history, "summary": {**summary, "item": whole_row(summary["item"], 0)}}
    return {**details, "sources": sources, "history": history}


def decided_items(details: Mapping[str, Any]) -> Iterator[tuple[Source, Mapping[str, Any]]]:
    """Yield the whole row of every decided item, with its source; the thread's summary comes last."""
    receipt = whole(details)
    for row in receipt["sources"]:
        for item in row["items"]:
            yield Source(row["source"]), item
    summary = receipt["history"].get("summary")
    if summary and summary.get("item"):
        yield Source.THREAD, summary["item"]


def whole_row(row: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the row with all its fields; `place` is its index among its source's rows."""
    return {**_LEFT_OUT, "rank": place, **row}


def written_features(features: Features, *, is_whole: bool) -> list[list[Any]]:
    """Return the features of an item by name: all features if `is_whole` (in the context), otherwise the two that a replay needs.

    Most of the 400 to 500 candidates are outside the context, and their other features would be a quarter of the receipt.
    """
    values, holds, like = features
    judged = [[HOLDS, holds]] if like is None else [[HOLDS, holds], [LIKENESS, like]]
    if not is_whole:
        return judged
    named = zip(compress(NAMES, values), filter(None, values), strict=True)
    return [*([name, value if math.isfinite(value) else None] for name, value in named), *judged]


def read_features(written: Sequence[Sequence[Any]]) -> Features | None:
    """Return the features that were written; None if there were none, as for an item that was not judged."""
    if not written:
        return None
    named = {name: math.nan if value is None else value for name, value in written}
    return Features([named.get(name, 0.0) for name in NAMES], named.get(HOLDS, 1.0), named.get(LIKENESS))
