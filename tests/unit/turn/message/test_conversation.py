"""A message is read in its conversation: its thread's words and vectors, and how far it leans on them."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import Evidence, evidence_of
from sidecar.turn.message.conversation import MOST_TURNS, in_thread, vector_in_thread
from sidecar.turn.message.leaning import may_lean
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.rank import rank
from store.content.recalling import MAX_PARTS, MAX_WORDS, EarlierTurn, Recalled, RecallQuery

TODAY = date(2026, 5, 4)
TALK = (
    EarlierTurn(1, "user", "Who painted the frescoes of the Arena chapel?"),
    EarlierTurn(2, "assistant", "Giotto di Bondone painted them around 1305, for Enrico Scrovegni."),
    EarlierTurn(3, "user", "And the altar?"),
    EarlierTurn(4, "assistant", "Giovanni Pisano carved the marble figures on it."),
)


def asked(message: str) -> Reading:
    return read(message, today=TODAY)


@pytest.mark.parametrize(
    "message",
    [
        "Why?",
        "And the second one?",
        "What about her brother?",
        "Did he have a lot of fans?",
        "Und warum?",
        "E depois?",
        "¿Y ella?",
        "what else",
    ],
)
def test_an_elliptical_message_may_lean_on_its_thread(message: str) -> None:
    assert may_lean(asked(message))


@pytest.mark.parametrize(
    "message",
    [
        "Who painted the frescoes of the Arena chapel in Padua?",
        "When did Caroline start her pottery class at the community center?",
        "Welche Versicherung habe ich für das Auto in München abgeschlossen?",
        "Quanto paguei pelo jantar no restaurante Suerte em Austin?",
    ],
)
def test_message_that_names_its_subject_does_not_lean(message: str) -> None:
    assert not may_lean(asked(message))


def test_small_numbers_of_the_talk_are_not_searched_for_but_years_and_names_are() -> None:
    talk = (EarlierTurn(1, "user", "In 1994 we walked 12 miles to K2 with 3 guides."),)
    thread = in_thread(asked("And then?"), talk).thread
    assert thread is not None
    assert {"1994", "k2"} <= thread.weights.keys()
    assert {"12", "3"}.isdisjoint(thread.weights)


def test_in_its_thread_a_message_is_one_more_part_with_words_that_were_said() -> None:
    alone = asked("Why did he?")
    reading = in_thread(alone, TALK)
    assert reading.thread is not None
    assert reading.own_parts == alone.parts
    assert reading.words == alone.words, "what is said of the message itself does not change"
    assert {"giotto", "pisano", "scrovegni", "chapel"} <= reading.thread.weights.keys()
    assert set(reading.parts[-1].words) == {*alone.words, *reading.thread.weights}
    weights = reading.thread.weights
    assert weights["altar"] > weights["pisano"] > weights["giotto"], "a user's word and a newer one weigh more"
    assert all(0 < weight < 1 for weight in weights.values())


def test_the_reading_is_bounded_however_long_the_thread() -> None:
    said = " ".join(f"word{number}" for number in range(500))
    turns = [EarlierTurn(place + 1, ("user", "assistant")[place % 2], said) for place in range(MOST_TURNS)]
    reading = in_thread(asked(" ".join(f"own{number}" for number in range(60))), turns)
    assert reading.thread is not None
    assert len(reading.words) + len(reading.thread.weights) <= MAX_WORDS
    full = asked("What is red? What is blue? What is green?")
    assert len(full.parts) == MAX_PARTS
    assert in_thread(full, TALK) is full, "the message's own parts are never dropped for it"
    assert in_thread(asked("Why?"), ()).thread is None


def test_vector_in_a_thread_moves_towards_its_turns_and_most_to_the_newest() -> None:
    own, east, north = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
    turns = (EarlierTurn(1, "user", "a"), EarlierTurn(2, "assistant", "b"), EarlierTurn(3, "user", "c"))
    there = vector_in_thread(own, turns, [east, None, north])
    assert np.linalg.norm(there) == pytest.approx(1)
    assert there[0] > there[2] > there[1] > 0
    assert vector_in_thread(own, turns, [None, None, None]).tolist() == own


def test_words_of_the_thread_weigh_less_than_the_message_and_only_where_they_are_rare() -> None:
    found = Recalled(("own", "said", "common"), (0b001, 0b010, 0b100), ((), (), ()), (2, 2, 900), 1000)
    reading = in_thread(asked("x"), [EarlierTurn(1, "user", "rare common")])
    query = RecallQuery(("x", "rare", "common"), 10, weights=(1.0, 0.5, 0.5))
    evidence = evidence_of(found, query, reading.parts)
    assert evidence.coverage[0].tolist() == [1, 0, 0]
    own, said, common = evidence.coverage[1].tolist()
    assert own > said > common == 0


def told_by(own: tuple[float, ...], there: tuple[float, ...]) -> Candidates:
    """Return candidates that hold so much of the words and the meaning of the message, and of the message in its thread."""
    share, nothing = np.array([own, there]), np.zeros((2, len(own)))
    ids = [str(place) for place in range(len(own))]
    evidence = Evidence(share, share, share, share, nothing, share, nothing)
    return Candidates(CandidateKind.PASSAGE, ids, ["text"] * len(ids), evidence)


def test_a_message_that_leans_is_judged_in_its_thread() -> None:
    told = rank(in_thread(asked("Why did he?"), TALK), [told_by((0.3, 0.1), (0.2, 0.7))])
    assert told.leaning == 1
    assert told.relevances[1] > told.relevances[0]


def test_message_that_does_not_lean_is_judged_as_without_a_thread() -> None:
    whole = asked("When did Caroline start her pottery class at the community center in Denver?")
    told = rank(in_thread(whole, TALK), [told_by((0.9, 0.1), (0.5, 0.6))])
    assert told.leaning == 0
    alone = told_by((0.9, 0.1), (0.9, 0.1))
    assert told.relevances == rank(in_thread(whole, TALK), [alone]).relevances


def test_the_same_thread_gives_the_same_reading() -> None:
    one, other = (in_thread(asked("And why?"), TALK) for _ in range(2))
    assert one == other
    assert list(one.thread.weights) == list(other.thread.weights)  # type: ignore[union-attr]  # both were read in it
