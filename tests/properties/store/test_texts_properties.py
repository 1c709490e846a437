"""Generated and hostile input for what `tests/unit/store/test_texts.py` tests by example."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from store.text.shingles import SHINGLE_CHARS, normal_forms
from store.text.texts import (
    MAX_QUERY_WORDS,
    MAX_WORD_CHARS,
    Signature,
    estimated_similarity,
    fold,
    query_words,
    search_words,
    signatures,
)
from tests.unit.store.test_texts import signed

_LETTERS = "abcdefghijklmnoprstuvwyz"


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(a_word(rng) for _ in range(words))


def a_word(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.randint(3, 9)))


def changed(rng: random.Random, text: str) -> str:
    words = text.split()
    for _ in range(max(1, len(words) // 25)):
        words[rng.randrange(len(words))] = a_word(rng)
    return " ".join(words)


@given(st.lists(st.text(max_size=60), max_size=8))
def test_other_texts_of_a_batch_change_no_signature(texts: list[str]) -> None:
    assert signatures(texts) == [signed(text) for text in texts]


def similarity(one: str, other: str) -> float:
    """Return the exact Jaccard similarity of the texts' shingles, 0 to 1, which signatures estimate."""
    first, second = shingles(one), shingles(other)
    return len(first & second) / len(first | second)


def shingles(text: str) -> set[str]:
    padded = normal_forms([text])[0][0].ljust(SHINGLE_CHARS)
    return {padded[start : start + SHINGLE_CHARS] for start in range(len(padded) - SHINGLE_CHARS + 1)}


def test_near_duplicates_share_a_band_and_unrelated_texts_hardly_ever() -> None:
    rng = random.Random(7)
    texts = [sentence(rng, 40) for _ in range(150)]
    others = [changed(rng, text) for text in texts]
    pairs = [(a, b) for a, b in zip(texts, others, strict=True) if similarity(a, b) >= 0.8]
    assert len(pairs) > 100
    ones, twos = (signatures(list(side)) for side in zip(*pairs, strict=True))
    found = sum(bool(set(one.split_bands()) & set(two.split_bands())) for one, two in zip(ones, twos, strict=True))
    assert found >= 0.97 * len(pairs)
    strangers = signatures(texts[:100])
    met = sum(bool(set(a.split_bands()) & set(b.split_bands())) for a in strangers for b in strangers if a is not b)
    assert met <= 0.02 * 100 * 99


def test_the_estimate_is_near_the_similarity() -> None:
    rng = random.Random(3)
    for _ in range(30):
        one = sentence(rng, 40)
        other = changed(rng, one)
        assert abs(estimated_similarity(signed(one), signed(other)) - similarity(one, other)) < 0.3
    assert estimated_similarity(signed(one), signed(one)) == 1
    assert similarity("", "harbour") == 0
    assert similarity("Harbour!", "harbour") == 1


@given(st.text(max_size=80))
def test_packed_signature_survives(text: str) -> None:
    assert Signature.unpack(signed(text).pack()) == signed(text)


@given(st.text(max_size=200))
def test_both_sides_of_a_search_are_tokenized_alike(text: str) -> None:
    asked = query_words(text)
    assert set(asked) <= set(search_words(text).split())
    assert len(asked) == len(set(asked)) <= MAX_QUERY_WORDS
    assert all(0 < len(word) <= MAX_WORD_CHARS for word in asked)


def test_hostile_texts_take_linear_time() -> None:
    # Marks in the wrong order are sorted by insertion when a text is normalised: quadratic, a minute for these.
    marks = "a" + "\u0301\u0327" * 50_000
    assert fold(marks) == "a"
    assert len(search_words(marks)) < 200
    assert search_words("é" * 30 + "\u0301" * 40 + " and " * 900 + "end").endswith(" end")
    assert len(signatures([marks, "x" * 300_000, " " * 300_000, "\ud800" * 1000])) == 4
    assert search_words("x" * 1_000_000) == "x" * MAX_WORD_CHARS
    assert len(query_words("東京都" * 100_000)) == 4
