"""Texts of the day that a message asks for: how relevant and how like the message they are."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

import numpy as np

from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.fitting.fitting import fit
from sidecar.turn.items import Source, SourceReport, Status
from sidecar.turn.message.reading import Reading, message_reading, read
from sidecar.turn.ranking.days import (
    OF_DAY,
    likeness_of_day,
    of_days,
    relevances_of_days,
    stand_on_days,
    worth_of_days,
)
from sidecar.turn.ranking.judging import judge
from sidecar.turn.ranking.rank import Ranked
from sidecar.turn.ranking.worth import RULES, Spend, worths
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, an_item, kept_ids

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


def test_long_texts_of_the_asked_day_are_just_worth_their_tokens() -> None:
    question, rule = asking("What happened yesterday?"), RULES[Spend.BALANCED]
    long = replace(texts(*DAYS), texts=["word " * 200, "word " * 200, "word " * 4_000])
    ranked = of_days(replace(RANKED, held=(0.04, 0.04, 0.04)), question, [long])
    for asks in (0.2, 0.53, 1.0):
        worthy = worth_of_days(ranked, question, [long], asks)
        values = worths(worthy.relevances, [f"assistant: {text}" for text in long.texts], worthy.held)
        assert all(1.1 * rule.least_worth > asks * values[place] >= rule.least_worth for place in (0, 2))
        assert (worthy.relevances, worthy.held[1]) == (ranked.relevances, 0.04)
    assert worth_of_days(ranked, question, [long], 0.1) is ranked
    assert worth_of_days(ranked, replace(question, personal=0.9), [long], 1.0) is ranked
    sure = replace(ranked, held=(1.0, 1.0, 1.0))
    assert worth_of_days(sure, question, [long], 1.0).held == [1.0, 1.0, 1.0]


def test_long_turns_of_the_asked_day_are_recalled_though_nothing_is_like_the_question() -> None:
    said = [an_item(f"t{place}", f"word{place} " * 150, Source.THREAD, relevance=0.0) for place in range(3)]
    evidence = of_shares([0.0] * 3, parts=1)._replace(cosine=np.full((1, 3), 0.05))
    ids, lines = [item.id for item in said], [item.text for item in said]
    found = Candidates(CandidateKind.TURN, ids, lines, evidence, days=DAYS)
    question = replace(asking("What did I say yesterday?"), has_vector=True)
    judged = judge([SourceReport(Source.THREAD, Status.OK, tuple(said), candidates=found)], question)
    reading = message_reading(question, judged.prospects)
    result = fit(a_fitting(profile=a_profile(spend="balanced"), reports=judged.reports, reading=reading), METER)
    assert {*kept_ids(result)} == {"t0", "t2"}


def test_message_that_asks_for_no_day_raises_nothing() -> None:
    for question in (
        asking("That happened yesterday.", score=-1.0),
        asking("Who lent me the blue ladder in the garden?"),
    ):
        assert of_days(RANKED, question, [texts(*DAYS)]) is RANKED
        assert relevances_of_days(RANKED, question, [texts(*DAYS)]) == []


def test_memory_of_the_day_is_like_a_question_about_ones_own_life_only() -> None:
    question = asking("What happened yesterday?")
    assert likeness_of_day(replace(question, personal=5.0)) > 0 > likeness_of_day(replace(question, personal=-1.0))
