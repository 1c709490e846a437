"""How a search's signals are joined: calibrated, bounded, and no name buries what a question is about."""

from __future__ import annotations

from uuid import UUID

from store.wiki.page_search import MAX_NAME_WORDS, Name, Words, fuse, name_runs

ONE, TWO = UUID(int=1), UUID(int=2)


def test_partial_name_match_does_not_outrank_the_page_that_answers() -> None:
    texts = {ONE: Words(9.0, 1.0), TWO: Words(2.0, 0.2)}
    names = {TWO: [Name("lisbon", "whole", 1.0)]}
    fused = fuse(texts, names, "where did we eat sardines with rui in lisbon")
    assert fused[ONE][0] > fused[TWO][0]


def test_exact_name_ranks_above_part_prefix_and_fuzzy_matches() -> None:
    def strength(name: Name, key: str) -> float:
        return fuse({}, {ONE: [name]}, key)[ONE][2]

    whole = strength(Name("casa lola", "whole", 1.0), "casa lola")
    part = strength(Name("lola", "whole", 1.0), "casa lola")
    beginning = strength(Name("casa lola", "beginning", 0.5), "casa")
    similar = strength(Name("casa lolla", "similar", 0.6), "casa lola")
    assert 1.0 == whole > part > beginning > similar > 0


def test_name_candidates_are_every_run_of_words_in_the_question() -> None:
    runs = name_runs("where is casa lola, in austin?")
    assert runs[0] == "where is casa lola, in austin?"
    assert {"casa lola", "austin", "lola in austin", "where is casa lola in austin"} <= set(runs)
    assert all(len(run.split()) <= MAX_NAME_WORDS for run in runs[1:])
    assert len(name_runs(" ".join(map(str, range(1_000))))) <= 120
