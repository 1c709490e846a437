"""Names in chats that are written in lower case or in capitals."""

from __future__ import annotations

import pytest

from compiler.plan.contract import PageType
from compiler.plan.names.lower_case import accompanied, addressees, has_deliberate_capitals, introduced, small_names
from compiler.plan.names.spotting import known_names, runs, spotted
from compiler.plan.text.markdown import plain_key
from compiler.plan.text.persons import acting, acts
from compiler.planners import extractive
from tests.support.compiler.plan_cases import batch, memory


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Kim: coffee with jasmin took hours", ("jasmin",)),
        ("Kim: jasmin's brother plays drums", ("jasmin",)),
        ("Kim: we went home and slept", ()),
        ("Kim: Coffee with jasmin took hours", ()),
        ("coffee with jasmin took hours", ("jasmin",)),
        (f"coffee with jasmin took hours{' and hours' * 40}", ()),
        ("Kim: write to jasmin@site.org or @jasmin", ()),
        ("Kim: das ist nicht von jasmin", ()),
        ("Kim: my mum and the cat", ()),
        ("Kim: ", ()),
    ],
)
def test_words_of_a_message_in_lower_case_that_may_be_names(text: str, names: tuple[str, ...]) -> None:
    assert small_names(text) == names


@pytest.mark.parametrize(
    ("text", "is_deliberate"),
    [
        ("Kim: the vet. Jasmin. she has a goat", True),
        ("Kim: ok. Then we go", False),
        ("Kim: Ok. then we go", False),
        ("the vet. Jasmin. she has a goat", False),
    ],
)
def test_capital_at_the_start_of_a_sentence_is_deliberate_where_others_begin_small(
    text: str, *, is_deliberate: bool
) -> None:
    assert has_deliberate_capitals(text) == is_deliberate


def test_name_with_a_deliberate_capital_is_certain() -> None:
    text = "Kim: we met her. Jasmin. she has a goat"
    assert ("Jasmin", False) in [(one.name, one.is_initial) for one in runs(text)]
    assert [(one.name, one.is_initial) for one in runs(text.removeprefix("Kim: "))] == [("Jasmin", True)]


def test_small_names_are_found_alike_whichever_names_are_known() -> None:
    text = "Kim: porto alegre with jasmin"
    for known in ([], ["jasmin"], ["porto alegre"], ["porto", "kim"]):
        found = [one.name for one in spotted(text, known_names(known)) if one.name != "Kim"]
        assert sorted(found) == ["alegre", "jasmin", "porto"]


def test_person_with_one_capital_in_a_chat_in_lower_case_has_a_page_with_all_that_is_told_of_them() -> None:
    texts = (
        "Kim: jasmin made me a playlist with a lot of drums on it",
        "Kim: i met the new vet. Jasmin has two goats and a farm. she drove me home",
        "Lou: i told you that jasmin works too much on sundays",
    )
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(texts))))
    (page,) = (one for one in proposal.new_pages if one.title == "Jasmin")
    assert page.type is PageType.ENTITY
    assert {cited for section in page.sections for cited in section.memory_ids} == {"m0", "m1", "m2"}


def test_person_without_a_capital_has_a_page_if_a_message_introduces_them() -> None:
    texts = (
        "kim: my brother jonno plays the trumpet in a band",
        "Lou: i told u that jonno plays too loud for this street",
        "Lou: jonno sold me his old drums for nothing at all",
    )
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(texts))))
    assert {"Jonno", "Kim", "Lou"} >= {one.title for one in proposal.new_pages} >= {"Jonno"}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Kim: my cousin jonno came", {"jonno"}),
        ("Kim: her names bex and she paints", {"bex"}),
        ("Kim: a vet called jonno came", {"jonno"}),
        ("Kim: my cousin said so", set()),
        ("Kim: kay Tito Boy ako magpapaturo", set()),
        ("Kim: jonno came", set()),
        ("Kim: out with my mate. jonno came too", set()),
        ("Kim: my colleague, knackered as ever", set()),
        ("coach: jonno for all", set()),
    ],
)
def test_names_that_a_message_in_lower_case_introduces(text: str, names: set[str]) -> None:
    assert introduced(text) == names


def test_word_that_is_always_in_lower_case_has_no_page() -> None:
    texts = ("Kim: the halloumi was burnt again and i ate it", "Lou: i bought more halloumi for us on monday")
    proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(texts))))
    assert [one.title for one in proposal.new_pages if "halloumi" in one.title.lower()] == []


def test_words_of_a_sentence_in_capitals_are_no_name() -> None:
    assert [one.name for one in runs("Kim: LISBON IS BACK ON!")] == ["Kim"]
    assert [one.name for one in runs("Kim joined the US GP team and NASA.")] == ["Kim", "US GP", "NASA"]


@pytest.mark.parametrize(
    ("texts", "titles"),
    [
        (
            (
                "kim: did u hear about oskar n tilda",
                "lou: oskar walked it back himself",
                "kim: what did oskar say then",
            ),
            {"Oskar"},
        ),
        (("kim: pasta with pesto", "lou: bread w pesto", "kim: more pesto and rice"), set()),
        (("ana: vou com fome", "rui: fiquei com fome ontem", "ana: estou com fome"), set()),
        (("kim: its late tho", "lou: he left tho", "kim: ok tho what now"), set()),
        (("kim: one oskar ran off", "lou: an oskar came in", "kim: the oskar left", "lou: oskar came"), set()),
        (("kim: oskar or not", "lou: no oskar no problem", "kim: oskar oskar oskar"), set()),
    ],
)
def test_person_in_lower_case_has_a_page_if_messages_use_the_word_as_they_use_names(
    texts: tuple[str, ...], titles: set[str]
) -> None:
    for order in (texts, texts[::-1]):
        proposal = extractive.plan_leaf(batch(*(memory(f"m{at}", text) for at, text in enumerate(order))))
        assert {one.title for one in proposal.new_pages} == titles


@pytest.mark.parametrize(
    ("text", "is_beside"),
    [
        ("kim: im going w tilda", True),
        ("kim: me n tilda then", True),
        ("kim: tilda n me then", True),
        ("kim: where is tilda", False),
        ("kim: w the tilda", False),
        ("going w tilda", True),
    ],
)
def test_word_in_lower_case_stands_beside_another_as_names_do(text: str, *, is_beside: bool) -> None:
    assert ("tilda" in accompanied(text)) == is_beside


def test_word_in_lower_case_stands_as_only_names_of_people_do() -> None:
    assert addressees("kim: i told tilda n marek") == {"tilda"}
    assert addressees("kim: me n tilda then") == addressees("kim: tilda n me then") == {"tilda"}
    assert addressees("kim: tilda cant come tonight") == {"tilda"}
    assert addressees("kim: rice and tilda, w marek") == addressees("kim: tilda can be frozen") == frozenset()


@pytest.mark.parametrize(
    "text",
    [
        "kim: tilda is home and marek walked, so nobody saw oskar's boat",
        "Kim: Tilda's boat and Anne-Marie. Marek loves it",
        "Kim: tilda a le chien et marek a mal",
        "Kim: a Tilda a casa com o Marek é boa",
        "tilda tilda tilda is is",
        "",
    ],
)
def test_words_that_act_are_those_that_act_one_by_one(text: str) -> None:
    words = {*plain_key(text).split(), *acting(text)}
    assert acting(text) == {word for word in words if acts(word, text)}
