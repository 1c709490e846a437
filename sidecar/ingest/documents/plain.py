"""Converts plain text to paragraphs, which are separated by blank lines. No other structure is inferred."""

import re
from collections.abc import Iterator

from sidecar.ingest.documents.document import DocumentPart

_BLANK_LINE = re.compile(r"\n[^\S\n]*\n")


def parts(text: str) -> Iterator[DocumentPart]:
    """Yield the text's paragraphs in order, with their line breaks."""
    start = 0
    for blank in _BLANK_LINE.finditer(text):
        yield DocumentPart("paragraph", text[start : blank.start()])
        start = blank.end()
    yield DocumentPart("paragraph", text[start:])
