"""The relevance of all that the sources brought, judged together once every one of them has answered.

How relevance follows from evidence stands in `rank`; here it is put on the items, with the features that it follows from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sidecar.turn.items import Item, SourceReport
from sidecar.turn.rank import Ranked, rank
from sidecar.turn.reading import Reading


def judge(reports: Sequence[SourceReport], reading: Reading) -> tuple[SourceReport, ...]:
    """Return the reports with every item's relevance, features and rank in its own source, most relevant first.

    An item that came without evidence for this reading keeps the relevance that its source told.
    """
    judged = [item for report in reports for item in report.items if _has_evidence(item, reading)]
    ranked = rank(reading, [item.candidate for item in judged if item.candidate])
    told = {id(item): one for item, one in zip(judged, ranked, strict=True)}
    return tuple(_ordered(report, told) if report.items else report for report in reports)


def _has_evidence(item: Item, reading: Reading) -> bool:
    return item.candidate is not None and len(item.candidate.evidence) == len(reading.parts)


def _ordered(report: SourceReport, told: dict[int, Ranked]) -> SourceReport:
    if not any(id(item) in told for item in report.items):
        return report
    relevances = [told[id(item)].relevance if id(item) in told else item.relevance for item in report.items]
    order = sorted(range(len(report.items)), key=lambda place: (-relevances[place], place))
    items = []
    for place, number in enumerate(order):
        item = report.items[number]
        features = told[id(item)].features if id(item) in told else item.features
        items.append(replace(item, relevance=relevances[number], features=features, rank=place))
    return replace(report, items=tuple(items))
