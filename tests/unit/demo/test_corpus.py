"""The demo's documents: the person's own, and the project's."""

from sidecar.demo import corpus
from sidecar.ingest.chunking import chunk_reader
from tests.support.places import ROOT


def test_the_projects_documents_are_the_demos_but_for_the_page_that_quotes_the_demo() -> None:
    paths = {one.path for one in corpus.documents()}
    pages = {f"project/{one.name}" for one in (ROOT / "docs").glob("*.md")}
    assert pages - paths == {"project/contexts.md"}
    assert {"project/README.md", "travel-and-relocation-handbook.md"} <= paths


def test_every_document_is_read_into_chunks() -> None:
    for one in corpus.documents():
        assert chunk_reader.read(one.path, one.content, lambda texts: [len(text) // 4 + 1 for text in texts]).chunks, (
            one.path
        )
