"""Generated and hostile input for what `tests/unit/ingest/documents/test_reader.py` tests by example."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.ingest.documents import markdown, webpage
from sidecar.ingest.documents.document import DocumentPart, lay_out
from sidecar.ingest.documents.reader import read
from sidecar.ingest.errors import (
    IngestError,
)


@settings(deadline=None)
@given(
    st.sampled_from(["a.md", "a.txt", "a.html", "a"]), st.binary(max_size=300) | st.text(max_size=200).map(str.encode)
)
def test_any_bytes_give_a_document_fit_to_store_or_an_ingest_error(name: str, data: bytes) -> None:
    try:
        document = read(name, data)
    except IngestError:
        return
    document.text.encode()
    assert "\x00" not in document.text + document.title
    assert all(block.text and block.text == block.text.rstrip() for block in document.blocks)


@given(st.text(st.characters()), st.lists(st.builds(DocumentPart, st.just("paragraph"), st.text(st.characters()))))
def test_no_reader_keeps_nul_or_lone_surrogates_in_a_document(title: str, parts: list[DocumentPart]) -> None:
    document = lay_out(title + "\ud800\0", "text/plain", parts)
    (document.text + document.title).encode()
    assert "\0" not in document.text + document.title


@pytest.mark.parametrize(("read_parts", "paragraph"), [(markdown.parts, "{}\n\n"), (webpage.parts, "<p>{}</p>")])
def test_flood_of_paragraphs_is_not_read_to_its_end(read_parts: Callable[..., Any], paragraph: str) -> None:
    flood = paragraph.format("a" * 3_000) * 600
    assert 100 < len(read_parts(flood, most=100)[1]) < 300
    assert len(read_parts(flood)[1]) == 600
