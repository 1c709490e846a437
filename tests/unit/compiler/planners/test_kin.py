"""The owner's kin, by any word for them and by their names, in six languages."""

from __future__ import annotations

import pytest

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import CreatePage, Mention, Page
from compiler.plan.judging import leaf, rejudging
from compiler.plan.judging.rejudging import NameFamily
from compiler.plan.names import lookup
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import Proposal
from compiler.plan.text.kin import introductions, kinds_in
from compiler.planners import extractive
from tests.support.compiler.plan_cases import batch, memory


def proposed(*texts: str) -> Proposal:
    return extractive.plan_leaf(batch(*(memory(f"m{at}", text, day=at) for at, text in enumerate(texts))))


def titles(*texts: str) -> set[str]:
    return {one.title for one in proposed(*texts).new_pages}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Mum came over with soup.", {"mother"}),
        ("Dinner with mom and dad.", {"mother", "father"}),
        ("Mum's birthday is in May.", {"mother"}),
        ("Omas Haus ist verkauft, sagt Papa.", {"grandmother", "father"}),
        ("Mit meiner Schwester telefoniert.", {"sister"}),
        ("Appelé maman, puis mon frère.", {"mother", "brother"}),
        ("Cené con mamá y mi abuela.", {"mother", "grandmother"}),
        ("A Mãe ligou, o meu avô caiu.", {"mother", "grandfather"}),
        ("Pranzo con papà e mia sorella.", {"father", "sister"}),
        ("The user's mother is allergic to nuts.", {"mother"}),
        ("Her Mum called, and Sam's Dad.", set()),
        ("Seine Oma lebt noch.", set()),
        ("La maman de Louis est venue.", set()),
        ("Die Oma von Jonas backt.", set()),
        ("O Papa falou aos jovens.", set()),
        ("My mother tongue is Welsh.", set()),
        ("My mother-in-law stays.", set()),
        ("My sister in Leeds called.", {"sister"}),
        ("My wife's older sister Carla stays.", set()),
        ("My wife's bike is red.", {"wife"}),
        ("Lunch at Pai Kitchen, then Papa John's.", set()),
        ("Gestern hat Mama Kuchen gebacken.", {"mother"}),
        ("A single dad moved in.", set()),
        ("Opa, tudo bem com o carro.", set()),
    ],
)
def test_words_for_the_owners_own_kin(text: str, kinds: set[str]) -> None:
    assert kinds_in(text) == kinds


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My sister Ana moved to Leeds.", {("sister", "Ana")}),
        ("Ana Voss is my sister.", {("sister", "Ana Voss")}),
        ("Meine Schwester heißt Katrin.", {("sister", "Katrin")}),
        ("Ma sœur s'appelle Claire.", {("sister", "Claire")}),
        ("Mum (Maureen) lives in Oban.", {("mother", "Maureen")}),
        ("My sister (Ana) came with Mum (70).", {("sister", "Ana")}),
        ("A Rita é a minha irmã.", set()),
        ("Ana is my sister's boss.", set()),
        ("I told my sister Monday is fine.", set()),
        ("Mein Bruder Autos verkauft.", set()),
        ("My mum, Ana and Joe came.", set()),
    ],
)
def test_names_that_kin_are_given(text: str, found: set[tuple[str, str]]) -> None:
    assert set(introductions(text)) == found


@pytest.mark.parametrize(
    ("texts", "title"),
    [
        (("Mum is sixty.", "My mother came for tea."), "Mum"),
        (("My sister paints.", "Saw my sister in the bus."), "My sister"),
        (("My sister Ana paints.", "Saw my sister in the bus."), "Ana"),
        (("Ana is my sister.", "Ana Voss paints.", "My sister called."), "Ana Voss"),
        (("Mama ist müde.", "Der Opa hat Mama das Silber geschenkt."), "Mama"),
        (("Oma Trude ist neunzig.", "Oma wohnt jetzt im Heim."), "Oma Trude"),
        (("Mi padre se jubila.", "Papá compró un barco."), "Papá"),
    ],
)
def test_kin_have_one_page_under_all_their_names(texts: tuple[str, ...], title: str) -> None:
    (page,) = (one for one in proposed(*texts).new_pages if one.title == title)
    assert {one for section in page.sections for one in section.memory_ids} == {f"m{at}" for at in range(len(texts))}
    assert len(proposed(*texts).new_pages) == 1


def test_word_that_may_mean_two_people_has_no_page() -> None:
    found = titles(
        "My brother Tom is in Rome.", "My brother Bill is in Nice.", "My brother wrote.", "Bill broke his arm."
    )
    assert found == {"Bill"}


def test_kin_of_a_speaker_or_of_a_letter_are_not_the_owners() -> None:
    assert titles("Nora: My mum is sixty!", "Nora: I saw my mum today!") & {"Mum", "My mum"} == set()
    told = [memory(f"m{at}", text, {"origin": "document"}) for at, text in enumerate(("Mum is sixty.", "Mum sings."))]
    assert extractive.plan_leaf(batch(*told)).new_pages == ()


def test_others_kin_are_not_quoted() -> None:
    (page,) = proposed("Mum is sixty.", "Mum sings in a choir. Sam's mum is a vet.").new_pages
    assert "vet" not in "".join(section.body_md for section in page.sections)


def test_any_word_for_kin_is_looked_up_under_all_of_them() -> None:
    sought = lookup.names_in([memory("m", "My mother called.")]).keys
    assert {"mum", "mama", "my mom", "meine mutter"} <= set(sought)


def test_sister_without_a_name_and_the_name_are_held_apart_and_joined_later() -> None:
    first = memory("m1", "My sister Ana paints.")
    held = {one.alias: one.memory_ids for one in extractive.plan_leaf(batch(first)).mentions}
    assert (held["Ana"], held["my sister"]) == (("m1",), ("m1",))


def test_page_of_a_sister_and_the_page_of_her_name_are_judged_together() -> None:
    seen = [memory("m0", "My sister paints."), memory("m1", "Saw my sister in the bus.", day=1)]
    standing = made(LeafBatch(tuple(seen)))
    assert standing.title == "My sister"
    named = memory("m2", "My sister Ana has a cat.", day=2)
    assert ("my sister", "ana") in rejudging.clues_in([named]).given
    family = NameFamily((standing,), (Mention("ana", "Ana"),), telling=frozenset({"m2"}))
    page = made(rejudging.batch_of(family, {one.memory_id: one for one in (*seen, named)}))
    assert (page.title, len({one.memory_id for one in page.cited()})) == ("Ana", 3)


def made(of: LeafBatch) -> Page:
    """Return the only page that the batch makes."""
    items = leaf.decide(of, extractive.plan_leaf(of), Matches()).items
    (page,) = (one.page for one in items if isinstance(one, CreatePage))
    return page
