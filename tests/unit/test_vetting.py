"""Answers that no source may give are refused with a reason; good ones pass as they are."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest

from sidecar.sources import Answer
from sidecar.turn.evidence import Evidence
from sidecar.turn.items import HistorySummary, Item, Ref, Source
from sidecar.turn.rank import Candidate, Kind
from sidecar.vetting import MOST_ID_CHARS, MOST_TEXT_CHARS, Garbage, check
from store.texts import signatures
from store.threads import StoredTurn

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
    candidate=Candidate(Kind.FACT, "Mara drinks tea.", (Evidence(0.5, 0.5, 0.5, -0.2, 0.1, 0.1),)),
)
TURN = StoredTurn(UUID(int=1), "u1", 1, "user", "", "hello", MOMENT, ({"type": "tool_result"},), 3, 4)
NAN = float("nan")

BAD_ITEMS: dict[str, dict[str, Any]] = {
    "not its own": {"source": Source.WIKI},
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
    "not supported": {"relevance": "high"},
    "interpreted as an integer": {"rank": "first"},
    "as an integer": {"position": 0.5},
    "time or signature": {"at": "yesterday"},
    "or signature is none": {"signature": b"\x01"},
    "sequence item": {"stands_for": (1,)},
    "evidence is no number": {"candidate": Candidate(Kind.FACT, "x", (Evidence(NAN, 0.5, 0.5),))},
    "is no number": {"candidate": Candidate(Kind.FACT, "x", (Evidence(0.5, 0.5, 0.5, 0.1, math.inf, 0.1),))},
    "has no attribute": {"candidate": "it fits"},
}
BAD_TURNS: dict[str, dict[str, Any]] = {
    "negative": {"o200k_tokens": -1},
    "count is negative": {"position": -5},
    "as an integer": {"cl100k_tokens": None},
    "role": {"role": "root"},
    "part": {"parts": ("call",)},
    "half a surrogate": {"text": "\ud83d"},
    "wrong type": {"text": None},
}
BAD_ANSWERS: dict[str, tuple[Any, Source]] = {
    "answered with NoneType": (None, Source.MEMORY),
    "answered with dict": ({"items": "none"}, Source.MEMORY),
    "tuple of items": (Answer(("not an item",)), Source.MEMORY),  # type: ignore[arg-type]
    "no tuple": (Answer([GOOD]), Source.MEMORY),  # type: ignore[arg-type]
    "wrong type": (Answer(None), Source.MEMORY),  # type: ignore[arg-type]
    "only the thread": (Answer((GOOD,), history=(TURN,)), Source.MEMORY),
    "only the thread has": (Answer(summary=HistorySummary("they spoke", 3)), Source.WIKI),
    "its summary holds": (Answer(summary=HistorySummary("\ud800", 3)), Source.THREAD),
    "a note holds": (Answer(notes=("\ud800",)), Source.MEMORY),
    "one id": (Answer((GOOD, replace(GOOD, text="Mara drinks milk."))), Source.MEMORY),
}


def refused(answer: Any, source: Source) -> str:
    with pytest.raises(Garbage) as caught:
        check(answer, source, top_k=100)
    return str(caught.value)


def test_a_good_answer_passes_as_it_is_up_to_top_k() -> None:
    items = tuple(replace(GOOD, id=f"memory:{place}", rank=place) for place in range(5))
    assert check(Answer(items), Source.MEMORY, top_k=3) == items[:3]
    assert check(Answer(), Source.WIKI, top_k=3) == ()


def test_a_bare_item_is_enough() -> None:
    bare = Item("x", Source.TOOLS, "", rank=0, relevance=0, provenance=(Ref("tool", "1"),))
    assert check(Answer((bare,)), Source.TOOLS, top_k=1) == (bare,)


def test_a_thread_may_bring_its_history_and_summary() -> None:
    answer = Answer(history=(TURN,), summary=HistorySummary("They spoke.", 3, ("turn:1",)))
    assert check(answer, Source.THREAD, top_k=1) == ()


def test_what_is_said_twice_under_one_id_passes() -> None:
    assert len(check(Answer((GOOD, GOOD)), Source.MEMORY, top_k=9)) == 2


def test_an_item_that_cannot_be_is_refused_with_a_reason() -> None:
    for reason, changes in BAD_ITEMS.items():
        answer = Answer((GOOD, replace(GOOD, **{"id": "memory:2"} | changes)))
        assert reason in refused(answer, Source.MEMORY), changes


def test_a_turn_that_cannot_be_is_refused_with_a_reason() -> None:
    for reason, changes in BAD_TURNS.items():
        answer = Answer(history=(TURN, replace(TURN, **changes)))
        assert reason in refused(answer, Source.THREAD), changes


def test_an_answer_that_cannot_be_is_refused_with_a_reason() -> None:
    for reason, (answer, source) in BAD_ANSWERS.items():
        assert reason in refused(answer, source), answer
