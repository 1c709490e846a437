"""Which memories a plan may end, and which earlier ones a model is shown for it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compiler.plan import bounds
from compiler.plan.batch import LeafBatch
from compiler.plan.citing import citable, source_of
from compiler.plan.contract import BatchMemory, CitedMemory, EndMemory, EndReason, Page, PageKey, PageType, Section
from compiler.plan.decision_builder import DecisionBuilder
from compiler.plan.facts.related_memories import MOST_SOUGHT, akin, sought
from compiler.plan.judging import ending, validate
from compiler.plan.judging.ending import EndStanding
from compiler.plan.prompting import prompt
from compiler.plan.proposal import ProposedEnd
from store.text.texts import text_hash
from tests.support.compiler.plan_cases import source

AT = datetime(2026, 3, 1, tzinfo=UTC)


def memory(memory_id: str, text: str, days: int = 0) -> BatchMemory:
    return BatchMemory(memory_id, text, text_hash(text), AT + timedelta(days=days))


OLD = memory("old", "Dale lives in a flat near the harbour.")
NEW = memory("new", "Dale moved;  he lives\nby the Forest now.", 5)


def judged(*proposed: ProposedEnd, batch: LeafBatch | None = None) -> tuple[list[object], list[str]]:
    builder = DecisionBuilder()
    ending.judge(proposed, citable(batch or LeafBatch((NEW,), standing=(OLD,))), builder)
    return list(builder.items), [one.reason for one in builder.rejections]


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("he lives by the forest", "he lives by the Forest"),
        ("  Dale   moved;\n", "Dale moved;"),
        ("Dale moved; he lives by the Forest now." * 20, ""),
        ("he lives in Peru", ""),
        ("now", ""),
        ("....", ""),
        ("", ""),
    ],
)
def test_evidence_is_the_newer_memorys_own_words(quote: str, passage: str) -> None:
    items, reasons = judged(ProposedEnd("new", "old", EndReason.CORRECTED, quote))
    assert items == ([EndMemory(source_of(NEW), source_of(OLD), EndReason.CORRECTED, passage)] if passage else [])
    assert reasons == ([] if passage else ["supersession_without_evidence"])


def test_pair_proposed_twice_counts_once_in_any_order() -> None:
    two = [
        ProposedEnd("new", "old", EndReason.CORRECTED, "Dale moved"),
        ProposedEnd("new", "old", EndReason.CONTRADICTED, "Dale moved"),
    ]
    assert len(judged(*two)[0]) == 1
    assert judged(two[0])[0] == judged(two[0], two[0])[0]


def test_plan_that_ends_too_much_is_believed_in_nothing() -> None:
    many = [memory(f"m{at}", f"Dale lives in flat {at}.", -at) for at in range(bounds.ENDS + 1)]
    proposed = [ProposedEnd("new", one.memory_id, EndReason.CONTRADICTED, "Dale moved") for one in many]
    batch = LeafBatch((NEW, *many))
    assert len(judged(*proposed[:-1], batch=batch)[0]) == bounds.ENDS
    items, reasons = judged(*proposed, batch=batch)
    assert (items, set(reasons), len(reasons)) == ([], {"too_many_supersessions"}, bounds.ENDS + 1)
    assert judged(*[proposed[0]] * 101, batch=batch) == ([], ["too_many_supersessions"])


@pytest.mark.parametrize(
    ("newer", "older", "reason"),
    [
        (EndStanding(2, AT, b"n"), EndStanding(2, AT - timedelta(days=1), b"o"), ""),
        (EndStanding(3, AT, b"n"), EndStanding(2, AT - timedelta(days=1), b"o"), ""),
        (EndStanding(3, AT, b"n"), EndStanding(3, AT - timedelta(days=1), b"o"), "supersession_above_trust"),
        (EndStanding(0, AT, b"n"), EndStanding(1, AT - timedelta(days=1), b"o"), "supersession_above_trust"),
        (EndStanding(2, AT, b"n"), EndStanding(2, AT, b"o"), "supersession_by_older"),
        (EndStanding(2, AT, b"n"), EndStanding(2, AT + timedelta(days=1), b"o"), "supersession_by_older"),
    ],
)
def test_rows_decide_whom_a_plan_may_end(newer: EndStanding, older: EndStanding, reason: str) -> None:
    item = EndMemory(CitedMemory("new", b"n"), CitedMemory("old", b"o"), EndReason.CORRECTED, "")
    standing = {"new": newer, "old": older}
    assert ending.refusal(item, standing, (), most_trusted=2) == reason
    assert ending.refusal(item, {"new": newer}, (), most_trusted=2) == "supersession_of_unknown"
    edited = {"new": EndStanding(newer.trust_rank, newer.starts_at, b"other"), "old": older}
    assert ending.refusal(item, edited, (), most_trusted=2) == "supersession_of_edited"
    undone = ending.refusal(item, standing, {("new", "old")}, most_trusted=2)
    assert undone == (reason or "supersession_undone")


def test_model_is_shown_the_earlier_memories_under_their_own_handles() -> None:
    asked = prompt.leaf(LeafBatch((NEW,), standing=(OLD,)))
    assert dict(asked.handles.memories) == {"R1": "new", "R2": "old"}
    assert "\n\nEARLIER\n" in asked.user
    assert "EARLIER" not in prompt.leaf(LeafBatch((NEW,))).user
    answer = {
        "supersessions": [{"newer_ref": "[R1]", "older_ref": "r2", "reason": " Corrected ", "quote": "Dale moved"}]
    }
    proposal, rejections = validate.read(answer, asked.handles)
    assert (proposal.ends, rejections) == ((ProposedEnd("new", "old", EndReason.CORRECTED, "Dale moved"),), ())


@pytest.mark.parametrize(
    "ill", [None, 7, "all", {"a": 1}, [None, 3, "x", {}, {"newer_ref": ["R1"], "older_ref": {}, "reason": 5}]]
)
def test_malformed_ends_fall_alone(ill: object) -> None:
    asked = prompt.leaf(LeafBatch((NEW,), standing=(OLD,)))
    proposal, _ = validate.read({"supersessions": ill, "pageLinks": []}, asked.handles)
    assert proposal.ends == ()


def test_earlier_memories_are_those_that_share_words_in_any_order_and_within_bounds() -> None:
    others = [memory(f"o{at}", f"Dale {word} the flat number {at}.", at) for at, word in enumerate(["swept"] * 40)]
    stranger = memory("s", "Rain again.")
    huge = memory("huge", "Dale moved by the forest now. " * 400)
    found = akin((NEW, memory("n2", "The flat was swept.")), [OLD, stranger, huge, *others])
    assert len(found) == bounds.STANDING_MEMORIES
    assert sum(len(one.text) for one in found) <= bounds.STANDING_CHARS
    assert not {"s", "huge"} & {one.memory_id for one in found}
    assert found == akin((NEW, memory("n2", "The flat was swept.")), [*reversed(others), huge, stranger, OLD])
    assert [one.occurred_at for one in found] == sorted(one.occurred_at for one in found)


def test_sought_memories_are_bounded_and_not_the_batchs_own() -> None:
    many = tuple(source(f"m{at:04}") for at in range(MOST_SOUGHT + 50))
    page = Page(PageKey(PageType.ENTITY, "dale"), "Dale", "", sections=(Section("notes", "Notes", "", many),))
    assert len(sought([page], ())) == MOST_SOUGHT
    assert "m0000" not in sought([page], {"m0000"})
