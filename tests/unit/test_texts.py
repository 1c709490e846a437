"""What is derived from a text: search words, signatures, and when two texts count as one."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from store.texts import (
    MAX_QUERY_WORDS,
    MAX_WORD_CHARS,
    InvalidSignature,
    Signature,
    estimated_similarity,
    fold,
    query_words,
    search_words,
    signatures,
    similarity,
    text_hash,
)

_LETTERS = "abcdefghijklmnoprstuvwyz"


def signed(text: str) -> Signature:
    return signatures([text])[0]


def sentence(rng: random.Random, words: int) -> str:
    return " ".join(a_word(rng) for _ in range(words))


def a_word(rng: random.Random) -> str:
    return "".join(rng.choices(_LETTERS, k=rng.randint(3, 9)))


def changed(rng: random.Random, text: str) -> str:
    words = text.split()
    for _ in range(max(1, len(words) // 25)):
        words[rng.randrange(len(words))] = a_word(rng)
    return " ".join(words)


@pytest.mark.parametrize(
    "other",
    ["hello, THERE!", "Hello  there", "Ｈｅｌｌｏ ｔｈｅｒｅ", "«Hello — there»", "\tHello\nthere."],
    ids=["case", "spacing", "width", "punctuation", "lines"],
)
def test_case_width_punctuation_and_spacing_leave_a_signature_as_it_is(other: str) -> None:
    assert signed(other) == signed("Hello there")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The rent is 900 a month", "The rent is 950 a month"),
        ("The dose is 3.5 mg", "The dose is 35 mg"),
        ("It was -5 outside", "It was 5 outside"),
        ("It costs $5", "It costs €5"),
        ("Growth was 5%", "Growth was 5"),
        ("Moved on 2024-05-01", "Moved on 2024-05-02"),
        ("The lease ends in May", "The lease ends in June"),
        ("She does eat meat", "She does not eat meat"),
        ("She can't swim", "She can swim"),
        ("She can’t swim", "She can swim"),
        ("Er hat ein Auto", "Er hat kein Auto"),
        ("Ela não come carne", "Ela come carne"),
        ("Ella nunca come carne", "Ella come carne"),
        ("Elle ne mange pas de viande", "Elle mange de viande"),
        ("彼女は肉を食べます", "彼女は肉を食べません"),
        ("三人います", "四人います"),
        ("two cats live here", "three cats live here"),
    ],
)
def test_a_changed_number_date_or_negation_changes_the_guard_and_shares_no_band(one: str, other: str) -> None:
    first, second = signed(one), signed(other)
    assert first.guard != second.guard
    assert not set(first.bands) & set(second.bands)


def test_texts_without_words_differ_by_their_signs() -> None:
    assert signed("!!!") == Signature(signed("!!!").text_key, 0, ())
    assert signed("!!!").text_key != signed("???").text_key
    assert signatures([]) == []
    assert signed("").bands == ()


@given(st.lists(st.text(max_size=60), max_size=8))
def test_who_shares_a_batch_changes_no_signature(texts: list[str]) -> None:
    assert signatures(texts) == [signed(text) for text in texts]


def test_texts_of_a_million_characters_are_signed_alone_as_in_a_batch() -> None:
    long = "harbour and lantern " * 20_000
    assert signatures(["short", long, "other"]) == [signed("short"), signed(long), signed("other")]


def test_near_duplicates_share_a_band_and_strangers_hardly_ever() -> None:
    rng = random.Random(7)
    texts = [sentence(rng, 40) for _ in range(150)]
    others = [changed(rng, text) for text in texts]
    pairs = [(a, b) for a, b in zip(texts, others, strict=True) if similarity(a, b) >= 0.8]
    assert len(pairs) > 100
    ones, twos = (signatures(list(side)) for side in zip(*pairs, strict=True))
    found = sum(bool(set(one.bands) & set(two.bands)) for one, two in zip(ones, twos, strict=True))
    assert found >= 0.97 * len(pairs)
    strangers = signatures(texts[:100])
    met = sum(bool(set(a.bands) & set(b.bands)) for a in strangers for b in strangers if a is not b)
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
def test_a_packed_signature_comes_back(text: str) -> None:
    assert Signature.unpack(signed(text).pack()) == signed(text)


@pytest.mark.parametrize("packed", [b"", b"\x01", b"\x02" + bytes(80), b"\x01" + bytes(24), b"\x01" + bytes(79)])
def test_what_was_packed_otherwise_is_refused(packed: bytes) -> None:
    with pytest.raises(InvalidSignature):
        Signature.unpack(packed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't read a/b_c.md!", "don t read a b c md"),
        ("João moved to São Paulo", "joão joao moved to são sao paulo"),
        ("Café, 3.5 € on 2024-05-01", "café cafe 3 5 on 2024 05 01"),
        ("東京都2023年", "東京都 東京 京都 2023 年"),
        ("한국어를", "한국어를 한국 국어 어를"),
        ("ภาษา", "ภาษา ภา าษ ษา"),
        ("हिन्दी", "हिन्दी हिनदी"),
        ("ＦＵＬＬ width", "full width"),
        ("Ελλάδα Straße", "ελλάδα ελλαδα strasse"),
        ("🙂 -- ***", ""),
    ],
)
def test_search_words(text: str, words: str) -> None:
    assert search_words(text) == words


def test_a_japanese_question_meets_the_text_that_answers_it() -> None:
    text = search_words("都庁は新宿区にあります。").split()
    assert {"都庁", "新宿"} <= set(query_words("新宿の都庁はどこですか")) & set(text)


def test_a_question_is_asked_without_its_stop_words() -> None:
    assert query_words("Where did the painter live before she moved to Lisbon?") == [
        "painter",
        "live",
        "moved",
        "lisbon",
    ]
    assert query_words("who are you") == ["who", "are", "you"]
    assert query_words("Did she ever go to LA with US?") == ["ever", "go", "la", "us"]
    assert query_words("never no") == ["never", "no"]


@given(st.text(max_size=200))
def test_both_sides_of_a_search_read_alike(text: str) -> None:
    asked = query_words(text)
    assert set(asked) <= set(search_words(text).split())
    assert len(asked) == len(set(asked)) <= MAX_QUERY_WORDS
    assert all(0 < len(word) <= MAX_WORD_CHARS for word in asked)


def test_hostile_texts_take_no_time_to_speak_of() -> None:
    # Marks in the wrong order are sorted by insertion when a text is normalised: quadratic, a minute for these.
    marks = "a" + "\u0301\u0327" * 50_000
    assert fold(marks) == "a"
    assert len(search_words(marks)) < 200
    assert search_words("é" * 30 + "\u0301" * 40 + " and " * 900 + "end").endswith(" end")
    assert len(signatures([marks, "x" * 300_000, " " * 300_000, "\ud800" * 1000])) == 4
    assert search_words("x" * 1_000_000) == "x" * MAX_WORD_CHARS
    assert len(query_words("東京都" * 100_000)) == 4


def test_the_hash_of_a_text_is_that_of_its_bytes() -> None:
    assert text_hash("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len(text_hash("\ud800")) == 32
