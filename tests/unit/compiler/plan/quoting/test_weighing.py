"""How much a sentence says about a theme or a city, and whether that is enough for a page."""

from __future__ import annotations

import pytest

from compiler.plan.quoting.weighing import is_central
from compiler.planners import extractive, gazetteer
from tests.support.compiler.noted_pages import made
from tests.support.compiler.plan_cases import batch, memory


@pytest.mark.parametrize(
    ("text", "theme", "is_told"),
    [
        ("Ana swims in the lake, which is cold.", "swimming", True),
        ("After the long winter, Ana swims in the lake.", "swimming", True),
        ("In May the choir goes to Faro.", "singing", True),
        ("Ana is mentoring younger players.", "mentoring", True),
        ("Her paintings hang in the hall.", "painting", True),
        ("Ana joined a pottery class.", "pottery", True),
        ("My neighbour Otto, a retired baker, swims in the lake.", "swimming", True),
        ("My sister Ana, who lives in Porto, swims every day.", "swimming", True),
        ("My sister Ana (the vet) goes swimming.", "swimming", True),
        ("Two years ago, Rui bought a guitar.", "guitar", True),
        ("Twice a week, Ana goes swimming.", "swimming", True),
        ("Ana told me that she goes swimming.", "swimming", True),
        ("My knee hurts, but swimming helps.", "swimming", True),
        ("Thursday at 18:30 Ana goes swimming.", "swimming", True),
        ("I paid 1,200 euros for the guitar.", "guitar", True),
        ("Ana's plan for the spring: swimming with Rui.", "swimming", True),
        ("My brother sold that chess set.", "chess", True),
        ("My daughter is so good at chess.", "chess", True),
        ("The choir sang in Ghent.", "singing", True),
        ("Our cat bit the vet.", "cats", True),
        ("The guitar cost 300 euros.", "guitar", True),
        ("Mi hermana Ana, que vive en Oporto, hace yoga.", "yoga", True),
        ("Meine Schwester Anna, die in Köln wohnt, macht Yoga.", "yoga", True),
        ("Our neighbour Mr. Silva swims at the lido.", "swimming", True),
        ("My brother Tom, Ana and I went swimming.", "swimming", True),
        ("Rita, 34, swims as well.", "swimming", True),
        ("Finished work early, went swimming.", "swimming", True),
        ("Yesterday after work, Leo swam two miles.", "swimming", True),
        ("Last May, a choir came from Ghent.", "singing", True),
        ("We stayed all day, swimming in the lake.", "swimming", True),
        ("Mama hat angefangen, Gitarre zu lernen.", "guitar", True),
        ("Meine Schwester erzählt, dass sie im Chor singt.", "singing", True),
        ("Tous les lundis, Ana va à la chorale.", "singing", True),
        ("Todos los martes, Ana canta en el coro.", "singing", True),
        ("In April, two friends and I took up hiking.", "hiking", True),
        ("In the summer of 2020, a friend took me to yoga.", "yoga", True),
        ("Ana sagt, der Chor singt im Mai in Graz.", "singing", True),
        ("En la iglesia del pueblo, un coro canta los domingos.", "singing", True),
        ("I was late because choir ran over.", "singing", True),
        ("The choir rehearse at eight.", "singing", True),
        ("I do not play the guitar anymore.", "guitar", True),
        ("Ana lives with Rui, a primary school teacher.", "teaching", False),
        ("Ana has met a man who teaches swimming.", "swimming", False),
        ("Ana did her first walk, eleven miles through hills and the tea of Kiambethu.", "tea", False),
        ("Ana from the choir waved at me.", "singing", False),
        ("The museum bus has a cracked window.", "museums", False),
        ("Ana needs an air-brake test to drive the museum bus.", "museums", False),
        ("Twelve sheets of museum glass.", "museums", False),
    ],
)
def test_theme_of_the_main_clause_is_central(text: str, theme: str, *, is_told: bool) -> None:
    assert is_central(text, [theme]) is is_told


def test_theme_that_notes_have_in_passing_has_no_page() -> None:
    passing = (
        "The museum bus has a cracked window.",
        "Ana drives the museum bus on Sundays.",
        "A shop cut new glass for the museum bus.",
    )
    assert made(*passing) == {}
    told = ("Ana saw the museum in Faro.", "The museum has a new wing.")
    assert made(*passing[:1], *told).keys() == {"Museums"}


def test_theme_opens_with_a_sentence_whose_subject_it_is() -> None:
    pages = made(
        "Rui baked forty rolls for the choir and took none home.",
        "The choir sings in Faro in June.",
        "Rui and Ana know each other from the choir of the town.",
    )
    assert pages["Singing"].summary.endswith(": The choir sings in Faro in June.")
    pages = made(
        "Missed choir because of a long flu in May.",
        "On Tuesdays I sing in the choir of the town.",
        "Rui came to the choir with a friend.",
    )
    assert pages["Singing"].summary.endswith(": On Tuesdays I sing in the choir of the town.")


@pytest.mark.parametrize(
    ("texts", "has_page"),
    [
        (("The pump is from a dealer in Nairobi.", "Her mother from Nairobi rang."), False),
        (("A technician from Nairobi came.", "Ana from Nairobi rang."), False),
        (("A technician from Nairobi came.", "Ana and Rui flew to Nairobi in May."), False),
        (("A technician from Nairobi came.", "Ana's mother lives in Nairobi."), True),
        (("A technician from Nairobi came.", "Ana moved to Nairobi."), True),
        (("A dealer in Nairobi rang.", "A donor from Nairobi came.", "Ana heard from a shop in Nairobi."), True),
        (("Nairobi was hot and crowded.", "I loved Nairobi.", "Wir sind nach Nairobi gefahren."), True),
    ],
)
def test_city_needs_three_memories_or_two_if_somebody_lives_there(texts: tuple[str, ...], *, has_page: bool) -> None:
    seen = (memory(f"m{at}", text, day=at) for at, text in enumerate(texts))
    pages = extractive.plan_leaf(batch(*seen), gazetteer=gazetteer.load()).new_pages
    assert ("Nairobi" in {one.title for one in pages}) is has_page


def test_town_where_somebody_lives_has_a_page_from_two_memories() -> None:
    assert made("Ana has lived in Harnow since 2003.", "The band plays at the Harnow carnival.").keys() == {"Harnow"}
    assert made("The book club moved to Harnow for May.", "Joined the call on Harnow from the kitchen.") == {}
    assert made("We met a dealer from Harnow.", "The band plays at the Harnow carnival.") == {}


def test_note_with_a_measure_needs_one_word_less() -> None:
    pages = made("Weight 97.6 kg.", "Weight 95 kg, waist 106 cm.", "Weight is 93 kg.", "Weight fine.")
    assert len(pages["Weight"].sections[0].body_md.splitlines()) == 3
    assert made("Slept badly.", "Slept well.", "Slept badly.") == {}
    assert made("# Diary 2026-03-01", "# Diary 2026-03-02", "# Diary 2026-03-03") == {}
    assert made("Sleeps about 5.5 hours.", "Sleep: 6 hours on average.", "Slept 7 hours a night.").keys() == {"Sleep"}
