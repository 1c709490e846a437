"""Generated and hostile input for what `tests/unit/ingest/chunking/test_chunking.py` tests by example."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.ingest.chunking.chunking import CountTokens, chunk
from sidecar.ingest.chunking.packing import ChunkLimits, Seam, pack
from sidecar.ingest.documents.document import DocumentPart
from tests.unit.ingest.chunking.test_chunking import KINDS, SMALL, Recording, by_characters, by_words, document, texts

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
prose = st.lists(
    st.sampled_from(["the harbour", "opens. ", "Dr. ", "No! ", "港口开放。", "é", "👩‍👩‍👧", "\n", " ", "x" * 70])
)
parts = st.builds(
    DocumentPart,
    kind=st.sampled_from(KINDS),
    text=st.one_of(words, prose.map("".join), prose.map("\n".join)),
    level=st.integers(1, 6),
    page=st.none() | st.integers(1, 9),
)


def by_bytes(texts: Sequence[str]) -> list[int]:
    return [len(text.encode()) for text in texts]


def squashed(text: str) -> str:
    return "".join(text.split())


@settings(deadline=None)
@given(
    st.lists(parts, max_size=12),
    st.sampled_from([by_words, by_characters, by_bytes]),
    st.sampled_from([SMALL, ChunkLimits(), ChunkLimits(target_tokens=4, max_tokens=4, min_tokens=1)]),
)
def test_every_character_is_in_exactly_one_chunk_and_none_is_too_large(
    given_parts: list[DocumentPart], counted: CountTokens, limits: ChunkLimits
) -> None:
    whole = document(*given_parts)
    chunks = chunk(whole, count=counted, limits=limits)
    assert squashed("".join(texts(chunks))) == squashed(whole.text)
    assert [one.position for one in chunks] == list(range(len(chunks)))
    assert all(one.text == whole.text[one.start : one.end] and one.text.strip() for one in chunks)
    assert all(left.end <= right.start for left, right in pairwise(chunks))
    assert [one.tokens for one in chunks] == counted(texts(chunks))
    assert all(one.tokens <= limits.max_tokens for one in chunks if len(one.text) > 1)
    assert chunks == chunk(whole, count=counted, limits=limits)


GRAPHEMES = [
    "a",
    "é",
    "e\u0301\u0302",
    "👩\u200d👩\u200d👧",
    "🇫🇷",
    "👍🏽",
    "क्षि",
    "한",
    "\u1112\u1161\u11ab",
    "港",
    "、",
    "、\u0301",
    " ",
    "x\u200d",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from(GRAPHEMES), min_size=120, max_size=250).map("".join))
def test_graphemes_are_never_split(text: str) -> None:
    whole = document(DocumentPart("paragraph", text))
    chunks = chunk(whole, count=by_bytes, limits=ChunkLimits(target_tokens=60, max_tokens=100, min_tokens=10))
    starts = {match.start() for match in regex.finditer(r"\X", whole.text)}
    assert len(chunks) > 1
    assert all(one.start in starts for one in chunks)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 32), st.sampled_from(list(Seam))), max_size=60))
def test_packing_holds_every_unit_once_and_leaves_no_small_chunk_that_would_fit(units: list[tuple[int, Seam]]) -> None:
    tokens, seams = [size for size, _ in units], [seam for _, seam in units]
    runs = pack(tokens, seams, SMALL)
    assert [unit for start, end in runs for unit in range(start, end)] == list(range(len(units)))
    sizes = [sum(tokens[start:end]) for start, end in runs]
    assert all(size <= SMALL.max_tokens for size in sizes)
    assert all(min(two) >= SMALL.min_tokens or sum(two) > SMALL.max_tokens for two in pairwise(sizes))


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_only_small_chunks_cross_a_section(section_words: list[int]) -> None:
    given_parts = [
        part
        for number, size in enumerate(section_words)
        for part in (DocumentPart("heading", f"Head{number}", 1), DocumentPart("paragraph", "word " * size))
    ]
    for one in chunk(document(*given_parts), count=by_words, limits=SMALL):
        pieces = [len(piece.split()) for piece in one.text.split("Head") if piece]
        assert len(pieces) == 1 or min(pieces) < SMALL.min_tokens


@settings(deadline=None)
@given(st.lists(st.integers(1, 25), min_size=1, max_size=20))
def test_heading_stays_with_its_text(sizes: list[int]) -> None:
    inner = [(DocumentPart("heading", "Head", 2), DocumentPart("paragraph", "word " * size)) for size in sizes]
    tops = DocumentPart("heading", "Top", 1), DocumentPart("heading", "Top", 1), DocumentPart("paragraph", "word " * 25)
    chunks = chunk(document(tops[0], *(part for two in inner for part in two), *tops[1:]), count=by_words, limits=SMALL)
    assert [one.text for one in chunks if one.text.endswith(("Head", "Top"))] == []


@pytest.mark.parametrize(
    ("text", "largest"),
    [
        ("a" * 200_000, 4_000),
        ("港口在黎明时分开放" * 10_000, 4_000),
        ("👩‍👩‍👧" * 12_000, 4_000),
        ("e" + "\u0301" * 60_000, 4_000),
        ("=" * 200_000, 4_000),
        ("a. " * 60_000, 20_000),
        ("a\n" * 60_000, 20_000),
        ("a" + " " * 200_000 + "b", 4_000),
    ],
    ids=["one word", "chinese", "emoji", "accents", "rule", "sentences", "lines", "spaces"],
)
def test_huge_text_without_breaks_is_counted_about_twice_in_short_pieces(text: str, largest: int) -> None:
    count = Recording()
    chunks = chunk(document(DocumentPart("paragraph", text)), count=count)
    assert squashed("".join(texts(chunks))) == squashed(text)
    assert max(one.tokens for one in chunks) <= ChunkLimits().max_tokens
    asked = [piece for batch in count.batches for piece in batch]
    assert max(map(len, asked)) <= largest
    assert sum(map(len, asked)) <= 4 * len(text)
    assert len(count.batches) <= 6


def test_many_headings_make_no_tiny_chunks() -> None:
    chunks = chunk(document(*(DocumentPart("heading", f"H{n}", 1) for n in range(10_000))), count=by_characters)
    assert min(one.tokens for one in chunks) >= ChunkLimits().min_tokens
    assert max(one.tokens for one in chunks) <= ChunkLimits().max_tokens
