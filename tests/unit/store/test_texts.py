"""What is derived from a text: search words, signatures, and when two texts count as one."""

from __future__ import annotations

import pytest

from store.text.texts import InvalidSignature, Signature, query_words, search_words, signatures, text_hash


def signed(text: str) -> Signature:
    return signatures([text])[0]


@pytest.mark.parametrize(
    "other",
    ["hello, THERE!", "Hello  there", "Ｈｅｌｌｏ ｔｈｅｒｅ", "«Hello — there»", "\tHello\nthere."],
    ids=["case", "spacing", "width", "punctuation", "lines"],
)
def test_case_width_punctuation_and_spacing_do_not_change_a_signature(other: str) -> None:
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
    assert not set(first.split_bands()) & set(second.split_bands())


def test_texts_without_words_are_distinguished_by_their_characters() -> None:
    assert signed("!!!") == Signature(signed("!!!").text_key, 0, b"")
    assert signed("!!!").text_key != signed("???").text_key
    assert signatures([]) == []
    assert signed("").bands == b""
    assert signed("").split_bands() == ()


def test_million_character_texts_have_the_same_signature_alone_and_in_a_batch() -> None:
    long = "harbour and lantern " * 20_000
    assert signatures(["short", long, "other"]) == [signed("short"), signed(long), signed("other")]


@pytest.mark.parametrize("packed", [b"", b"\x01", b"\x02" + bytes(80), b"\x01" + bytes(24), b"\x01" + bytes(79)])
def test_signature_of_another_format_is_refused(packed: bytes) -> None:
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
def test_text_yields_its_search_words(text: str, words: str) -> None:
    assert search_words(text) == words


def test_japanese_question_matches_the_text_that_answers_it() -> None:
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


def test_hash_of_a_text_is_that_of_its_bytes() -> None:
    assert text_hash("abc").hex() == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert len(text_hash("\ud800")) == 32
