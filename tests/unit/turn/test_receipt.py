"""Receipts: what they say, that a replay of one gives the same bytes, and what differs between two."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from sidecar.runtime.errors import TextsDropped
from sidecar.turn.difference import Change, compare
from sidecar.turn.fitting import Fitting, fit
from sidecar.turn.items import Decision, Form, HistorySummary, Ref, Source, SourceReport, Status
from sidecar.turn.profile import merge, parse_layer
from sidecar.turn.receipt import Asked, replay, text_hashes, write
from store.text.texts import text_hash
from tests.support.turn.turn_cases import METER, a_call, a_fitting, a_profile, a_result, a_turn, an_item

ASKED = Asked("Where does Anna live?", {"agent_id": "mara", "model_id": "gpt-4o"}, "template:default@3", "key-1", 1.25)

QUESTION = a_fitting(
    an_item(
        "m1",
        "Anna lives in Lisbon.",
        lead="Anna",
        header="Remembered",
        provenance=(Ref("memory", "m1", "journal"),),
        stands_for=("fact",),
        at=datetime(2024, 5, 1, tzinfo=UTC),
        features=(("bm25", 1.5), ("odd", float("nan"))),
        position=3,
        relevance=0.75,
    ),
    an_item("k1", "x " * 400, Source.KNOWLEDGE),
    an_item("k2", "seen before", Source.KNOWLEDGE),
    history=(
        a_turn(1, "user", "hi", a_result("z")),
        a_turn(2, "assistant", "", a_call("a")),
        a_turn(3, "tool", "", a_result("a")),
    ),
    summary=HistorySummary("They met.", 1, ("turn:0",)),
    seen_item_ids=frozenset({"k2"}),
    budget_tokens=300,
)


def receipt_of(question: Fitting) -> dict[str, Any]:
    written, _ = write(ASKED, question, fit(question, METER))
    read: dict[str, Any] = json.loads(json.dumps(written, allow_nan=False))
    return read


def row(receipt: dict[str, Any], source: Source) -> dict[str, Any]:
    return next(row for row in receipt["sources"] if row["source"] == source.value)


def test_receipt_has_the_question_and_the_profile_in_force() -> None:
    receipt = receipt_of(QUESTION)
    assert receipt["version"] == 3
    assert receipt["asked"] == {
        "agent_id": "mara",
        "model_id": "gpt-4o",
        "message": text_hash("Where does Anna live?").hex(),
    }
    assert receipt["profile"] == {"version": "template:default@3", "knobs": QUESTION.profile.as_mapping()}
    assert receipt["tokenizer"] == {"name": "pieces", "is_exact": True, "ratio": 1.25}
    assert receipt["pool"]["pool_tokens"] == 300
    assert 0 < receipt["pool"]["used_tokens"] == receipt["rendered"]["tokens"] <= 300
    assert receipt["fence_key_id"] == "key-1"
    assert "000000" not in json.dumps(receipt)


def test_every_source_has_a_row_and_every_candidate_its_decision() -> None:
    receipt = receipt_of(QUESTION)
    assert [row["source"] for row in receipt["sources"]] == [source.value for source in Source]
    assert row(receipt, Source.TOOLS)["status"] == "SKIPPED"
    knowledge = row(receipt, Source.KNOWLEDGE)
    counts = [knowledge[f"{name}_count"] for name in ("offered", "included", "shortened", "dropped")]
    assert (knowledge["status"], knowledge["latency_ms"], knowledge["attempts"], counts) == ("OK", 1.0, 1, [2, 0, 0, 2])
    assert [(item["decision"], item["form"]) for item in knowledge["items"]] == [
        ("over_budget", None),
        ("already_seen", None),
    ]
    memory = row(receipt, Source.MEMORY)["items"][0]
    expected = {
        "id": "m1",
        "text": text_hash("Anna lives in Lisbon.").hex(),
        "lead": text_hash("Anna").hex(),
        "header": "Remembered",
        "position": 3,
        "rank": 0,
        "relevance": 0.75,
        "features": [["bm25", 1.5], ["odd", None]],
        "provenance": [["memory", "m1", "journal"]],
        "stands_for": ["fact"],
        "at": "2024-05-01T00:00:00+00:00",
        "decision": "kept",
        "reason": "what was left",
        "form": "FULL",
        "mark": "m1",
        "into": "",
    }
    assert {name: memory[name] for name in expected} == expected
    assert memory["tokens"] > 0


def test_an_item_outside_the_context_keeps_only_the_feature_that_a_replay_asks_for() -> None:
    told = (("cosine", 0.5), ("likeness", 0.25))
    reports = [
        replace(report, items=tuple(item._replace(features=told) for item in report.items))
        for report in QUESTION.reports
    ]
    receipt = receipt_of(replace(QUESTION, reports=tuple(reports)))
    (kept,) = row(receipt, Source.MEMORY)["items"]
    assert kept["features"] == [["cosine", 0.5], ["likeness", 0.25]]
    left_out = row(receipt, Source.KNOWLEDGE)["items"]
    assert [(item["form"], item["features"]) for item in left_out] == [(None, [["likeness", 0.25]])] * 2


def test_receipt_has_turns_summary_and_zones() -> None:
    receipt = receipt_of(QUESTION)
    turns = receipt["history"]["turns"]
    assert [turn["decision"] for turn in turns] == ["shortened", "kept", "kept"]
    assert turns[0]["reason"].endswith("its tool result has no call, so that is left out")
    assert sum(turn["included_tokens"] for turn in turns) == receipt["rendered"]["zones"]["turns"]["tokens"]
    assert receipt["history"]["summary"]["turn_ids"] == ["turn:0"]
    assert sum(zone["tokens"] for zone in receipt["rendered"]["zones"].values()) == receipt["rendered"]["tokens"]


def test_receipt_of_earlier_rules_is_replayed_with_a_note_that_bytes_may_differ() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    earlier = written | {"version": 1}
    for turn in earlier["history"]["turns"]:
        del turn["is_imported"]
    again = replay(earlier, texts, fence_tag=QUESTION.fence_tag)
    difference = compare(earlier, receipt_of(again))
    assert (difference.changes, difference.first_changed_zone) == ((), "")
    assert difference.note == "texts are written down by rules 1 in the one and by rules 3 in the other"
    assert not compare(written, receipt_of(again)).note


class OddZone(tzinfo):
    """A time zone as anybody may write one: not to be hashed, and to the second."""

    __hash__ = None  # type: ignore[assignment]

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """Return the offset."""
        return timedelta(hours=2, seconds=7)

    def dst(self, dt: datetime | None) -> timedelta:
        """Return none."""
        return timedelta()

    def tzname(self, dt: datetime | None) -> str:
        """Return a name."""
        return "odd"


def test_time_of_any_zone_survives_the_receipt() -> None:
    odd = datetime(2024, 5, 1, 8, tzinfo=OddZone())
    question = a_fitting(an_item("m1", "Anna lives in Lisbon.", at=odd), an_item("m2", "Bo sails.", at=None))
    written, texts = write(ASKED, question, fit(question, METER))
    assert [one["at"] for one in row(written, Source.MEMORY)["items"]] == ["2024-05-01T08:00:00+02:00:07", None]
    again = replay(json.loads(json.dumps(written)), texts, fence_tag=question.fence_tag)
    assert fit(again, METER).rendering == fit(question, METER).rendering


def test_receipt_holds_texts_by_hash_only() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    assert all(text_hash(text) == name for name, text in texts.items())
    assert text_hashes(written) == texts.keys() - {text_hash(ASKED.message)}
    assert "Lisbon" not in json.dumps(written)
    assert {"Anna lives in Lisbon.", "They met.", "hi", "Anna"} <= set(texts.values())


def test_a_replay_asks_the_same_question() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    again = replay(json.loads(json.dumps(written)), texts, fence_tag=QUESTION.fence_tag)
    assert again.profile == QUESTION.profile
    assert again.history == QUESTION.history
    assert again.summary == QUESTION.summary
    asked = {report.source: repr(report) for report in QUESTION.reports}
    assert {report.source: repr(report) for report in again.reports}.items() >= asked.items()
    assert fit(again, METER).rendering == fit(QUESTION, METER).rendering


def test_a_replay_without_its_texts_says_how_many_are_gone() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    del texts[text_hash("They met.")], texts[text_hash("hi")]
    with pytest.raises(TextsDropped) as refused:
        replay(written, texts, fence_tag="000000")
    assert refused.value.missing_count == 2


def test_replay_under_other_knobs_shows_what_would_differ() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    question = replay(written, texts, fence_tag="000000")
    narrow = merge(parse_layer(question.profile.as_mapping()), parse_layer({"budget_tokens": 64}))
    difference = compare(receipt_of(QUESTION), receipt_of(replace(question, profile=narrow)))
    change = next(change for change in difference.changes if change.item_id == "m1")
    assert (change.before, change.after) == (Decision.KEPT, Decision.OVER_BUDGET)
    assert (change.before_form, change.after_form) == (Form.FULL, None)
    assert change.reason.startswith("kept (what was left) → over_budget (")
    assert difference.token_deltas[Source.MEMORY] < 0
    assert difference.first_changed_zone == "turns"


def test_difference_names_added_removed_and_changed_items() -> None:
    fact = an_item("m1", "Anna lives in Lisbon.")
    before = a_fitting(fact, an_item("k1", "A rule", Source.KNOWLEDGE))
    after = a_fitting(fact, an_item("w1", "On Anna", Source.WIKI), history=(a_turn(1, "user", "hi"),))
    failed = (*after.reports, SourceReport(Source.KNOWLEDGE, Status.TIMEOUT, reason="no answer by its deadline"))
    difference = compare(receipt_of(before), receipt_of(replace(after, reports=failed)))
    kept = Decision.KEPT
    assert set(difference.changes) == {
        Change(Source.KNOWLEDGE, "k1", kept, None, Form.FULL, None, "kept (priority 2) → not offered"),
        Change(Source.WIKI, "w1", None, kept, None, Form.FULL, "not offered → kept (floor of wiki)"),
    }
    assert difference.status_changes == {
        Source.KNOWLEDGE: "OK → TIMEOUT",
        Source.WIKI: "SKIPPED → OK",
    }
    assert set(difference.token_deltas) == {Source.KNOWLEDGE, Source.WIKI, Source.THREAD}
    assert difference.first_changed_zone == "turns"


def test_the_first_changed_zone_is_the_first_that_differs() -> None:
    base = a_fitting(an_item("w1", "On Anna", Source.WIKI), history=(a_turn(1, "user", "hi"),))
    talked = replace(base, history=(a_turn(1, "user", "ho"),))
    more = replace(base, reports=(*base.reports, *a_fitting(an_item("k1", "A rule", Source.KNOWLEDGE)).reports))
    told = replace(base, summary=HistorySummary("They met.", 1, ("turn:0",)))
    zones = [compare(receipt_of(base), receipt_of(other)).first_changed_zone for other in (base, talked, more, told)]
    assert zones == ["", "turns", "volatile", "volatile"]


def test_repeated_id_is_compared_occurrence_by_occurrence() -> None:
    twice = a_fitting(an_item("m1", "one fact"), an_item("m1", "another fact"), profile=a_profile())
    assert compare(receipt_of(twice), receipt_of(twice)).changes == ()
    assert len(row(receipt_of(twice), Source.MEMORY)["items"]) == 2
