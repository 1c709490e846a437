"""What chunking promises for any document: nothing lost, nothing too large, breaks where a reader would make them."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.ingest.chunking import Chunk, CountTokens, chunk
from sidecar.ingest.document import Document, Kind, Part, lay_out
from sidecar.ingest.errors import InvalidLimits
from sidecar.ingest.packing import ChunkLimits, Seam, pack

SMALL = ChunkLimits(target_tokens=20, max_tokens=32, min_tokens=5)
KINDS: tuple[Kind, ...] = ("heading", "paragraph", "list", "table", "code", "metadata")


def by_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def by_characters(texts: Sequence[str]) -> list[int]:
    return [-(-len(text) // 4) for text in texts]


def by_bytes(texts: Sequence[str]) -> list[int]:
    return [len(text.encode()) for text in texts]


def by_gluttony(texts: Sequence[str]) -> list[int]:
    return [1_000_000 if text else 0 for text in texts]


class Recording:
    """Counts characters, and remembers what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self.batches.append(list(texts))
        return by_characters(texts)


def document(*parts: Part) -> Document:
    return lay_out("a document", "text/plain", parts)


def squashed(text: str) -> str:
    return "".join(text.split())


def texts(chunks: Sequence[Chunk]) -> list[str]:
    return [one.text for one in chunks]


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
prose = st.lists(
    st.sampled_from(["the harbour", "opens. ", "Dr. ", "No! ", "港口开放。", "é", "👩‍👩‍👧", "\n", " ", "x" * 70])
)
parts = st.builds(
    Part,
    kind=st.sampled_from(KINDS),
    text=st.one_of(words, prose.map("".join), prose.map("\n".join)),
    level=st.integers(1, 6),
    page=st.none() | st.integers(1, 9),
)


@settings(deadline=None)
@given(
    st.lists(parts, max_size=12),
    st.sampled_from([by_words, by_characters, by_bytes]),
    st.sampled_from([SMALL, ChunkLimits(), ChunkLimits(target_tokens=4, max_tokens=4, min_tokens=1)]),
)
def test_every_character_lands_in_exactly_one_chunk_and_none_is_too_large(
    given_parts: list[Part], counted: CountTokens, limits: ChunkLimits
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
def test_graphemes_are_never_parted(text: str) -> None:
    whole = document(Part("paragraph", text))
    chunks = chunk(whole, count=by_bytes, limits=ChunkLimits(target_tokens=60, max_tokens=100, min_tokens=10))
    starts = {match.start() for match in regex.finditer(r"\X", whole.text)}
    assert len(chunks) > 1
    assert all(one.start in starts for one in chunks)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 32), st.sampled_from(list(Seam))), max_size=60))
def test_packing_holds_every_unit_once_and_leaves_no_crumb_that_would_fit(units: list[tuple[int, Seam]]) -> None:
    tokens, seams = [size for size, _ in units], [seam for _, seam in units]
    runs = pack(tokens, seams, SMALL)
    assert [unit for start, end in runs for unit in range(start, end)] == list(range(len(units)))
    sizes = [sum(tokens[start:end]) for start, end in runs]
    assert all(size <= SMALL.max_tokens for size in sizes)
    assert all(min(two) >= SMALL.min_tokens or sum(two) > SMALL.max_tokens for two in pairwise(sizes))


@settings(deadline=None)
@given(st.lists(st.integers(1, 60), min_size=1, max_size=12))
def test_only_crumbs_cross_a_section(section_words: list[int]) -> None:
    given_parts = [
        part
        for number, size in enumerate(section_words)
        for part in (Part("heading", f"Head{number}", 1), Part("paragraph", "word " * size))
    ]
    for one in chunk(document(*given_parts), count=by_words, limits=SMALL):
        pieces = [len(piece.split()) for piece in one.text.split("Head") if piece]
        assert len(pieces) == 1 or min(pieces) < SMALL.min_tokens


def test_sentences_stay_whole_and_chunks_come_near_the_target() -> None:
    sentences = [f"Sentence number {number} tells of one boat and its master." for number in range(200)]
    chunks = chunk(document(Part("paragraph", " ".join(sentences))), count=by_words, limits=SMALL)
    assert all(one.text.endswith(".") and one.text.startswith("Sentence") for one in chunks)
    assert all(SMALL.min_tokens <= one.tokens <= SMALL.max_tokens for one in chunks)
    assert abs(sum(one.tokens for one in chunks) / len(chunks) - SMALL.target_tokens) < 3


@pytest.mark.parametrize("kind", ["table", "code"])
def test_a_table_or_code_block_that_fits_is_never_parted(kind: Kind) -> None:
    block = "\n".join(f"row {number} value" for number in range(10))
    around = Part("paragraph", "Some words come before it. They fill up the chunk nearly. So it goes.")
    chunks = chunk(document(around, Part(kind, block), around), count=by_words, limits=SMALL)
    assert any(block in one.text for one in chunks)


def test_a_table_that_does_not_fit_is_parted_between_rows() -> None:
    rows = [f"row {number} holds a few words more" for number in range(60)]
    chunks = chunk(document(Part("table", "\n".join(rows))), count=by_words, limits=SMALL)
    assert [line for one in chunks for line in one.text.split("\n")] == rows


def test_code_keeps_its_indentation_across_chunks() -> None:
    lines = [f"    deep = call_number_{number}(with_some, arguments, and_more)" for number in range(60)]
    chunks = chunk(document(Part("code", "\n".join(lines))), count=by_words, limits=SMALL)
    assert len(chunks) > 1
    assert [line for one in chunks for line in one.text.split("\n")] == lines


@settings(deadline=None)
@given(st.lists(st.integers(1, 25), min_size=1, max_size=20))
def test_a_heading_stays_with_what_stands_under_it(sizes: list[int]) -> None:
    inner = [(Part("heading", "Head", 2), Part("paragraph", "word " * size)) for size in sizes]
    tops = Part("heading", "Top", 1), Part("heading", "Top", 1), Part("paragraph", "word " * 25)
    chunks = chunk(document(tops[0], *(part for two in inner for part in two), *tops[1:]), count=by_words, limits=SMALL)
    assert [one.text for one in chunks if one.text.endswith(("Head", "Top"))] == []


def test_a_paragraphs_end_is_worth_missing_the_target() -> None:
    paragraph = "Eight words make up this sentence right here. " * 3
    chunks = chunk(document(*[Part("paragraph", paragraph)] * 9), count=by_words, limits=SMALL)
    assert texts(chunks) == [paragraph.strip()] * 9


def test_the_heading_path_is_what_all_of_the_chunk_stands_under() -> None:
    chunks = chunk(
        document(
            Part("heading", "Guide", 1),
            Part("heading", "Fees", 2),
            Part("paragraph", "Small boats pay ten. Large boats pay thirty. Nobody else pays anything at all here."),
            Part("heading", "Hours", 2),
            Part("paragraph", "Open at dawn."),
            Part("heading", "Closing", 3),
            Part("paragraph", "Closed at dusk on most days."),
        ),
        count=by_words,
        limits=SMALL,
    )
    assert [one.heading_path for one in chunks] == [("Guide", "Fees"), ("Guide", "Hours")]


def test_a_chunk_names_the_page_it_begins_on() -> None:
    long = "Nine words make a line of this short text. " * 4
    chunks = chunk(
        document(Part("paragraph", long, page=3), Part("paragraph", long, page=4)), count=by_words, limits=SMALL
    )
    assert [one.page for one in chunks] == [3, 3, 4, 4]


def test_an_empty_document_has_no_chunks_and_asks_no_count() -> None:
    count = Recording()
    assert chunk(document(Part("paragraph", " \n ")), count=count) == []
    assert count.batches == []


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
def test_a_huge_text_without_seams_is_counted_about_twice_in_short_pieces(text: str, largest: int) -> None:
    count = Recording()
    chunks = chunk(document(Part("paragraph", text)), count=count)
    assert squashed("".join(texts(chunks))) == squashed(text)
    assert max(one.tokens for one in chunks) <= ChunkLimits().max_tokens
    asked = [piece for batch in count.batches for piece in batch]
    assert max(map(len, asked)) <= largest
    assert sum(map(len, asked)) <= 4 * len(text)
    assert len(count.batches) <= 6


def test_a_counter_that_calls_everything_too_large_ends_in_single_characters() -> None:
    chunks = chunk(document(Part("paragraph", "some words")), count=by_gluttony, limits=SMALL)
    assert texts(chunks) == list("somewords")


def test_many_headings_make_no_crumbs() -> None:
    chunks = chunk(document(*(Part("heading", f"H{n}", 1) for n in range(10_000))), count=by_characters)
    assert min(one.tokens for one in chunks) >= ChunkLimits().min_tokens
    assert max(one.tokens for one in chunks) <= ChunkLimits().max_tokens


@pytest.mark.parametrize(("low", "target", "high"), [(0, 200, 320), (300, 200, 320), (40, 400, 320)])
def test_limits_that_contradict_one_another_are_refused(low: int, target: int, high: int) -> None:
    with pytest.raises(InvalidLimits, match="min_tokens <= target_tokens <= max_tokens"):
        ChunkLimits(target_tokens=target, max_tokens=high, min_tokens=low)
