"""Texts of the day that a message asks for: how relevant and how like the message they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.message.reading import Reading, read
from sidecar.turn.ranking.days import OF_DAY, likeness_of_day, of_days, relevances_of_days, stand_on_days
from sidecar.turn.ranking.rank import Ranked

TODAY = date(2026, 10, 14)
DAYS = (date(2026, 10, 13), date(2026, 10, 12), date(2026, 10, 13))
RANKED = Ranked(relevances=(0.0, 0.4, 0.2), values=((), (), ()), held=(1.0, 1.0, 1.0))


def texts(*days: date) -> Candidates:
    ids = [f"m{place}" for place in range(3)]
    return Candidates(CandidateKind.FACT, ids, ["x"] * 3, of_shares([0.0] * 3, parts=1), days=days)


def asking(message: str, score: float = 1.0) -> Reading:
    return replace(read(message, today=TODAY), score=score)


def test_texts_of_the_asked_day_are_raised_in_their_order_and_others_stay() -> None:
    question = asking("What happened yesterday?")
    assert stand_on_days(question, [texts(*DAYS)]).tolist() == [1, 0, 1]
    raised = of_days(RANKED, question, [texts(*DAYS)])
    assert raised.relevances[0] == OF_DAY < raised.relevances[2] < raised.relevances[1] == 0.4
    assert relevances_of_days(raised, question, [texts(*DAYS)]) == [0.5, 0.5]
    assert stand_on_days(question, [texts(), texts(*DAYS)]).tolist() == [0, 0, 0, 1, 0, 1]


def test_message_that_asks_for_no_day_raises_nothing() -> None:
    for question in (
        asking("What happened yesterday?", score=-1.0),
        asking("Who lent me the blue ladder in the garden?"),
    ):
        assert of_days(RANKED, question, [texts(*DAYS)]) is RANKED
        assert relevances_of_days(RANKED, question, [texts(*DAYS)]) == []


def test_memory_of_the_day_is_like_a_question_about_ones_own_life_only() -> None:
    question = asking("What happened yesterday?")
    assert likeness_of_day(replace(question, personal=5.0)) > 0 > likeness_of_day(replace(question, personal=-1.0))
