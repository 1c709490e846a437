"""Sensitive memories must be more like the question than ordinary ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from models.embedding.minilm import MiniLM
from models.embedding.vector_parts import MINILM
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.items import Item, Ref, Source, SourceReport, Status
from sidecar.turn.message.reading import InThread, Reading, read
from sidecar.turn.ranking.judging import Judged, judge, with_lenience
from sidecar.turn.ranking.rank import Ranked
from sidecar.turn.ranking.sensitivity import MOST_LENIENT, SENSITIVITY, lenience

BIAS = SENSITIVITY[MINILM].bias
READING = replace(
    read("Which day do we deploy?", today=date(2026, 3, 1)), background=(0.2,), has_vector=True, personal=-1.0
)


def judged(sensitivity: Sequence[float | None], reading: Reading = READING) -> Judged:
    items = tuple(
        Item(f"{place}", Source.MEMORY, f"text {place}", place, 0.5, provenance=(Ref("memory", f"{place}"),))
        for place in range(3)
    )
    evidence = of_shares([0.0] * 3, parts=1)._replace(cosine=np.array([[0.3, 0.3, 0.3]]))
    ids = [item.id for item in items]
    candidates = Candidates(CandidateKind.FACT, ids, ids, evidence, sensitivity=sensitivity)
    return judge([SourceReport(Source.MEMORY, Status.OK, items, candidates=candidates)], reading)


def likenesses(found: Judged) -> list[float]:
    items = sorted(found.reports[0].items, key=lambda item: item.id)
    return [item.features.likeness for item in items if item.features and item.features.likeness is not None]


def test_the_less_sensitive_a_memory_is_the_less_like_the_question_it_need_be() -> None:
    odds = (-40.0, -3.0, -1.0, 0.0, 1.0, 3.0, 40.0)
    told = lenience([one - BIAS for one in odds], 0.3, MINILM).tolist()
    assert told == sorted(told, reverse=True)
    assert told[0] == pytest.approx(MOST_LENIENT, abs=1e-6)
    assert told[-1] == pytest.approx(-0.01, abs=1e-6)
    assert lenience([None, 40.0], 0.3, MINILM).tolist()[0] == 0.0, "unknown"


def test_questions_about_the_users_own_life_need_little_lenience() -> None:
    told = [lenience([-40.0, 40.0], aloof, MINILM).round(6).tolist() for aloof in (0.0, 0.02, 0.1, 9.0)]
    assert told == [[0.03, -0.01], [0.06, -0.01], [0.18, -0.01], [0.2, -0.01]]


def test_messages_that_lean_on_their_thread_get_as_much_as_their_likeness_lost() -> None:
    part = READING.parts[0]
    thread = InThread({"deploy": 0.5}, first_position=1, repeated=0.0)
    reading = replace(READING, parts=(part, part), background=(0.2, 0.2), thread=thread)
    ranked = Ranked([0.5] * 3, leaning=1.0)
    candidates = Candidates(CandidateKind.FACT, ["a", "b", "c"], ["a", "b", "c"], of_shares([0.0] * 3, parts=2))
    told = with_lenience([0.1, 0.1, None], ranked, reading, [replace(candidates, sensitivity=[-40.0, 40.0, -40.0])])
    assert told == [0.22, 0.09, None]


def test_likenesses_say_how_sensitive_a_memory_is() -> None:
    plain = likenesses(judged(()))
    assert len(set(plain)) == 1
    told = likenesses(judged([-40.0, None, 40.0]))
    assert [round(one - plain[0], 4) for one in told] == [0.2, 0.0, -0.01]


def test_vectors_are_not_used_in_a_language_that_the_embedder_does_not_know() -> None:
    plain, told = (likenesses(judged(sensitivity, replace(READING, blind=1.0))) for sensitivity in ((), (-40.0,) * 3))
    assert told == plain


def test_whether_a_message_asks_does_not_depend_on_how_sensitive_memories_are() -> None:
    assert judged(()).prospects == judged([-40.0, None, 40.0]).prospects


def test_notes_of_work_are_distinguished_from_private_ones() -> None:
    sensitive = (
        "User's HIV test came back positive.",
        "I owe my brother 12,000 and my wife doesn't know.",
        "She is having an affair with her tennis coach.",
        "He was arrested for drunk driving in May.",
    )
    ordinary = (
        "Deploys happen on Tuesdays from the main branch.",
        "Orla at Fennick Foods wants her invoices quarterly.",
        "User prefers window seats on long flights.",
        "The retrospective moved to Thursdays at ten.",
    )
    bias, probe = SENSITIVITY[MINILM]
    odds = MiniLM().encode([*sensitive, *ordinary]) @ np.array(probe) + bias
    assert min(odds[:4]) > 1
    assert max(odds[4:]) < -1
