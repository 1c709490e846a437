"""Relevance is judged once, over what all sources brought, and put on the items with its features."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.items import Item, Ref, Source, SourceReport, Status
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.judging import judge
from sidecar.turn.receipt.receipt_rows import written_features

READING = read("Where does Ana keep the spare keys?", today=date(2026, 3, 1))


def an_item(name: str, source: Source = Source.MEMORY, **changes: Any) -> Item:
    item = Item(name, source, "Ana keeps the keys in the shed", 0, 0.5, provenance=(Ref("memory", name),))
    return item._replace(**changes)


def a_report(*shares: tuple[str, float], source: Source = Source.MEMORY, parts: int = 1) -> SourceReport:
    """Return a report of items with so much of the question's words in each."""
    items = tuple(an_item(name, source, rank=rank) for rank, (name, _) in enumerate(shares))
    evidence = of_shares([share for _, share in shares], parts=parts)
    told = Candidates(CandidateKind.FACT, [item.id for item in items], [item.text for item in items], evidence)
    return SourceReport(source, Status.OK, items, reason="as it was", candidates=told)


def judged(*reports: SourceReport, reading: Reading = READING) -> list[Item]:
    return [item for report in judge(reports, reading).reports for item in report.items]


def test_text_that_covers_more_is_more_relevant_and_ranked_earlier() -> None:
    items = judged(a_report(("little", 0.1), ("much", 0.9)))
    assert [(item.id, item.rank) for item in items] == [("much", 0), ("little", 1)]
    assert 0 < items[1].relevance < items[0].relevance < 1


def test_every_judged_item_carries_its_features() -> None:
    (item,) = judged(a_report(("one", 0.9)))
    assert item.features is not None
    assert dict(written_features(item.features, is_whole=True))["coverage"] == 0.9


def test_relevance_is_comparable_across_sources() -> None:
    alone = judged(a_report(("one", 0.4)))[0].relevance
    beside_better = judged(a_report(("one", 0.4)), a_report(("best", 1.0), source=Source.WIKI))[0].relevance
    assert beside_better < alone


def test_equal_relevance_is_ordered_by_text_and_not_by_ids_or_rows() -> None:
    report = a_report(("b", 0.5), ("a", 0.5))
    texts = ("Ana keeps the keys in the shed", "Ana keeps the keys in the car!")
    items = tuple(item._replace(text=text) for item, text in zip(report.items, texts, strict=True))
    assert report.candidates
    report = replace(report, items=items, candidates=replace(report.candidates, texts=texts))
    assert [item.text for item in judged(report)] == sorted(texts)


def test_report_without_evidence_keeps_the_relevance_of_its_source() -> None:
    told = an_item("remote", Source.TOOLS, relevance=0.7, rank=3)
    (item,) = judged(SourceReport(Source.TOOLS, Status.OK, (told,)))
    assert (item.relevance, item.rank, item.features) == (0.7, 3, None)


def test_item_without_evidence_beside_others_keeps_the_relevance_of_its_source() -> None:
    ours, told = a_report(("much", 0.9), ("little", 0.1)), an_item("remote", relevance=0.05, rank=2)
    items = judged(replace(ours, items=(*ours.items, told)))
    assert [(item.id, item.rank, bool(item.features)) for item in items] == [
        ("much", 0, True),
        ("remote", 1, False),
        ("little", 2, True),
    ]
    assert items[1].relevance == 0.05


def test_evidence_for_another_reading_is_ignored() -> None:
    (item,) = judged(a_report(("stale", 0.9), parts=2))
    assert item.relevance == 0.5


def test_rest_of_the_report_is_unchanged() -> None:
    nothing = SourceReport(Source.WIKI, Status.EMPTY)
    empty, full = judge([nothing, a_report(("one", 0.9))], READING).reports
    assert empty == nothing
    assert (full.status, full.reason, len(full.items)) == (Status.OK, "as it was", 1)
