"""Receipts: what they say, that a replay of one gives the same bytes, and what differs between two."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from sidecar.runtime.errors import TextsDropped
from sidecar.turn.candidates import Features
from sidecar.turn.fitting.fitting import Fitting, fit
from sidecar.turn.items import Decision, Form, HistorySummary, Ref, Source, SourceReport, Status
from sidecar.turn.message.reading import MessageReading
from sidecar.turn.profile import merge, parse_layer
from sidecar.turn.ranking.rank import NAMES
from sidecar.turn.receipt.difference import Change, compare
from sidecar.turn.receipt.receipt import ReceiptInputs, replay, text_hashes, write
from sidecar.turn.receipt.receipt_rows import decided_items
from store.text.texts import short_hash, signatures, text_hash, text_name
from tests.support.turn.turn_cases import METER, a_call, a_fitting, a_profile, a_result, a_turn, an_item, kept_ids

ASKED = ReceiptInputs(
    "Where does Anna live?", {"agent_id": "mara", "model_id": "gpt-4o"}, "template:default@3", "key-1", 1.25
)

QUESTION = a_fitting(
    an_item(
        "m1",
        "Anna lives in Lisbon.",
        lead="Anna",
        header="Remembered",
        provenance=(Ref("memory", "m1", "journal"),),
        stands_for=("fact",),
        at=datetime(2024, 5, 1, tzinfo=UTC),
        features=Features([1.5, 0.0, float("nan"), *[0.0] * (len(NAMES) - 3)], 0.5),
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


def name_of(text: str) -> str:
    return text_name(short_hash(text))


def row(receipt: dict[str, Any], source: Source) -> dict[str, Any]:
    return next(row for row in receipt["sources"] if row["source"] == source.value)


def test_replay_finds_the_repetitions_of_texts_below_a_heading_as_the_turn_did() -> None:
    text = "Anna lives in Lisbon, near the river."
    below = an_item("w1", f"Home: {text}", Source.WIKI)._replace(signature=signatures([text])[0], unsigned_chars=6)
    question = a_fitting(an_item("m1", text, relevance=0.9), below)
    fitted = fit(question, METER)
    written, texts = write(ASKED, question, fitted)
    again = fit(replay(json.loads(json.dumps(written)), texts, fence_tag=question.fence_tag), METER)
    decided = [{fate.item.id: fate.decision for fate in one.fates} for one in (fitted, again)]
    assert decided[0]["w1"] is Decision.DEDUPED_INTO
    assert decided[1] == decided[0]


def test_receipt_has_the_question_and_the_profile_in_force() -> None:
    receipt = receipt_of(QUESTION)
    assert receipt["version"] == 5
    assert receipt["asked"] == {
        "agent_id": "mara",
        "model_id": "gpt-4o",
        "message": name_of("Where does Anna live?"),
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
    assert [(item["decision"], "form" in item) for item in knowledge["items"]] == [
        ("over_budget", False),
        ("already_seen", False),
    ]
    memory = row(receipt, Source.MEMORY)["items"][0]
    expected = {
        "id": "m1",
        "text": name_of("Anna lives in Lisbon."),
        "lead": name_of("Anna"),
        "header": "Remembered",
        "position": 3,
        "relevance": 0.75,
        "features": [[NAMES[0], 1.5], [NAMES[2], None], ["holds", 0.5]],
        "provenance": [["memory", "m1", "journal"]],
        "stands_for": ["fact"],
        "at": "2024-05-01T00:00:00+00:00",
        "decision": "kept",
        "reason": "remaining tokens",
        "form": "FULL",
        "mark": "m1",
    }
    assert {name: memory[name] for name in expected} == expected
    assert memory["tokens"] > 0


def test_an_item_outside_the_context_keeps_only_the_features_that_a_replay_asks_for() -> None:
    told = Features([0.5, *[0.0] * (len(NAMES) - 1)], 0.75, 0.25)
    reports = [
        replace(report, items=tuple(item._replace(features=told) for item in report.items))
        for report in QUESTION.reports
    ]
    receipt = receipt_of(replace(QUESTION, reports=tuple(reports)))
    (kept,) = row(receipt, Source.MEMORY)["items"]
    assert kept["features"] == [[NAMES[0], 0.5], ["holds", 0.75], ["likeness", 0.25]]
    left_out = row(receipt, Source.KNOWLEDGE)["items"]
    assert [("form" in item, item["features"]) for item in left_out] == [
        (False, [["holds", 0.75], ["likeness", 0.25]])
    ] * 2


def test_a_replay_rejects_what_was_rejected_because_its_kind_hardly_answers() -> None:
    item = an_item("m1", "Anna moved to Lisbon in May", relevance=0.003, features=Features(holds=0.1))
    question = a_fitting(item, profile=a_profile(spend="balanced"))
    receipt = receipt_of(question)
    assert row(receipt, Source.MEMORY)["items"][0]["decision"] == "below_worth"
    _, texts = write(ASKED, question, fit(question, METER))
    assert compare(receipt, receipt_of(replay(receipt, texts, fence_tag="000000"))).changes == ()


def test_receipt_has_turns_summary_and_zones() -> None:
    receipt = receipt_of(QUESTION)
    turns = receipt["history"]["turns"]
    assert [turn["decision"] for turn in turns] == ["shortened", "kept", "kept"]
    assert turns[0]["reason"].endswith("its tool result has no call right before it, so it is left out")
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
    assert (
        difference.note == "the earlier context was rendered by version 1 of the rules and the later one by version 5"
    )
    assert not compare(written, receipt_of(again)).note


def test_follow_up_of_an_earlier_receipt_recalls_as_much_as_it_did() -> None:
    judged = Features(holds=1.0)
    items = [an_item(f"m{n}", f"fact{n} " * 500, relevance=0.4, features=judged) for n in range(8)]
    profile = a_profile(spend="balanced")
    question = a_fitting(*items, profile=profile, window_tokens=32_000, reading=MessageReading(("why?",), leaning=1.0))
    free = replace(question, reading=MessageReading(("why?",)))
    fitted, bounded = fit(free, METER), fit(question, METER)
    assert len(kept_ids(bounded)) < len(kept_ids(fitted)) == 8
    for version, turn, leaning in ((4, fitted, 1.0), (5, bounded, 1.0)):
        written, texts = write(ASKED, question, turn)
        earlier = json.loads(json.dumps(written | {"version": version}))
        assert earlier["reading"]["leaning"] == leaning
        again = fit(replay(earlier, texts, fence_tag=question.fence_tag), METER)
        assert kept_ids(again) == kept_ids(turn)


def test_row_leaves_out_empty_values_and_is_read_back_complete() -> None:
    receipt = receipt_of(QUESTION)
    left_out = row(receipt, Source.KNOWLEDGE)["items"][0]
    assert left_out.keys() <= {"id", "text", "relevance", "decision", "reason", "provenance"}
    whole = [item for source, item in decided_items(receipt) if source is Source.KNOWLEDGE]
    assert [item["rank"] for item in whole] == [0, 1]
    assert (whole[0]["form"], whole[0]["lead"], whole[0]["tokens"], whole[0]["confidence"]) == (None, "", 0, None)


def as_of_the_last_release(receipt: dict[str, Any], texts: dict[bytes, str]) -> tuple[dict[str, Any], dict[bytes, str]]:
    """Return a receipt as it was written before: every field of every row, and texts by their whole hash in hexadecimal."""
    names = {text_name(short): text_hash(text).hex() for short, text in texts.items()}
    whole = defaultdict(list)
    for source, item in decided_items(receipt):
        whole[source.value].append(item)
    written = receipt | {
        "sources": [one | {"items": whole[one["source"]][: len(one["items"])]} for one in receipt["sources"]]
    }
    told = json.dumps(written)
    for name, before in names.items():
        told = told.replace(json.dumps(name), json.dumps(before))
    return json.loads(told), {text_hash(text): text for text in texts.values()}


def test_receipt_of_the_last_release_is_read_by_the_same_reader() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    receipt = json.loads(json.dumps(written))
    before, kept = as_of_the_last_release(receipt, texts)
    assert "lead" in row(before, Source.KNOWLEDGE)["items"][0]
    assert text_hashes(before) == kept.keys() - {text_hash(ASKED.message)}
    assert replay(before, kept, fence_tag="000000") == replay(receipt, texts, fence_tag="000000")
    difference = compare(before, receipt)
    assert (difference.changes, difference.token_deltas, difference.note) == ((), {}, "")


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
    assert [one.get("at") for one in row(written, Source.MEMORY)["items"]] == ["2024-05-01T08:00:00+02:00:07", None]
    again = replay(json.loads(json.dumps(written)), texts, fence_tag=question.fence_tag)
    assert fit(again, METER).rendering == fit(question, METER).rendering


def test_receipt_holds_texts_by_hash_only() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    assert all(short_hash(text) == name for name, text in texts.items())
    assert text_hashes(written) == texts.keys() - {short_hash(ASKED.message)}
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
    del texts[short_hash("They met.")], texts[short_hash("hi")]
    with pytest.raises(TextsDropped) as refused:
        replay(written, texts, fence_tag="000000")
    assert refused.value.missing_count == 2
    assert "no longer has all its texts (2 missing)" in str(refused.value)


def test_replay_under_other_knobs_shows_the_differences() -> None:
    written, texts = write(ASKED, QUESTION, fit(QUESTION, METER))
    question = replay(written, texts, fence_tag="000000")
    narrow = merge(parse_layer(question.profile.as_mapping()), parse_layer({"budget_tokens": 64}))
    difference = compare(receipt_of(QUESTION), receipt_of(replace(question, profile=narrow)))
    change = next(change for change in difference.changes if change.item_id == "m1")
    assert (change.before, change.after) == (Decision.KEPT, Decision.OVER_BUDGET)
    assert (change.before_form, change.after_form) == (Form.FULL, None)
    assert change.reason.startswith("kept (remaining tokens) → over_budget (")
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
