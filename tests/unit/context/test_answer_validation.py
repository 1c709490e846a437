"""Answers that no source may give are refused with a reason; good ones pass as they are."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from sidecar.context.answer_validation import MOST_ID_CHARS, MOST_TEXT_CHARS, Garbage, check
from sidecar.context.ports import SourceAnswer
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import Evidence, of_shares
from sidecar.turn.items import HistorySummary, Item, Ref, Source
from store.content.threads import StoredTurn
from store.text.texts import Signature, signatures

MOMENT = datetime(2026, 5, 1, tzinfo=UTC)
GOOD = Item(
    id="memory:1",
    source=Source.MEMORY,
    text="Mara drinks 東京 tea.",
    rank=0,
    relevance=0.5,
    provenance=(Ref("memory", "1"),),
    stands_for=("turn:1",),
    at=MOMENT,
    signature=signatures(["Mara drinks tea."])[0],
)
JUDGED_BY = Candidates(
    CandidateKind.FACT, ["memory:1"], ["Mara drinks tea."], of_shares([0.5], parts=2), days=[MOMENT.date()]
)
TURN = StoredTurn(UUID(int=1), "u1", 1, "user", "", "hello", MOMENT, ({"type": "tool_result"},), 3, 4)
NAN = float("nan")

BAD_ITEMS: dict[str, dict[str, Any]] = {
    "belongs to another source": {"source": Source.WIKI},
    "id": {"id": ""},
    "id is not of": {"id": "x" * (MOST_ID_CHARS + 1)},
    "wrong type": {"id": None},
    "wrong type: seq": {"text": b"bytes"},
    "over": {"text": "x" * (MOST_TEXT_CHARS + 1)},
    "surrogate": {"text": "lone \ud800"},
    "half": {"lead": "\udc00"},
    "half a": {"header": "\udc00"},
    "provenance holds": {"provenance": (Ref("memory", "1", "\ud800"),)},
    "no provenance": {"provenance": ()},
    "wrong type: 'str'": {"provenance": ("memory",)},
    "wrong type: 'int'": {"provenance": 7},
    "between 0 and 1": {"relevance": NAN},
    "not between": {"relevance": math.inf},
    "a relevance is not": {"relevance": -0.1},
    "a relevance is": {"relevance": "high"},
    "relevance is not": {"relevance": np.float64(0.5)},
    "a 32-bit integer": {"rank": "first"},
    "not a 32-bit integer": {"position": 0.5},
    "32-bit integer": {"rank": np.int64(3)},
    "32-bit": {"position": 1 << 31},
    "time that is not a datetime": {"at": "yesterday"},
    "signature has the wrong type": {"signature": b"\x01"},
    "signature is malformed": {"signature": Signature(1, 2, b"short")},
    "is malformed": {"signature": Signature([], 2, b"")},  # type: ignore[arg-type]
    "malformed": {"signature": Signature(1, 2, None)},  # type: ignore[arg-type]
    "before it is judged": {"features": (("cosine", "high"),)},
    "NUL": {"text": "a\0b"},
    "a NUL": {"id": "\0"},
    "NUL character": {"provenance": (Ref("memory", "\0"),)},
    "sequence item": {"stands_for": (1,)},
}
ONE = of_shares([0.5], parts=1)
BAD_CANDIDATES: dict[str, Any] = {
    "evidence is not a number": replace(JUDGED_BY, evidence=of_shares([NAN], parts=1)),
    "is not a number": replace(JUDGED_BY, evidence=ONE._replace(near_cosine=ONE.coverage * math.inf)),
    "not a number": replace(JUDGED_BY, evidence=ONE._replace(cosine=ONE.coverage * math.inf)),
    "columns differ in length": replace(JUDGED_BY, evidence=of_shares([0.5, 0.5], parts=1)),
    "differ in length": replace(JUDGED_BY, evidence=ONE._replace(local_cosine=of_shares([0.5], parts=2).coverage)),
    "expected str": replace(JUDGED_BY, texts=[b"bytes"]),  # type: ignore[list-item]
    "expected str instance": replace(JUDGED_BY, ids=[["memory:1"]]),  # type: ignore[list-item]
    "candidates' columns": replace(JUDGED_BY, kind=CandidateKind.TURN),
    "length": replace(JUDGED_BY, speakers=["Mara", "Bo"]),
    "columns differ": replace(JUDGED_BY, evidence=Evidence._make(column[0] for column in ONE)),
    "differ in": replace(JUDGED_BY, evidence=Evidence._make(column[:, None] for column in ONE)),
    "between -1 and 1": replace(JUDGED_BY, evidence=of_shares([1e308], parts=1)),
    "-1 and 1": replace(JUDGED_BY, evidence=Evidence._make(column.astype(complex) for column in ONE)),
    "not a date": replace(JUDGED_BY, days=["yesterday"]),  # type: ignore[list-item]
    "has no attribute": "they fit",
    "wrong type": replace(JUDGED_BY, evidence=None),  # type: ignore[arg-type]
}
BAD_TURNS: dict[str, dict[str, Any]] = {
    "negative": {"o200k_tokens": -1},
    "count is negative": {"position": -5},
    "32-bit integer": {"cl100k_tokens": None},
    "not a datetime": {"said_at": "yesterday"},
    "serializable": {"parts": ({"type": "tool_result", "content": {1, 2}},)},
    "surrogates": {"parts": ({"type": "tool_result", "content": "\ud800"},)},
    "role": {"role": "root"},
    "part": {"parts": ("call",)},
    "half a surrogate": {"text": "\ud83d"},
    "wrong type": {"text": None},
}
BAD_ANSWERS: dict[str, tuple[Any, Source]] = {
    "answered with NoneType": (None, Source.MEMORY),
    "answered with dict": ({"items": "none"}, Source.MEMORY),
    "tuple of items": (SourceAnswer(("not an item",)), Source.MEMORY),  # type: ignore[arg-type]
    "not a tuple": (SourceAnswer([GOOD]), Source.MEMORY),  # type: ignore[arg-type]
    "wrong type": (SourceAnswer(None), Source.MEMORY),  # type: ignore[arg-type]
    "only the thread": (SourceAnswer((GOOD,), history=(TURN,)), Source.MEMORY),
    "only the thread has": (SourceAnswer(summary=HistorySummary("they spoke", 3)), Source.WIKI),
    "its summary holds": (SourceAnswer(summary=HistorySummary("\ud800", 3)), Source.THREAD),
    "a note holds": (SourceAnswer(notes=("\ud800",)), Source.MEMORY),
    "one id": (SourceAnswer((GOOD, GOOD._replace(text="Mara drinks milk."))), Source.MEMORY),
}


def refused(answer: Any, source: Source) -> str:
    with pytest.raises(Garbage) as caught:
        check(answer, source, top_k=100)
    return str(caught.value)


def test_valid_answer_passes_unchanged_up_to_top_k() -> None:
    items = tuple(GOOD._replace(id=f"memory:{place}", rank=place) for place in range(5))
    assert check(SourceAnswer(items), Source.MEMORY, top_k=3).items == items[:3]
    assert check(SourceAnswer(), Source.WIKI, top_k=3) == SourceAnswer()


def test_evidence_is_kept_and_dropped_with_its_items() -> None:
    first, second = GOOD, GOOD._replace(id="memory:2")
    told = Candidates(
        CandidateKind.FACT, [first.id, second.id], [first.text, second.text], of_shares([0.5, 0.2], parts=2)
    )
    answer = SourceAnswer((first, second), candidates=told)
    assert check(answer, Source.MEMORY, top_k=2) == answer
    kept = check(answer, Source.MEMORY, top_k=1).candidates
    assert kept is not None
    assert (kept.ids, kept.evidence.coverage.tolist()) == ([first.id], [[0.5], [0.5]])


def test_item_without_optional_fields_is_accepted() -> None:
    bare = Item("x", Source.TOOLS, "", rank=0, relevance=0, provenance=(Ref("tool", "1"),))
    assert check(SourceAnswer((bare,)), Source.TOOLS, top_k=1).items == (bare,)


def test_thread_source_may_return_history_and_summary() -> None:
    answer = SourceAnswer(history=(TURN,), summary=HistorySummary("They spoke.", 3, ("turn:1",)))
    assert check(answer, Source.THREAD, top_k=1) == answer


def test_repeated_id_is_accepted() -> None:
    assert len(check(SourceAnswer((GOOD, GOOD)), Source.MEMORY, top_k=9).items) == 2


def test_invalid_item_is_refused_with_a_reason() -> None:
    for reason, changes in BAD_ITEMS.items():
        answer = SourceAnswer((GOOD, GOOD._replace(**{"id": "memory:2"} | changes)))
        assert reason in refused(answer, Source.MEMORY), changes


def test_invalid_evidence_is_refused_with_a_reason() -> None:
    assert check(SourceAnswer((GOOD,), candidates=JUDGED_BY), Source.MEMORY, top_k=1).candidates is JUDGED_BY
    for reason, told in BAD_CANDIDATES.items():
        assert reason in refused(SourceAnswer((GOOD,), candidates=told), Source.MEMORY), told


class NoZone(tzinfo):
    """A time zone that cannot say what it is."""

    def utcoffset(self, dt: datetime | None) -> timedelta:
        """Fail."""
        raise RuntimeError("no such zone")

    dst = utcoffset

    def tzname(self, dt: datetime | None) -> str:
        """Return a name."""
        return "nowhere"


def test_failing_time_zone_is_refused_at_validation() -> None:
    for answer in (
        SourceAnswer((GOOD._replace(at=MOMENT.replace(tzinfo=NoZone())),)),
        SourceAnswer(history=(replace(TURN, said_at=MOMENT.replace(tzinfo=NoZone())),)),
    ):
        with pytest.raises(RuntimeError, match="no such zone"):
            check(answer, Source.THREAD if answer.history else Source.MEMORY, top_k=1)


def test_invalid_turn_is_refused_with_a_reason() -> None:
    for reason, changes in BAD_TURNS.items():
        answer = SourceAnswer(history=(TURN, replace(TURN, **changes)))
        assert reason in refused(answer, Source.THREAD), changes


def test_invalid_answer_is_refused_with_a_reason() -> None:
    for reason, (answer, source) in BAD_ANSWERS.items():
        assert reason in refused(answer, source), answer
