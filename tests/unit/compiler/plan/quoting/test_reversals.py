"""Which later decisions take an earlier one back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from compiler.plan.contract import CitedMemory, Page, PageKey, PageType
from compiler.plan.quoting.reversals import reversals
from compiler.plan.text.markdown import slug
from tests.support.compiler.plan_cases import START

TIMES = {f"m{day}": START + timedelta(days=day) for day in range(3)}


def decision(title: str, said: str, *, day: int) -> Page:
    return Page(PageKey(PageType.DECISION, slug(title)), title, said, (CitedMemory(f"m{day}", b""),))


def taken_back(*decisions: Page) -> dict[str, list[str]]:
    found = {page.title: [one.title for one in later] for page, later in reversals(decisions, TIMES)}
    assert found == {page.title: [one.title for one in later] for page, later in reversals(decisions[::-1], TIMES)}
    return found


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("Rent the red boat in June", "We decided to rent the red boat in June."), "We gave up the red boat."),
        (("Move to Vigo in June", "I decided to move to Vigo in June."), "Reversed: I am not moving to Vigo."),
        (
            ("Das rote Boot mieten", "Wir haben beschlossen, das rote Boot zu mieten."),
            "Das rote Boot mieten wir nicht.",
        ),
        (("Alugar o barco vermelho", "Decidimos alugar o barco vermelho."), "Desistimos do barco vermelho."),
        (("Alquilar el barco rojo", "Decidimos alquilar el barco rojo."), "Descartamos el barco rojo."),
        (("Run for office", "Vera decided to run for office."), "Vera decided not to run for office again."),
    ],
)
def test_later_decision_takes_back_what_its_words_are_of(before: tuple[str, str], after: str) -> None:
    assert taken_back(decision(*before, day=0), decision("The later one", after, day=1)) == {
        before[0]: ["The later one"]
    }


@pytest.mark.parametrize(
    "after",
    [
        "We decided to rent the red boat in June for two weeks.",
        "We gave up the lease of the shed.",
        "We gave up the red car.",
        "Olga: I gave up the red boat.",
    ],
)
def test_other_decisions_take_nothing_back(after: str) -> None:
    before = decision("Rent the red boat in June", "We decided to rent the red boat in June.", day=1)
    assert taken_back(before, decision("The other one", after, day=2)) == {}


def test_earlier_decision_takes_nothing_back() -> None:
    before = decision("Rent the red boat in June", "We decided to rent the red boat in June.", day=1)
    assert taken_back(before, decision("The other one", "We gave up the red boat.", day=0)) == {}
