"""Whether what was found holds an answer at all, however few texts there are."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest

from sidecar.turn.evidence import unknown_words
from sidecar.turn.fitted.calibration import HOLDS
from sidecar.turn.message.reading import read
from sidecar.turn.ranking.holding import KindMatch, holding_features, holdings
from store.content.recalling import Recalled, RecallQuery

DAY = date(2026, 5, 1)
MATCHES = ((-1.0, 0.6, 0.6), (-5.0, 0.2, 0.1))


def told(best: float, cosine: float, *, has_unknown_name: bool = False, texts: int = 1) -> dict[str, float]:
    match = KindMatch(np.full(texts, best), np.full(texts, cosine), np.zeros(texts))
    return holding_features(match, match, has_unknown_name=has_unknown_name, leaning=0.0)


@pytest.mark.parametrize("kind", ["turn", "fact", "passage"])
def test_better_evidence_makes_an_answer_likelier_and_a_name_never_said_less(kind: str) -> None:
    good, poor, unknown = (
        holdings({kind: features}, HOLDS)[kind]
        for features in (told(0.0, 0.6), told(-6.0, 0.2), told(0.0, 0.6, has_unknown_name=True))
    )
    assert 1 >= good > poor >= 0
    assert good > unknown


@pytest.mark.parametrize("kind", ["turn", "fact", "passage"])
def test_texts_that_match_only_the_thread_of_a_message_hold_its_answer_less_likely(kind: str) -> None:
    near, far = (KindMatch(np.array([odds]), np.array([cosine]), np.array([share])) for odds, cosine, share in MATCHES)
    leaning = [holding_features(near, alone, has_unknown_name=False, leaning=1.0) for alone in (near, far)]
    both, thread_only = (holdings({kind: features}, HOLDS)[kind] for features in leaning)
    assert both > thread_only


def test_the_number_of_texts_alone_changes_nothing() -> None:
    assert told(-2.0, 0.4) == told(-2.0, 0.4, texts=50)


def test_pages_have_the_holding_of_the_facts_that_they_repeat() -> None:
    facts, pages = told(-6.0, 0.2), told(0.0, 0.6)
    both = holdings({"page": pages, "fact": facts}, HOLDS)
    assert both["page"] == both["fact"] == holdings({"fact": facts}, HOLDS)["fact"] < 0.5
    assert holdings({"page": pages}, HOLDS) == {"page": 1.0}


def test_words_that_no_text_holds_are_unknown() -> None:
    found = Recalled(texts=("a",), matched=(1,), cosines=((),), frequencies=(3, 0), total=9)
    assert unknown_words(found, RecallQuery(("lisbon", "melanie"), 9)) == {"melanie"}
    assert unknown_words(Recalled(), RecallQuery(("lisbon",), 9)) == frozenset()


def test_names_are_capitals_inside_a_sentence_but_for_speakers_and_german() -> None:
    assert read("What did Melanie's brother tell Rui in Porto?", speakers=["Rui"], today=DAY).names == (
        ("melanie",),
        ("porto",),
    )
    assert read("where is my key", today=DAY).names == ()
    assert read("Wo ist mein Schlüssel?", today=DAY).names == ()
    (spellings,) = read("Who is José?", today=DAY).names
    assert "jose" in spellings
