"""Relevance is judged once, over what all sources brought, and put on the items with its features."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from sidecar.turn.evidence import Evidence
from sidecar.turn.items import Item, Ref, Source, SourceReport, Status
from sidecar.turn.judging import judge
from sidecar.turn.rank import Candidate, Kind
from sidecar.turn.reading import Reading, read

READING = read("Where does Ana keep the spare keys?", today=date(2026, 3, 1))


def an_item(name: str, coverage: float, source: Source = Source.MEMORY, parts: int = 1) -> Item:
    evidence = (Evidence(coverage, coverage, coverage),) * parts
    candidate = Candidate(Kind.FACT, "Ana keeps the keys in the shed", evidence)
    return Item(name, source, candidate.text, 0, 0.5, provenance=(Ref("memory", name),), candidate=candidate)


def a_report(*items: Item) -> SourceReport:
    return SourceReport(items[0].source if items else Source.WIKI, Status.OK, items, reason="as it was")


def judged(*reports: SourceReport, reading: Reading = READING) -> list[Item]:
    return [item for report in judge(reports, reading) for item in report.items]


def test_the_more_a_text_covers_the_more_relevant_it_is_and_the_earlier_it_stands() -> None:
    items = judged(a_report(an_item("little", 0.1), an_item("much", 0.9)))
    assert [(item.id, item.rank) for item in items] == [("much", 0), ("little", 1)]
    assert 0 < items[1].relevance < items[0].relevance < 1


def test_every_judged_item_says_what_its_relevance_follows_from() -> None:
    (item,) = judged(a_report(an_item("one", 0.9)))
    assert dict(item.features)["coverage"] == 0.9


def test_sources_are_compared_with_each_other() -> None:
    alone = judged(a_report(an_item("one", 0.4)))[0].relevance
    beside_better = judged(a_report(an_item("one", 0.4)), a_report(an_item("best", 1.0, Source.WIKI)))[0].relevance
    assert beside_better < alone


def test_what_came_without_evidence_keeps_what_its_source_told() -> None:
    told = replace(an_item("remote", 0.0, Source.TOOLS), candidate=None, relevance=0.7, rank=3)
    (item,) = judged(a_report(told))
    assert (item.relevance, item.rank, item.features) == (0.7, 3, ())


def test_evidence_for_another_reading_is_not_used() -> None:
    (item,) = judged(a_report(an_item("stale", 0.9, parts=2)))
    assert item.relevance == 0.5


def test_a_report_is_otherwise_left_as_it_was() -> None:
    empty, full = judge([a_report(), a_report(an_item("one", 0.9))], READING)
    assert empty == a_report()
    assert (full.status, full.reason, len(full.items)) == (Status.OK, "as it was", 1)
