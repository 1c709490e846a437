"""Texts of remote searches: their evidence is made in the turn, and the same model judges them as all others."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import numpy as np

from sidecar.backends.backend_caller import TokenBucket
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.items import Item, Ref, Source, SourceReport, Status
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.judging import judge
from sidecar.turn.ranking.remote_evidence import (
    MOST_EMBEDDED,
    QuestionVectors,
    coverage,
    readable,
    texts_to_embed,
    with_evidence,
)
from sidecar.turn.receipt.receipt_rows import written_features

READING = read("Where did Ana hide the spare keys?", today=date(2026, 3, 1))
HIT, MISS = "Ana hid the spare keys beneath the blue flower pot.", "The invoice of March was paid by bank transfer."


def remote(*texts: str, source: Source = Source.MEMORY) -> SourceReport:
    """Return what a remote search brought: texts without evidence."""
    items = tuple(
        Item(f"{source}:{place}", source, text, place, 0.5, provenance=(Ref("backend", "there"),))
        for place, text in enumerate(texts)
    )
    return SourceReport(source, Status.OK, items)


def relevances(*reports: SourceReport, reading: Reading = READING) -> dict[str, float]:
    judged = judge(with_evidence(reports, reading, None, {}), reading)
    return {item.text: item.relevance for report in judged.reports for item in report.items}


def test_first_remote_text_counts_by_its_content() -> None:
    for source in (Source.MEMORY, Source.KNOWLEDGE, Source.TOOLS):
        told = relevances(remote(MISS, HIT, source=source))
        assert told[MISS] < 0.02, source
        assert told[HIT] > 0.1, source


def test_day_of_a_remote_text_is_that_of_the_time_zone() -> None:
    (item,) = remote(HIT).items
    report = replace(remote(HIT), items=(item._replace(at=datetime(2026, 5, 1, 2, tzinfo=UTC)),))
    for name, day in (("UTC", date(2026, 5, 1)), ("America/Los_Angeles", date(2026, 4, 30))):
        (told,) = with_evidence([report], READING, None, {}, zone=ZoneInfo(name))
        assert told.candidates is not None
        assert told.candidates.days == [day]


def test_words_count_in_other_forms() -> None:
    assert coverage(("keys", "hiding"), "A key is lost. Hide the other.") == 1.0
    assert coverage(("walked",), "She walks home.") == 1.0
    assert coverage((), "anything") == 0.0


def test_vectors_count_as_for_our_own_texts() -> None:
    reading = read("Which dentist do I see?", today=date(2026, 3, 1))
    near, far = "A tooth doctor on Elm Street.", "The invoice was paid."
    question = QuestionVectors(np.array([[1.0, 0.0]]), None)
    vectors = {near: np.array([0.9, 0.1]), far: np.array([0.0, 1.0])}
    judged = judge(with_evidence([remote(far, near)], reading, question, vectors), reading)
    assert [item.text for item in judged.reports[0].items] == [near, far]
    features = judged.reports[0].items[0].features
    assert features is not None
    assert dict(written_features(features, is_whole=True))["cosine"] == 0.9


def test_vectors_show_how_sensitive_remote_texts_are() -> None:
    question = QuestionVectors(np.array([[1.0, 0.0]]), np.array([2.0, -4.0]))
    vectors = {HIT: np.array([0.0, 0.5])}
    (told,) = with_evidence([remote(MISS, HIT)], READING, question, vectors)
    assert told.candidates is not None
    assert told.candidates.sensitivity == [None, -2.0]
    (passages,) = with_evidence([remote(HIT, source=Source.KNOWLEDGE)], READING, question, vectors)
    assert passages.candidates is not None
    assert not passages.candidates.sensitivity, "only memories are judged by it"
    ours = Candidates(CandidateKind.FACT, ["ours"], [HIT], of_shares([1.0], parts=1), sensitivity=[1.5])
    for asked, expected in ((question, [1.5, None, -2.0]), (None, [1.5, None, None])):
        (told,) = with_evidence([replace(remote(MISS, HIT), candidates=ours)], READING, asked, vectors)
        assert told.candidates is not None
        assert list(told.candidates.sensitivity) == expected


def test_vectors_show_how_sensitive_remote_texts_are_without_built_in_texts() -> None:
    question = QuestionVectors(np.array([[1.0, 0.0]]), np.array([2.0, -4.0]))
    nothing = Candidates(CandidateKind.FACT, [], [], of_shares([], parts=1))
    report = replace(remote(HIT), candidates=nothing)
    (told,) = with_evidence([report], READING, question, {HIT: np.array([0.0, 0.5])})
    assert told.candidates is not None
    assert list(told.candidates.sensitivity) == [-2.0]


def test_remote_texts_are_ranked_beside_built_in_ones() -> None:
    item = Item("ours", Source.MEMORY, HIT, 0, 0.5, provenance=(Ref("memory", "ours"),))
    candidates = Candidates(
        CandidateKind.FACT,
        ["ours"],
        [HIT],
        of_shares([1.0], parts=1),
        days=[date(2026, 1, 1)],
        trust=[0.5],
        odds=[0.25],
    )
    theirs = remote(MISS, HIT)
    both = replace(theirs, items=(item, *theirs.items), candidates=candidates)
    (told,) = with_evidence([both], READING, None, {})
    assert told.candidates is not None
    assert list(told.candidates.ids) == ["ours", "memory:0", "memory:1"]
    assert list(told.candidates.trust) == [0.5, 1.0, 1.0]
    assert list(told.candidates.odds) == [0.25, 1.0, 1.0]
    assert len(told.candidates.days) == 3
    assert [one.text for one in judge([told], READING).reports[0].items] == [HIT, HIT, MISS]


def test_a_named_day_counts_for_a_remote_text() -> None:
    reading = read("What did Ana buy on 3 March 2026?", today=date(2026, 4, 1))
    then, later = datetime(2026, 3, 3, tzinfo=UTC), datetime(2025, 3, 9, tzinfo=UTC)
    report = remote("Ana bought rope.", "Ana bought flour.", "Ana bought nails.")
    items = tuple(one._replace(at=at) for one, at in zip(report.items, (None, then, later), strict=True))
    judged = judge(with_evidence([replace(report, items=items)], reading, None, {}), reading)
    assert judged.reports[0].items[0].text == "Ana bought flour."


def test_pinned_items_and_workspace_files_need_no_evidence() -> None:
    pinned = replace(remote(MISS), items=(remote(MISS).items[0]._replace(is_pinned=True),))
    files = remote(MISS, source=Source.WORKSPACE)
    assert texts_to_embed([pinned, files], READING) == []
    assert with_evidence([pinned, files], READING, None, {}) == (pinned, files)


def test_the_best_texts_of_each_source_are_embedded_first_and_once() -> None:
    tools = remote(*(f"result {place}" for place in range(50)), source=Source.TOOLS)
    texts = texts_to_embed([tools, remote(HIT, HIT, "x" * 9_000)], READING)
    assert texts[:2] == ["result 0", HIT]
    assert (len(texts), len(set(texts)), max(map(len, texts))) == (MOST_EMBEDDED, MOST_EMBEDDED, 2_000)


def test_order_of_a_reranker_is_kept_and_the_relevances_stay() -> None:
    report = replace(remote(MISS, HIT, "Ana has keys."), reranked=("memory:0", "memory:2", "memory:1"))
    items = judge(with_evidence([report], READING, None, {}), READING).reports[0].items
    assert [item.id for item in items] == ["memory:0", "memory:2", "memory:1"]
    assert sorted(item.relevance for item in items) == sorted(relevances(remote(MISS, HIT, "Ana has keys.")).values())


def test_lone_surrogates_and_nul_leave_a_mark() -> None:
    assert readable("a\ud800b\0c") == "a?b\ufffdc"


def test_rate_limiter_without_a_rate_never_waits() -> None:
    assert TokenBucket(0).wait_s(5.0) == 0.0
