"""The demo's documents."""

from sidecar.demo import corpus
from sidecar.ingest.chunking import chunk_reader


def test_every_document_is_read_into_chunks() -> None:
    documents = corpus.documents()
    assert len(documents) == 3
    for one in documents:
        assert chunk_reader.read(one.path, one.content, lambda texts: [len(text) // 4 + 1 for text in texts]).chunks, (
            one.path
        )
