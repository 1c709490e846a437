"""The rules that read typed edges from plain statements."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from compiler.plan.edge_types import EDGE_TYPES, first_moment
from compiler.plan.edges.statements import may_state, statements

PEOPLE = frozenset({"Maria", "Tom Ortega"})
NAMES = ("Maria", "Tom Ortega", "Helios Labs", "Lisbon", "Café Luz", "Rex", "Blue River", "Tagus Choir")

STATED = [
    ("Maria works at Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("My friend Tom Ortega is a senior engineer at Helios Labs.", ("Tom Ortega", "works_at", "Helios Labs")),
    ("She moved, and Maria is now employed by Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("Café Luz is located in Lisbon.", ("Café Luz", "located_in", "Lisbon")),
    ("Café Luz is a tiny bakery in Lisbon.", ("Café Luz", "located_in", "Lisbon")),
    ("We went to Café Luz, a restaurant in Lisbon.", None),
    ("Rex belongs to Maria.", ("Maria", "owns", "Rex")),
    ("Rex is Maria's dog.", ("Maria", "owns", "Rex")),
    ("Maria belongs to the Tagus Choir.", ("Maria", "member_of", "Tagus Choir")),
    ("Maria is a founding member of the Tagus Choir.", ("Maria", "member_of", "Tagus Choir")),
    ("Tom Ortega owns Café Luz.", ("Tom Ortega", "owns", "Café Luz")),
    ("Café Luz is owned by Tom Ortega.", ("Tom Ortega", "owns", "Café Luz")),
    ("Maria wrote the novel “Blue River”.", ("Maria", "authored", "Blue River")),
    ("Blue River was written by Maria.", ("Maria", "authored", "Blue River")),
    ("Maria is married to Tom Ortega.", ("Maria", "married_to", "Tom Ortega")),
    ("Maria's husband is Tom Ortega.", ("Maria", "married_to", "Tom Ortega")),
    ("Maria trabaja en Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("A Maria trabalha na Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("Maria arbeitet bei Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("Maria travaille chez Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("Maria lavora per Helios Labs.", ("Maria", "works_at", "Helios Labs")),
    ("Café Luz fica em Lisbon.", ("Café Luz", "located_in", "Lisbon")),
    ("Das Café Luz liegt in Lisbon.", ("Café Luz", "located_in", "Lisbon")),
    ("Maria est mariée à Tom Ortega.", ("Maria", "married_to", "Tom Ortega")),
    ("Maria ha scritto Blue River.", ("Maria", "authored", "Blue River")),
    ("Rex gehört Maria.", ("Maria", "owns", "Rex")),
    ("Café Luz está localizada em Lisbon.", ("Café Luz", "located_in", "Lisbon")),
    ("Café Luz situa-se em Lisbon.", ("Café Luz", "located_in", "Lisbon")),
    ("Maria wrote the novel The Blue River.", ("Maria", "authored", "Blue River")),
]
SILENT = [
    "Does Maria work at Helios Labs?",
    "Maria works at Helios Labs, doesn't she?",
    "Maria doesn't work at Helios Labs.",
    "If Maria works at Helios Labs, we meet there.",
    "Maybe Maria works at Helios Labs.",
    "The brother of Maria works at Helios Labs.",
    "Maria's brother works at Helios Labs.",
    "Maria met someone who works at Helios Labs.",
    "Maria works at Helios Labs' rival.",
    "Maria works at Lisbon Docks.",
    "Maria wrote Tom Ortega a letter.",
    "Maria and Helios Labs are in Lisbon.",
    "Rex belongs to Helios Labs.",
    "Maria is in Lisbon.",
    "Maria works at Helios Labs or Blue River.",
    "",
]


@pytest.mark.parametrize(("text", "edge"), STATED, ids=[text for text, _ in STATED])
def test_plain_statement_gives_its_edge_in_the_right_direction(text: str, edge: tuple[str, str, str] | None) -> None:
    found = [(one.subject, one.type, one.object) for one in statements(text, NAMES, people=PEOPLE)]
    assert found == ([edge] if edge else [])
    assert may_state(text)


@pytest.mark.parametrize("text", SILENT)
def test_question_doubt_negation_or_neighbourhood_states_nothing(text: str) -> None:
    assert list(statements(text, NAMES, people=PEOPLE)) == []


def test_speaker_states_edges_of_himself() -> None:
    text = "I'm a nurse at Helios Labs. My husband Tom Ortega cooks."
    found = [(one.subject, one.type, one.object) for one in statements(text, NAMES, speaker="Maria")]
    assert found == [("Maria", "works_at", "Helios Labs"), ("Maria", "married_to", "Tom Ortega")]
    assert list(statements(text, NAMES)) == []


@pytest.mark.parametrize(
    ("text", "since", "until", "is_past"),
    [
        ("Maria works at Helios Labs since May 2021.", datetime(2021, 5, 1, tzinfo=UTC), None, False),
        ("Maria works at Helios Labs since 2021.", datetime(2021, 1, 1, tzinfo=UTC), None, False),
        ("Maria works at Helios Labs since Q3 2024.", datetime(2024, 7, 1, tzinfo=UTC), None, False),
        ("Maria works at Helios Labs since 2024-Q3.", datetime(2024, 7, 1, tzinfo=UTC), None, False),
        ("Maria works at Helios Labs since the third quarter of 2024.", datetime(2024, 7, 1, tzinfo=UTC), None, False),
        ("Maria arbeitet bei Helios Labs seit dem 3. Quartal 2024.", datetime(2024, 7, 1, tzinfo=UTC), None, False),
        ("Maria trabaja en Helios Labs desde el 3er trimestre de 2024.", datetime(2024, 7, 1, tzinfo=UTC), None, False),
        ("Maria travaille chez Helios Labs depuis le T3 2024.", datetime(2024, 7, 1, tzinfo=UTC), None, False),
        ("Maria worked at Helios Labs from 2015 to 2019.", datetime(2015, 1, 1, tzinfo=UTC),
         datetime(2019, 1, 1, tzinfo=UTC), True),
        ("Maria worked at Helios Labs until March 2019.", None, datetime(2019, 3, 1, tzinfo=UTC), True),
        ("Maria used to work at Helios Labs.", None, None, True),
        ("Maria arbeitet bei Helios Labs seit 2020.", datetime(2020, 1, 1, tzinfo=UTC), None, False),
    ],
)  # fmt: skip
def test_period_of_a_statement_is_read(
    text: str, since: datetime | None, until: datetime | None, is_past: bool
) -> None:
    (found,) = statements(text, NAMES, people=PEOPLE)
    assert (found.period.valid_from, found.period.valid_until, found.is_past) == (since, until, is_past)


def test_date_is_read_to_its_first_moment() -> None:
    assert first_moment("2021") == datetime(2021, 1, 1, tzinfo=UTC)
    assert first_moment("2021-05") == datetime(2021, 5, 1, tzinfo=UTC)
    assert first_moment("2021-05-09") == datetime(2021, 5, 9, tzinfo=UTC)
    assert first_moment("2024-Q3") == datetime(2024, 7, 1, tzinfo=UTC)
    assert [first_moment(one) for one in ("", "2024-Q0", "2024-Q5", "May")] == [None] * 4
    assert [first_moment(one) for one in ("2021-13", "0000", "2021-5", "20211")] == [None] * 4


WRITTEN = {
    "M": "Maria Reis", "T": "Tom Ortega", "A": "Ana Lind", "H": "Helios Labs", "N": "Nordwind", "C": "Café Luz",
    "V": "Villa Rosa", "L": "Lisbon", "U": "Turin", "B": "Blue River", "G": "Tagus Choir", "R": "Rex",
}  # fmt: skip
SENTENCES = Path(__file__).with_name("edge_sentences.txt")
LEAST_PRECISION, LEAST_RECALL = 0.97, 0.9


def recorded() -> list[tuple[str, tuple[str, str, str, bool] | None]]:
    """Return the recorded sentences, each with the edge that it states: subject, type, object, and whether it is over."""
    found = []
    for line in SENTENCES.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            sentence, _, edge = line.partition("|")
            subject, kind, target = edge.split() or ("", "", "")
            stated = (WRITTEN[subject], kind.rstrip("†"), WRITTEN[target], kind.endswith("†")) if kind else None
            found.append((sentence.strip().format(**WRITTEN), stated))
    return found


def test_rules_read_recorded_sentences_with_few_mistakes() -> None:
    """A wrong direction, type or end counts as wrong; so does any edge from a sentence that states none."""
    told = recorded()
    people = {WRITTEN[one] for one in "MTA"}
    wrong, right = [], 0
    for sentence, edge in told:
        for one in statements(sentence, WRITTEN.values(), people=people):
            is_right = may_state(sentence) and (one.subject, one.type, one.object, one.is_past) == edge
            right += is_right
            wrong += [] if is_right else [(sentence, one)]
    silent = sum(edge is None for _, edge in told)
    assert len(told) >= 300
    assert silent >= 100
    assert right / (right + len(wrong)) >= LEAST_PRECISION, wrong
    assert right / (len(told) - silent) >= LEAST_RECALL


Edge = tuple[str, str, str, bool]
_EDGE = re.compile(rf"(.+?) ({'|'.join(EDGE_TYPES)})(†?) (.+)")
_BRACED = re.compile(r"\{([^}]+)\}")


@dataclass(frozen=True)
class Message:
    text: str
    names: frozenset[str]
    states: frozenset[Edge]
    may_state: frozenset[Edge]


def messages(file: str) -> tuple[frozenset[str], list[Message]]:
    """Return the names of a file that are persons', and its messages with their edges: subject, type, object, is over."""
    people, found = frozenset[str](), []
    for line in Path(__file__).with_name(file).read_text(encoding="utf-8").splitlines():
        if line.startswith("# people:"):
            people = frozenset(name.strip() for name in line.partition(":")[2].split(","))
        elif not line.startswith("#"):
            sentence, _, told = line.rpartition(" | ")
            optional = "; ".join(re.findall(r"\(([^)]*)\)", told))
            sure = edges_of(re.sub(r"\([^)]*\)", "", told))
            text = _BRACED.sub(r"\1", sentence)
            found.append(Message(text, frozenset(_BRACED.findall(sentence)), sure, sure | edges_of(optional)))
    return people, found


def edges_of(told: str) -> frozenset[Edge]:
    found = [_EDGE.fullmatch(one.strip()) for one in told.split(";") if one.strip() not in {"", "-"}]
    return frozenset(undirected((one[1], one[2], one[4], one[3] == "†")) for one in found if one is not None)


def undirected(edge: Edge) -> Edge:
    """Return an edge of marriage, which has no direction, with its ends in order."""
    first, second = sorted((edge[0], edge[2]))
    return (first, edge[1], second, edge[3]) if edge[1] == "married_to" else edge


@pytest.mark.parametrize(
    ("file", "least", "least_recall"),
    [("edge_messages.txt", 450, 0.65), ("edge_messages_held_back.txt", 180, 0.6)],
)
def test_rules_read_messages_with_few_mistakes(file: str, least: int, least_recall: float) -> None:
    """A wrong direction, type or end counts as wrong; every name of the file is known in every message."""
    people, told = messages(file)
    names = {"Nora"}.union(*(one.names for one in told))
    wrong, right, stated, read = [], 0, 0, 0
    for message in told:
        edges = statements(message.text, names, speaker="Nora", people=people) if may_state(message.text) else ()
        found = {undirected((one.subject, one.type, one.object, one.is_past)) for one in edges}
        wrong += [(message.text, edge) for edge in found - message.may_state]
        right += len(found & message.may_state)
        stated, read = stated + len(message.states), read + len(message.states & found)
    silent = sum(not one.may_state for one in told)
    assert len(told) >= least
    assert silent >= len(told) * 0.3
    assert right / (right + len(wrong)) >= LEAST_PRECISION, wrong
    assert read / stated >= least_recall, (read, stated)


@pytest.mark.parametrize(
    ("text", "is_sole"),
    [
        ("Maria works at Helios Labs.", True),
        ("Maria is married to Tom Ortega.", True),
        ("Maria also works at Helios Labs.", None),
        ("Maria works at Helios Labs on weekends.", False),
        ("Maria works at Helios Labs, her second job.", False),
        ("Maria worked at Helios Labs.", False),
        ("Maria owns Café Luz.", False),
        ("Café Luz is located in Lisbon.", False),
    ],
)
def test_statement_of_work_or_marriage_leaves_room_for_another_only_if_it_says_so(
    text: str, is_sole: bool | None
) -> None:
    found = [one.is_sole for one in statements(text, NAMES, people=PEOPLE)]
    assert found == ([] if is_sole is None else [is_sole])


@pytest.mark.parametrize(
    "text",
    [
        "Maria left Helios Labs to work at Blue River.",
        "Maria left Helios Labs for a new job at Blue River.",
        "Maria switched jobs from Helios Labs to Blue River in May.",
        "Maria dejó Helios Labs para trabajar en Blue River.",
        "A Maria saiu da Helios Labs e agora trabalha na Blue River.",
        "Maria wechselte von Helios Labs zu Blue River.",
        "Maria a quitté Helios Labs pour travailler chez Blue River.",
        "Maria ha lasciato Helios Labs per lavorare da Blue River.",
    ],
)
def test_change_of_work_ends_one_edge_and_begins_another(text: str) -> None:
    found = [(one.object, one.is_past, one.is_sole) for one in statements(text, NAMES, people=PEOPLE)]
    assert found == [("Helios Labs", True, False), ("Blue River", False, True)]
    assert may_state(text)


@pytest.mark.parametrize(
    "text",
    [
        "Maria left Lisbon for Blue River.",
        "Maria left Tom Ortega to work at Blue River.",
        "Did Maria leave Helios Labs to work at Blue River?",
        "Maria did not leave Helios Labs to work at Blue River.",
    ],
)
def test_departure_that_is_no_change_of_work_states_nothing(text: str) -> None:
    assert list(statements(text, NAMES, people=PEOPLE)) == []


def test_move_of_a_thing_ends_where_it_was() -> None:
    text = "Helios Labs moved its headquarters from Lisbon to Café Luz."
    found = [(one.type, one.object, one.is_past) for one in statements(text, NAMES, people=PEOPLE)]
    assert found == [("located_in", "Lisbon", True), ("located_in", "Café Luz", False)]
