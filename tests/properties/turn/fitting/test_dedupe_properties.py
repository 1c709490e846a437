"""Generated and hostile input for what `tests/unit/turn/fitting/test_dedupe.py` tests by example."""

from __future__ import annotations

import random
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from sidecar.turn.fitting.fitting import fit
from sidecar.turn.items import Decision, Item, Source
from tests.support.turn.turn_cases import METER, a_fitting, a_profile, an_item, kept_ids, reports_of
from tests.unit.turn.fitting.test_dedupe import LONG


def test_many_copies_fold_into_one_with_bounded_comparisons() -> None:
    copies = [an_item(f"c{number}", LONG) for number in range(300)]
    near = [an_item(f"n{number}", f"{LONG} q{chr(97 + number % 26)}{chr(97 + number // 26)}") for number in range(300)]
    result = fit(
        a_fitting(profile=a_profile(sources={"memory": {"top_k": 1000}}), reports=reports_of(*copies, *near)), METER
    )
    assert kept_ids(result) == ["c0"]


@given(st.integers(0, 10**9), st.sampled_from((200, 400, 1_000, 4_000, 100_000)))
def test_every_sentence_of_a_dropped_item_is_in_a_kept_one(seed: int, budget: int) -> None:
    rng = random.Random(seed)
    items = [_composed(rng, number) for number in range(rng.randrange(2, 14))]
    result = fit(a_fitting(*items, budget_tokens=budget), METER)
    said = {line.strip(" .") for fate in result.fates if fate.form for line in fate.text.split(".")}
    for fate in result.fates:
        if fate.decision is Decision.DEDUPED_INTO:
            assert {line.strip(" .") for line in fate.item.text.split(".")} <= said
    reports = [replace(one, items=tuple(rng.sample(one.items, len(one.items)))) for one in reports_of(*items)]
    assert fit(a_fitting(budget_tokens=budget, reports=tuple(reports[::-1])), METER).rendering == result.rendering


def _composed(rng: random.Random, number: int) -> Item:
    """Return an item of a few of ten sentences, among them denials, with or without a lead of the first of them."""
    sentences = rng.sample(_SENTENCES, rng.randrange(1, 5))
    return an_item(
        f"i{number}",
        ". ".join(sentences) + ".",
        rng.choice((Source.MEMORY, Source.WIKI, Source.KNOWLEDGE, Source.WORKSPACE, Source.TOOLS)),
        relevance=round(rng.random(), 2),
        lead=f"{sentences[0]}." if rng.random() < 0.5 else "",
        stands_for=tuple(f"i{rng.randrange(14)}" for _ in range(rng.randrange(3))),
    )


_SENTENCES = (
    "Dogs are allowed in the old building",
    "No dogs are allowed in the old building",
    "Nobody knows whether dogs are allowed in the old building",
    "Anna lives in Lisbon",
    "Anna lives in Lisbon no longer",
    "Mary Anna lives in Lisbon",
    "The rent of the flat by the river is 900 euros",
    "The rent of the flat by the river is 950 euros",
    "If it rains the match is cancelled",
    "The match is cancelled",
)
