"""Questions to a conversation with pronouns instead of names, each after an exchange about something near."""

from __future__ import annotations

import random
from datetime import UTC, datetime

from bench.recall.cases import Conversation, Question, Turn
from bench.training.pronouns import drawn, without_names

DAY = datetime(2026, 5, 1, tzinfo=UTC)
TURNS = tuple(Turn(str(place), ("Ana", "Ben Ruiz")[place % 2], f"turn {place}", DAY, DAY) for place in range(100))


def test_names_give_way_to_pronouns_and_parts_of_words_do_not() -> None:
    text = "Did Ben Ruiz like Ana's banana, or was Ben tired of Analog film?"
    assert without_names(text, ["Ana", "Ben Ruiz"]) == "Did he like her banana, or was he tired of Analog film?"


def test_a_question_is_drawn_with_one_whose_evidence_is_near_but_not_the_same() -> None:
    near, same, far = (Question(f"What did Ana do at {at}?", 1, (at,)) for at in (20, 10, 90))
    asked = Question("Where was Ana?", 1, (10,))
    conversation = Conversation("talk", TURNS, (), (asked, near, same, far))
    told = {one.text: one for one in drawn(conversation, 10, random.Random(1))}
    assert told["Where was she?"].before == (near.text, "turn 20")
    assert "What did she do at 90?" not in told, "no other question has its evidence near"


def test_a_question_without_a_name_is_not_drawn() -> None:
    questions = tuple(Question(f"What happened at {at}?", 1, (at,)) for at in (1, 2))
    assert drawn(Conversation("talk", TURNS, (), questions), 10, random.Random(1)) == []
