"""The line that a page opens with: the sentence that says who or what its subject is."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from compiler.plan.quoting.openings import opening, opening_line
from tests.support.compiler.plan_cases import START, memory


@pytest.mark.parametrize(
    ("name", "defining", "others"),
    [
        (
            "Bruno",
            "Bruno is my barber.",
            ("Bruno cuts hair until seven on Fridays.", "I love chatting with Bruno about old films."),
        ),
        (
            "Bruno",
            "I see Bruno, my barber, every month.",
            ("Bruno is closed on Mondays.", "Bruno left for Crete for two weeks."),
        ),
        ("Bruno", "Talked to Bruno, who is our new caretaker.", ("Bruno was the only one awake.",)),
        ("Bruno", "The caretaker is called Bruno and has a red van.", ("Note of 3 May: Bruno lost the keys again.",)),
        ("Bruno", "Our caretaker, Bruno, fixed the gate.", ("Bruno is the reason that we are late.",)),
        ("Bruno", "Bruno works as a caretaker at the school.", ("Bruno is allergic to wasps.",)),
        ("Olga", "Mi podóloga se llama Olga y atiende los martes.", ("Olga dice que ande descalza.",)),
        ("Olga", "Cené con Olga, una ingeniera de Vigo.", ("Olga se muda a Praga por trabajo.",)),
        ("Olga", "Mi primo vive en Praga con su mujer Olga.", ("Olga hornea un pan increíble.",)),
        ("Olga", "A nossa parteira chama-se Olga.", ("Olga estava doente em janeiro, na cozinha.",)),
        ("Olga", "Vera empieza clases de violín con la profesora Olga.", ("Olga cobra veinte euros por media hora.",)),
        ("Olga", "Olga from the tax office wants the list.", ("Olga was here on Monday for the audit.",)),
        ("Olga", "Meine Hebamme heißt Olga.", ("Olga kommt am Dienstag wieder.",)),
        ("Olga", "Olga è la mia vicina.", ("Olga ha chiuso il negozio in agosto.",)),
    ],
)
def test_page_opens_with_what_its_subject_is(name: str, defining: str, others: tuple[str, ...]) -> None:
    every = (defining, *others)
    later = {said: START + timedelta(days=at) for at, said in enumerate(every)}
    earlier = {said: START - timedelta(days=at) for at, said in enumerate(every)}
    for times in (later, earlier):
        assert opening(every, {name.lower()}, times) == defining


def test_clause_about_another_is_no_part_of_an_opening() -> None:
    seen = memory("m1", "Adler takes the cards; Strix is only used in Chile.")
    assert opening_line([(seen, (seen.text,))], {"strix"}) == ("Strix is only used in Chile.", seen)
    assert opening_line([(seen, (seen.text,))], {"adler"}) == (seen.text, seen)
    told = memory("m2", "Sara is a baker and Tim is a nurse.")
    assert opening_line([(told, (told.text,))], {"tim"})[0] == "Tim is a nurse."


def test_theme_opens_with_what_is_told_and_not_with_what_somebody_says_of_it() -> None:
    said = ("Olga says no swimming for two weeks.", "We swim on Mondays before work.")
    assert opening(said, {"swimming"}) == said[1]


def test_theme_opens_with_what_a_person_likes_about_it_and_not_with_what_else_they_like() -> None:
    away = "Iris: I loved the old arcade machine that we had in the yard when we still kept two cats."
    assert opening((away, "Iris: I enjoy how our cats sleep on the stove."), {"cats"}).endswith("sleep on the stove.")


def test_name_opens_with_what_a_speaker_has_of_it_and_not_with_a_longer_name_or_a_denial() -> None:
    own = "Iris: I plan to climb the Wawel on Friday morning."
    longer = "The Wawel Museum is also worth a visit for the treasures of the Wawel."
    assert opening((longer, own), {"wawel"}) == own
    assert opening(("There is no place in this world called Wawel.", own), {"wawel"}) == own
    assert opening(("Iris: I think it was: Wawel, Mostek, Kazia and Lidka", own), {"wawel"}) == own


def test_change_of_another_thing_is_not_newer_than_what_is_said_of_the_subject() -> None:
    told, elsewhere = "The Kestrel plan has nine steps.", "We now book the hall for the end of the Kestrel plan."
    times = {told: datetime(2026, 1, 1, tzinfo=UTC), elsewhere: datetime(2026, 5, 1, tzinfo=UTC)}
    assert opening((told, elsewhere), {"kestrel"}, times) == told


def test_the_end_of_what_somebody_was_opens_the_page() -> None:
    said = ("Bruno is our caretaker.", "Bruno no longer works here.")
    times = {said[0]: START, said[1]: START + timedelta(days=1)}
    assert opening(said, {"bruno"}, times) == said[1]
