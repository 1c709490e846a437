"""Which walks a message asks for, and which way to a page answers it best."""

from __future__ import annotations

from datetime import UTC, date, datetime
from uuid import UUID

import pytest

from sidecar.turn.message.paths import MessageWords, best_ways, in_words, walk_query, words_of
from sidecar.turn.message.periods import read_periods
from store.text.relations import ASKED, STATED, asked_types
from store.text.texts import fold
from store.wiki.edge_paths import EdgeWay, WalkQuery

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def walk(message: str) -> WalkQuery:
    wanted = walk_query(MessageWords(message), read_periods(message, date(2026, 3, 1))[0], now=NOW)
    assert wanted is not None
    return wanted


def way(*steps: str, first: int = 0, last: int = 0, evidence: int = 1) -> EdgeWay:
    """Return a way from page to page, given as titles and types in turn; `-` before a type follows it backwards."""
    titles, types = steps[::2], steps[1::2]
    ids = tuple(UUID(int=1 + sum(map(ord, title))) for title in titles)
    inward = tuple(kind.startswith("-") for kind in types)
    return EdgeWay(
        first, last, ids, titles, tuple(kind.lstrip("-") for kind in types), inward, (evidence,) * len(types)
    )


@pytest.mark.parametrize(
    ("message", "types"),
    [
        ("Who does Ana work for?", {"works_at"}),
        ("Where is the place that Bruno owns?", {"located_in", "owns"}),
        ("Wo arbeitet die Frau von Bruno?", {"located_in", "works_at", "married_to"}),
        ("Quem escreveu o livro de que Ana fala?", {"authored"}),
        ("¿En qué ciudad está la empresa de la mujer de Juan?", {"located_in", "works_at", "married_to"}),
        ("Où se trouve le café qui appartient à Luc ?", {"located_in", "owns", "member_of"}),
        ("In quale squadra gioca il marito di Chiara?", {"member_of", "married_to"}),
        ("How was the soup?", set()),
    ],
)
def test_words_of_relation_ask_for_types(message: str, types: set[str]) -> None:
    assert set(walk(message).types) == types


def test_every_type_that_is_stated_can_be_asked_for() -> None:
    assert STATED.keys() <= ASKED.keys()
    for kind, words in ASKED.items():
        for word in words.split():
            assert kind in asked_types((fold(word.rstrip("*")),)), word


def test_names_are_runs_of_words_without_marks_and_possessives() -> None:
    names = {(one.name, one.first_word, one.last_word) for one in walk("Where is Ana Reis's “Café d'Or”?").names}
    assert {("ana reis", 2, 3), ("ana reis's", 2, 3), ("cafe d'or", 4, 5), ("ana", 2, 2)} <= names
    assert not {"where", "is"} & {name for name, *_ in names}


@pytest.mark.parametrize(
    ("message", "since", "until"),
    [
        ("Where does Ana work?", NOW, NOW),
        (
            "Where did Ana work in 2019?",
            datetime(2019, 1, 1, tzinfo=UTC),
            datetime(2019, 12, 31, 23, 59, 59, 999999, UTC),
        ),
        ("Where did Ana work in May?", NOW, NOW),
        ("Where did Ana work before?", datetime(1, 1, 2, tzinfo=UTC), NOW),
    ],
)
def test_period_named_says_when_edges_held(message: str, since: datetime, until: datetime) -> None:
    assert (walk(message).since, walk(message).until) == (since, until)


def test_message_without_telling_words_walks_nowhere() -> None:
    assert walk_query(MessageWords("?!"), (), now=NOW) is None


def test_best_way_to_a_page_has_the_asked_types_and_few_edges() -> None:
    words = MessageWords("In which city does Ana work?")
    ways = [
        way("Ana", "married_to", "Bruno", "works_at", "Helios", first=4, last=4),
        way("Ana", "works_at", "Helios", first=4, last=4),
        way("Ana", "married_to", "Bruno", first=4, last=4),
        way("Ana", "works_at", "Helios", "located_in", "Porto", first=4, last=4),
    ]
    found = [(in_words(one), walked.hops, walked.asked, walked.met) for one, walked in best_ways(words, ways)]
    assert found == [
        ("Ana → works_at → Helios → located_in → Porto", 2, 1.0, 1.0),
        ("Ana → works_at → Helios", 1, 1.0, 0.5),
    ]


def test_where_asks_for_a_place_or_the_object_of_its_verb() -> None:
    words = MessageWords("Where does Ana work?")
    ways = [
        way("Ana", "works_at", "Helios", first=2, last=2),
        way("Ana", "works_at", "Helios", "located_in", "Porto", first=2, last=2),
    ]
    assert [(one.titles[-1], walked.asked, walked.met) for one, walked in best_ways(words, ways)] == [
        ("Helios", 1.0, 1.0),
        ("Porto", 1.0, 1.0),
    ]


def test_word_of_several_types_is_met_by_any_of_them() -> None:
    words = MessageWords("Which group does Ana belong to?")
    [(_, walked)] = best_ways(words, [way("Ana", "member_of", "Tagus Choir", first=3, last=3)])
    assert walked.met == 1.0


def test_words_of_a_name_ask_for_nothing() -> None:
    words = MessageWords("City Works was painted.")
    assert best_ways(words, [way("City Works", "located_in", "Porto", first=0, last=1)]) == []


def test_type_is_asked_for_by_the_words_of_its_own_name() -> None:
    words = MessageWords("Who has Ana trained with?")
    [(found, walked)] = best_ways(words, [way("Ana", "-trained_with", "Bruno", first=2, last=2)])
    assert (in_words(found), walked.asked, walked.met) == ("Ana ← trained_with ← Bruno", 1.0, 1.0)


def test_way_explains_the_name_and_the_words_for_its_types() -> None:
    words = MessageWords("Where does Ana's husband work?")
    assert words_of(words, way("Ana", "married_to", "Bruno", first=2, last=2)) == {"ana", "husband"}


def test_endless_word_is_read_up_to_a_bound() -> None:
    words = MessageWords("Where does " + "\ufdfa" * 10_000 + " work?")  # one sign of 18 letters when folded
    assert [len(word) for word in words.written] == [5, 4, 200, 4]
    assert max(len(name.name) for name in words.names()) < 200 * 18 + 20
