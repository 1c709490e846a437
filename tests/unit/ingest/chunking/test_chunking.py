"""What chunking promises for any document: nothing lost, nothing too large, breaks where a reader would make them."""

from collections.abc import Sequence

import pytest

from sidecar.ingest.chunking.chunking import Chunk, chunk
from sidecar.ingest.chunking.packing import ChunkLimits
from sidecar.ingest.documents.document import DocumentPart, DocumentText, Kind, lay_out
from sidecar.ingest.errors import InvalidLimits

SMALL = ChunkLimits(target_tokens=20, max_tokens=32, min_tokens=5)
KINDS: tuple[Kind, ...] = ("heading", "paragraph", "list", "table", "code", "metadata")


def by_words(texts: Sequence[str]) -> list[int]:
    return [len(text.split()) for text in texts]


def by_characters(texts: Sequence[str]) -> list[int]:
    return [-(-len(text) // 4) for text in texts]


def by_gluttony(texts: Sequence[str]) -> list[int]:
    return [1_000_000 if text else 0 for text in texts]


class Recording:
    """Counts characters, and remembers what it was asked."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []

    def __call__(self, texts: Sequence[str]) -> list[int]:
        self.batches.append(list(texts))
        return by_characters(texts)


def document(*parts: DocumentPart) -> DocumentText:
    return lay_out("a document", "text/plain", parts)


def texts(chunks: Sequence[Chunk]) -> list[str]:
    return [one.text for one in chunks]


def test_sentences_stay_whole_and_chunks_are_near_the_target_size() -> None:
    sentences = [f"Sentence number {number} tells of one boat and its master." for number in range(200)]
    chunks = chunk(document(DocumentPart("paragraph", " ".join(sentences))), count=by_words, limits=SMALL)
    assert all(one.text.endswith(".") and one.text.startswith("Sentence") for one in chunks)
    assert all(SMALL.min_tokens <= one.tokens <= SMALL.max_tokens for one in chunks)
    assert abs(sum(one.tokens for one in chunks) / len(chunks) - SMALL.target_tokens) < 3


@pytest.mark.parametrize("kind", ["table", "code"])
def test_fitting_table_or_code_block_is_never_split(kind: Kind) -> None:
    block = "\n".join(f"row {number} value" for number in range(10))
    around = DocumentPart("paragraph", "Some words come before it. They fill up the chunk nearly. So it goes.")
    chunks = chunk(document(around, DocumentPart(kind, block), around), count=by_words, limits=SMALL)
    assert any(block in one.text for one in chunks)


def test_oversized_table_is_split_between_rows() -> None:
    rows = [f"row {number} holds a few words more" for number in range(60)]
    chunks = chunk(document(DocumentPart("table", "\n".join(rows))), count=by_words, limits=SMALL)
    assert [line for one in chunks for line in one.text.split("\n")] == rows


@pytest.mark.parametrize(
    ("first", "above"),
    [
        ("sku | name | price in euros", "sku | name | price in euros"),
        ("Region,2024,2025", "Region,2024,2025"),
        ("C-12 | Huila | 29.90", None),
        ("2026-11-30;180;moved", None),
    ],
)
def test_rows_of_a_split_table_stand_below_its_header_row(first: str, above: str | None) -> None:
    rows = [f"row {number} | holds a few words more | and {number}" for number in range(30)]
    parts = [DocumentPart("heading", "Prices", 1), DocumentPart("table", "\n".join([first, *rows]))]
    begin, *others = chunk(document(*parts), count=by_words, limits=SMALL)
    assert begin.heading_path == ("Prices",)
    assert {one.heading_path for one in others} == {("Prices", above) if above else ("Prices",)}


def test_code_keeps_its_indentation_across_chunks() -> None:
    lines = [f"    deep = call_number_{number}(with_some, arguments, and_more)" for number in range(60)]
    chunks = chunk(document(DocumentPart("code", "\n".join(lines))), count=by_words, limits=SMALL)
    assert len(chunks) > 1
    assert [line for one in chunks for line in one.text.split("\n")] == lines


def test_chunk_may_miss_the_target_to_end_with_a_paragraph() -> None:
    paragraph = "Eight words make up this sentence right here. " * 3
    chunks = chunk(document(*[DocumentPart("paragraph", paragraph)] * 9), count=by_words, limits=SMALL)
    assert texts(chunks) == [paragraph.strip()] * 9


def test_heading_path_covers_the_whole_chunk() -> None:
    chunks = chunk(
        document(
            DocumentPart("heading", "Guide", 1),
            DocumentPart("heading", "Fees", 2),
            DocumentPart(
                "paragraph", "Small boats pay ten. Large boats pay thirty. Nobody else pays anything at all here."
            ),
            DocumentPart("heading", "Hours", 2),
            DocumentPart("paragraph", "Open at dawn."),
            DocumentPart("heading", "Closing", 3),
            DocumentPart("paragraph", "Closed at dusk on most days."),
        ),
        count=by_words,
        limits=SMALL,
    )
    assert [one.heading_path for one in chunks] == [("Guide", "Fees"), ("Guide", "Hours")]


def test_a_chunk_names_the_page_it_begins_on() -> None:
    long = "Nine words make a line of this short text. " * 4
    chunks = chunk(
        document(DocumentPart("paragraph", long, page=3), DocumentPart("paragraph", long, page=4)),
        count=by_words,
        limits=SMALL,
    )
    assert [one.page for one in chunks] == [3, 3, 4, 4]


def test_empty_document_has_no_chunks_and_calls_no_counter() -> None:
    count = Recording()
    assert chunk(document(DocumentPart("paragraph", " \n ")), count=count) == []
    assert count.batches == []


def test_counter_that_rejects_everything_ends_in_single_characters() -> None:
    chunks = chunk(document(DocumentPart("paragraph", "some words")), count=by_gluttony, limits=SMALL)
    assert texts(chunks) == list("somewords")


@pytest.mark.parametrize(("low", "target", "high"), [(0, 200, 320), (300, 200, 320), (40, 400, 320)])
def test_contradictory_limits_are_refused(low: int, target: int, high: int) -> None:
    with pytest.raises(InvalidLimits, match="min_tokens <= target_tokens <= max_tokens"):
        ChunkLimits(target_tokens=target, max_tokens=high, min_tokens=low)
