"""Words that are names only in some contexts are found there, and nowhere else."""

from __future__ import annotations

import pytest

from compiler.plan.names.naming import is_named
from compiler.plan.names.speakers import speaker_of
from compiler.plan.names.spotting import known_names, runs, spotted


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Jun Takeda built the report.", ["Jun Takeda"]),
        ("Yesterday Jan wrote the mail.", ["Jan"]),
        ("April moved to Leeds with May Baker.", ["April", "Leeds", "May Baker"]),
        ("We met Will at the bar.", ["Will"]),
        ("Will's car broke down.", ["Will"]),
        ("I hope Will and Ana come.", ["Will", "Ana"]),
        ("Julio dice que no viene.", ["Julio"]),
        ("Christian said no.", ["Christian"]),
        ("In June Ana moved.", ["Ana"]),
        ("On 3 June Ana came.", ["Ana"]),
        ("Last April Ana moved.", ["Ana"]),
        ("June was hot, and May comes soon.", []),
        ("En julio fuimos a la playa.", []),
        ("Will Ana come?", ["Ana"]),
        ("Hope Ana is well.", ["Ana"]),
        ("Will you come?", []),
        ("A Christian said it.", []),
        ("The report of June is done.", []),
        ("Memory settled near 4 GB.", []),
        ("The UK route was down, and the UK noticed.", ["UK"]),
        ("Hab mich als Lesepate gemeldet.", ["Lesepate"]),
    ],
)
def test_a_name_that_is_another_word_too_is_found_where_its_context_shows_it(text: str, names: list[str]) -> None:
    assert [one.name for one in runs(text)] == names


@pytest.mark.parametrize(
    ("key", "text", "is_there"),
    [
        ("will", "Ana and Will came late.", True),
        ("will", "Ana will come.", False),
        ("june", "The choir sang for June.", False),
        ("june", "The choir and June sang.", True),
        ("june", "It was in June.", False),
        ("us", "They told us.", False),
        ("us", "A flight to the US.", True),
    ],
)
def test_text_names_an_ambiguous_word_only_with_a_capital_and_not_as_a_month(
    key: str, text: str, *, is_there: bool
) -> None:
    assert is_named(key, text) == is_there


def test_known_given_name_is_not_found_in_a_date() -> None:
    known = known_names(["jun"])
    assert [one.name for one in spotted("Jun wrote it.", known)] == ["Jun"]
    assert spotted("In Jun 2024 we met.", known) == []


def test_known_country_is_not_found_before_a_noun() -> None:
    known = known_names(["uk"])
    assert spotted("The UK route was down.", known) == []
    assert [one.name for one in spotted("The UK noticed.", known)] == ["UK"]


def test_month_before_a_colon_is_a_label_and_no_speaker() -> None:
    assert speaker_of("Will: I am on my way.") == "Will"
    assert speaker_of("June: three meetings.") == ""
