"""The rows of a receipt's candidates: what they leave out, and the one reader of them, whatever release wrote them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any, Final

from sidecar.turn.items import Source

_LEFT_OUT: Final[Mapping[str, Any]] = {
    "lead": "",
    "header": "",
    "position": 0,
    "group": "",
    "section": "",
    "is_pinned": False,
    "confidence": None,
    "authority": "",
    "features": [],
    "provenance": [],
    "stands_for": [],
    "at": None,
    "form": None,
    "tokens": 0,
    "mark": "",
    "into": "",
}
"""What a candidate's row says by leaving a field out. A rank left out is the row's place; earlier receipts leave nothing out."""


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
    told = whole(details)
    for row in told["sources"]:
        for item in row["items"]:
            yield Source(row["source"]), item
    summary = told["history"].get("summary")
    if summary and summary.get("item"):
        yield Source.THREAD, summary["item"]


def whole_row(row: Mapping[str, Any], place: int) -> dict[str, Any]:
    """Return the row with all its fields; `place` is its place among its source's rows."""
    return {**_LEFT_OUT, "rank": place, **row}
