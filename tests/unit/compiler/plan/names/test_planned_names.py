"""Two proposals of one plan merge by the rules for existing pages; a sign that belongs to a name keeps names apart."""

from __future__ import annotations

from itertools import permutations

import pytest

from compiler.plan.batch import LeafBatch
from compiler.plan.contract import CreatePage, PageType
from compiler.plan.judging import leaf
from compiler.plan.names.collecting import subjects
from compiler.plan.names.merge import Matches
from compiler.plan.proposal import Proposal
from compiler.plan.text.markdown import plain_key, slug
from compiler.planners import gazetteer
from tests.support.compiler.plan_cases import batch, memory, new_page

CITIES = gazetteer.load()


def created(*titles: str) -> list[str]:
    """Return the titles of the pages that a plan proposing these titles creates."""
    memories = tuple(memory(f"m{at}", f"We spoke of {title}.") for at, title in enumerate(titles))
    pages = tuple(new_page(title, f"{title} was named.", f"m{at}") for at, title in enumerate(titles))
    decision = leaf.decide(LeafBatch(memories), Proposal(new_pages=pages), Matches(), gazetteer=CITIES)
    return [item.page.title for item in decision.items if isinstance(item, CreatePage)]


@pytest.mark.parametrize(
    "titles",
    [
        ("Paris", "Paris, France"),
        ("Fleet Coffee", "Fleet"),
        ("The Continental Club", "Continental Club"),
        ("Franklin Barbecue and Beer Garden", "Franklin Barbecue and Beer Gardens"),
    ],
)
def test_twins_of_one_plan_become_one_page_in_either_order(titles: tuple[str, ...]) -> None:
    assert [len(created(*some)) for some in permutations(titles)] == [1, 1]


def test_the_longer_name_is_the_title() -> None:
    assert created("Fleet", "Fleet Coffee") == created("Fleet Coffee", "Fleet") == ["Fleet Coffee"]
    assert created("Paris", "Paris, France") == ["Paris"]


@pytest.mark.parametrize(
    "titles",
    [
        ("C++", "CSS"),
        ("C++", "C"),
        ("C#", "C++"),
        ("CS", "CSS"),
        ("Paris, France", "Paris, Texas"),
        ("Berlin", "Berlin, April 2026"),
        ("Room 4", "Room 5"),
    ],
)
def test_different_things_stay_apart_in_either_order(titles: tuple[str, ...]) -> None:
    assert [len(created(*some)) for some in permutations(titles)] == [2, 2]


def test_a_topic_and_an_entity_of_one_name_are_one_page_as_across_batches() -> None:
    one, other = memory("m1", "Austin is hot."), memory("m2", "Austin is loud.")
    pages = (new_page("Austin", "Hot.", "m1"), new_page("Austin", "Loud.", "m2", kind=PageType.TOPIC))
    decision = leaf.decide(batch(one, other), Proposal(new_pages=pages), Matches())
    (made,) = (item.page for item in decision.items if isinstance(item, CreatePage))
    assert {source.memory_id for section in made.sections for source in section.sources} == {"m1", "m2"}


def test_a_sign_behind_a_word_belongs_to_the_name() -> None:
    assert (plain_key("C++"), plain_key("C#"), plain_key("C"), plain_key("#1 C")) == ("c++", "c#", "c", "1 c")
    assert (plain_key("5+5"), plain_key("Fish + Chips")) == ("5 5", "fish chips")
    assert (slug("C++"), slug("C#"), slug("C")) == ("c-plus-plus", "c-sharp", "c")


def test_a_colon_within_capitals_belongs_to_the_name() -> None:
    said = (
        "We played CS:GO until late.",
        "The CS:GO servers were down on Sunday.",
        "At 10:30 NASA: a rocket was shown.",
    )
    found = subjects(batch(*(memory(f"m{at}", text) for at, text in enumerate(said))))
    assert {subject.title for subject in found} == {"CS:GO", "NASA"}


def test_acronyms_have_no_plural() -> None:
    said = (
        "We wrote CSS today.",
        "We use CS today.",
        "We learn C++ now.",
        "We sold NFTs.",
        "The NFT sold.",
    )
    found = subjects(batch(*(memory(f"m{at}", text) for at, text in enumerate(said))))
    assert {subject.key for subject in found} == {"css", "cs", "c++", "nfts"}


def test_names_that_a_text_tells_apart_stay_apart_in_either_order() -> None:
    memories = (memory("m1", "Lark came."), memory("m2", "We hired another Lark, Lark Reed."))
    pages = (new_page("Lark", "Lark came.", "m1"), new_page("Lark Reed", "We hired another Lark, Lark Reed.", "m2"))
    for order in permutations(pages):
        decision = leaf.decide(LeafBatch(memories), Proposal(new_pages=order), Matches(), gazetteer=CITIES)
        assert sum(isinstance(item, CreatePage) for item in decision.items) == 2
