"""What is kept out before it is read, and where sentences end."""

from __future__ import annotations

import re

import pytest

from compiler.plan.intake import Dropped, IntakeRules, sift
from compiler.plan.text.sentences import sentences
from tests.support.compiler.plan_cases import at, memory


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (" \n… !!", "empty"),
        ("ok", "fragment"),
        ("and then the", "empty"),
        ("Uchi and", "fragment"),
        ("The assistant asked whether to continue.", "self_reference"),
        ("As an AI language model I cannot do that.", "self_reference"),
        ("How can I help you today?", "self_reference"),
    ],
)
def test_noise_is_rejected_with_its_reason(text: str, reason: str) -> None:
    kept, dropped = sift([memory("m1", text)])
    assert kept == ()
    assert dropped == (Dropped("m1", reason),)


@pytest.mark.parametrize("text", ["Uchi opened in 2003.", "東京に行った", "Rent: 1,350 euros", "Maria hates olives"])
def test_meaningful_memory_is_kept(text: str) -> None:
    assert sift([memory("m1", text)])[1] == ()


@pytest.mark.parametrize(("words", "is_kept"), [(37, False), (38, True)])
def test_forty_words_beside_the_assistants_are_meaningful(words: int, *, is_kept: bool) -> None:
    told = memory("m1", " ".join(["The assistant thanked Maria:", *(f"fact{at}" for at in range(words - 1))]))
    assert bool(sift([told])[0]) is is_kept


def test_a_short_memory_of_a_place_is_kept() -> None:
    assert sift([memory("m1", "Lunch", at("Uchi", "Austin"))])[1] == ()


def test_intake_rules_can_be_disabled_and_added() -> None:
    told = memory("m1", "The assistant thanked Maria for the old map.")
    assert sift([told])[1] == (Dropped("m1", "self_reference"),)
    assert sift([told], rules=IntakeRules(drop_self_reference=False))[1] == ()
    noisy = IntakeRules(patterns=(re.compile("heartbeat"),))
    assert sift([memory("m2", "Heartbeat number five was fine.")], rules=noisy)[1] == (Dropped("m2", "pattern"),)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dr. Baptista did it. It took 3.5 hours!", ["Dr. Baptista did it.", "It took 3.5 hours!"]),
        ("Met J. Smith at 9 p.m. in Rua Augusta. Then home.", ["Met J. Smith at 9 p.m. in Rua Augusta.", "Then home."]),
        ("寿司を食べた。美味しかった。", ["寿司を食べた。", "美味しかった。"]),
        ("one\ntwo\n\nthree", ["one", "two", "three"]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
    ],
)
def test_sentences_end_as_a_reader_would_end_them(text: str, expected: list[str]) -> None:
    assert list(sentences(text)) == expected
