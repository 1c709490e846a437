"""What a sentence says of the bearer of a name."""

from __future__ import annotations

import pytest

from compiler.plan.text.bearers import BearerKind, BearerRole, are_several, is_kin_of_somebody, is_of_another, roles
from compiler.plan.text.namesakes import told_apart
from compiler.plan.text.nicknames import nicknames

SISTER = BearerRole(BearerKind.KIN, "sister")
STRANGER = BearerRole(BearerKind.STRANGER, "")
BEAST = BearerRole(BearerKind.BEAST, "")
CHILD = BearerRole(BearerKind.CHILD, "", is_label=True)


@pytest.mark.parametrize(
    ("name", "sentence", "found"),
    [
        ("Tarka", "My older sister Tarka came.", {SISTER}),
        ("Tarka", "User's sister Tarka moved.", {SISTER}),
        ("Tarka", "Tarka is my sister.", {SISTER}),
        ("Tarka", "Ihre Schwester Tarka arbeitet hier.", {SISTER}),
        ("Tarka", "A irmã da usuária, Tarka, mora longe.", {SISTER}),
        ("Tarka", "Ivo: my sister Tarka is back", {SISTER._replace(speaker="ivo")}),
        ("Tarka", "I met Sam's sister Tarka.", set()),
        ("Tarka", "My sister Tarka Moor came.", set()),
        ("Tarka", "A colleague called Tarka left.", {STRANGER}),
        ("Tarka", "Tarka the plumber left.", {BearerRole(BearerKind.STRANGER, "plumber", is_label=True)}),
        ("Tarka", "The nurse Tarka left.", {STRANGER._replace(is_label=True)}),
        ("Tarka", "The nurse Tarka likes is here.", set()),
        ("Tarka", "A vizinha Tarka saiu.", {STRANGER._replace(is_label=True)}),
        ("Tarka", "A neighbour Tarka left.", {STRANGER}),
        ("Tarka", "Tarka is a nurse.", set()),
        ("Tarka", "The neighbours' dog Tarka barks.", {BEAST}),
        ("Tarka", "Tarka from work called.", {BearerRole(BearerKind.STRANGER, "work", is_label=True)}),
        ("Tarka", "He shouted at Tarka from the office.", {BearerRole(BearerKind.STRANGER, "office", is_label=True)}),
        ("Tarka", "I fetched Tarka from the station.", set()),
        ("Tarka", "They got a puppy named Tarka from the shelter.", {BEAST}),
        ("Tarka", "Grandma Tarka fell.", {BearerRole(BearerKind.KIN, "grandmother", is_label=True)}),
        ("Tarka", "Tarka (our designer) drew it.", {BearerRole(BearerKind.STRANGER, "designer", is_label=True)}),
        ("Tarka", "Sam's Tarka limps.", {BearerRole(BearerKind.OWNED, "sam", is_label=True)}),
        ("Tarka", "It's Tarka.", set()),
        ("Tarka", "Let’s ask, that’s Tarka.", set()),
        ("Tarka", "We heard Friday's Tarka.", set()),
        ("Tarka", "The vet fed her Tarka.", {BearerRole(BearerKind.OWNED, "her", is_label=True)}),
        ("Tarka", "Zusammen mit meiner Frau Tarka.", {BearerRole(BearerKind.KIN, "wife")}),
        ("Tarka", "Frau Tarka rief an.", {STRANGER._replace(is_label=True)}),
        ("Tarka", "The day Tarka came it rained.", set()),
        ("Tarka", "En casa de la abuela Tarka.", {BearerRole(BearerKind.KIN, "grandmother", is_label=True)}),
        ("Tarka", "Sam's twins, Moor and Tarka, are two.", {CHILD}),
        ("Tarka", "Los hijos de Sam, Moor y Tarka, son altos.", {CHILD}),
        ("Tarka", "User's twins, Moor and Tarka, are two.", set()),
    ],
)
def test_sentence_tells_who_bears_a_name(name: str, sentence: str, found: set[BearerRole]) -> None:
    assert roles(name, sentence) == found


def test_roles_of_several_bearers() -> None:
    daughter = BearerRole(BearerKind.KIN, "daughter")
    assert are_several({SISTER, daughter})
    assert are_several({SISTER, STRANGER})
    assert are_several({SISTER, BEAST})
    assert are_several(
        {BearerRole(BearerKind.OWNED, "sam", is_label=True), BearerRole(BearerKind.OWNED, "ivo", is_label=True)}
    )
    assert not are_several({SISTER, daughter._replace(speaker="ivo")}), "each speaker has relatives of their own"
    assert not are_several({SISTER, STRANGER._replace(is_label=True)})


def test_label_of_another_bearer() -> None:
    office = BearerRole(BearerKind.STRANGER, "office", is_label=True)
    assert is_of_another({office}, {SISTER})
    assert not is_of_another({office}, {STRANGER})
    assert not is_of_another(
        {BearerRole(BearerKind.KIN, "grandmother", is_label=True)}, {BearerRole(BearerKind.KIN, "mother")}
    )
    assert is_of_another(
        {BearerRole(BearerKind.KIN, "grandmother", is_label=True)}, {BearerRole(BearerKind.KIN, "daughter")}
    )
    grandmother = BearerRole(BearerKind.KIN, "grandmother", is_label=True, speaker="ivo")
    daughter = BearerRole(BearerKind.KIN, "daughter", speaker="mia")
    assert not is_of_another({grandmother}, {daughter}), "each speaker has relatives of their own"
    assert is_of_another({grandmother}, {daughter._replace(speaker="ivo")})
    assert is_of_another({CHILD}, {BearerRole(BearerKind.KIN, "son")})
    assert not is_of_another({CHILD}, {SISTER})


def test_relative_of_somebody() -> None:
    assert is_kin_of_somebody("Tarka", "Tarka es la esposa de Ramiro.")
    assert is_kin_of_somebody("Tarka", "La esposa de Ramiro, Tarka, canta.")
    assert is_kin_of_somebody("Tarka", "Sam's wife Tarka sings.")
    assert not is_kin_of_somebody("Tarka", "Tarka met my wife.")


@pytest.mark.parametrize(
    "text",
    [
        "My host is also a Tarka, Tarka Moor.",
        "My aunt is also called Tarka.",
        "Le fils de Luc s'appelle Tarka aussi.",
        "Mein Hund heißt auch Tarka.",
        "The physio is Tarka too, Tarka Moor.",
    ],
)
def test_namesake_is_told_apart(text: str) -> None:
    assert told_apart(text) == {"tarka"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Sparrow was renamed to Project Kestrel.", {("Sparrow", "Project Kestrel")}),
        ("We renamed Sparrow to Kestrel.", {("Sparrow", "Kestrel")}),
        ("Sparrow Coffee is now called Kestrel.", {("Sparrow Coffee", "Kestrel")}),
        ("Sparrow heißt jetzt Kestrel.", {("Sparrow", "Kestrel")}),
        ("Sparrow ahora se llama Kestrel.", {("Sparrow", "Kestrel")}),
        ("We renamed Sparrow to Kestrel as a joke.", set()),
        ("Nobody renamed Sparrow to Kestrel.", set()),
        ("Sparrow was nearly renamed. Iva suggested that Sparrow is renamed to Kestrel.", set()),
        ("Was Sparrow renamed to Kestrel?", set()),
        ("It was not easy. Sparrow was renamed to Kestrel.", {("Sparrow", "Kestrel")}),
        ("Ana renamed the file.", set()),
    ],
)
def test_former_name_stands_for_the_present_one(text: str, found: set[tuple[str, str]]) -> None:
    assert set(nicknames(text)) == found


def test_longer_name_before_the_same_name_is_no_namesake() -> None:
    assert not told_apart("Mount Tarka is also called Tarka.")
    assert told_apart("Tarka knows a boat that is also called Tarka.") == {"tarka"}
