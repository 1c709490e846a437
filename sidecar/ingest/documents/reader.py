"""Reads documents with the reader of their format.

The format is decided by the content if that is certain (PDF), else by the name's extension, else by the beginning of the text.
"""

import re
from collections.abc import Callable
from pathlib import PurePosixPath

from sidecar.ingest.documents import confined, markdown, plain, webpage
from sidecar.ingest.documents.document import DocumentPart, DocumentText, ReadLimits, lay_out
from sidecar.ingest.errors import TooLarge, UnreadableDocument, UnsupportedFormat
from sidecar.ingest.text import NotText, decode

PdfParts = Callable[[str, bytes, ReadLimits], tuple[str, list[DocumentPart]]]

PDF = "application/pdf"
HTML = "text/html"
MARKDOWN = "text/markdown"
PLAIN = "text/plain"
CSV = "text/csv"
TSV = "text/tab-separated-values"

_MEDIA_TYPES = {
    ".md": MARKDOWN, ".markdown": MARKDOWN, ".mdown": MARKDOWN, ".mkd": MARKDOWN,
    ".html": HTML, ".htm": HTML, ".xhtml": HTML,
    ".pdf": PDF,
    ".txt": PLAIN, ".text": PLAIN, ".log": PLAIN, ".rst": PLAIN, ".adoc": PLAIN, ".org": PLAIN,
    ".csv": CSV, ".tsv": TSV,
}  # fmt: skip
_SNIFFED_BYTES = 1024
_UNTITLED = re.compile(r"\W*untitled(\W*document)?[\W\d]*", re.IGNORECASE)  # default titles that programs write


def read(
    name: str, data: bytes, limits: ReadLimits | None = None, *, pdf_parts: PdfParts = confined.pdf_parts
) -> DocumentText:
    """Return the document in the bytes. `name` is a file name or path. The document's `content` says whether it has text.

    `pdf_parts` reads PDFs, by default in a child process. Raises UnsupportedFormat, UnreadableDocument or TooLarge. It is
    CPU-bound, so run it off the event loop.
    """
    limits = limits or ReadLimits()
    if len(data) > limits.document_bytes:
        raise TooLarge(name, f"it has {len(data)} bytes, the limit is {limits.document_bytes}")
    media_type = media_type_of(name, data)
    title, parts = pdf_parts(name, data, limits) if media_type == PDF else _parts(name, data, media_type, limits)
    if len(parts) > limits.blocks:
        raise TooLarge(name, f"it has more than {limits.blocks} paragraphs")
    named = "" if _UNTITLED.fullmatch(title) else title.strip()
    return lay_out(named or _stem(name), media_type, parts)


def media_type_of(name: str, data: bytes, *, is_whole: bool = True) -> str:
    """Return the media type of the content, or of its beginning if the data is not the whole. Raises UnsupportedFormat if there
    is no reader for it.
    """
    head = data[:_SNIFFED_BYTES]
    if head.lstrip().startswith(b"%PDF-"):
        return PDF
    extension = _path(name).suffix.lower()
    if extension in _MEDIA_TYPES:
        return _MEDIA_TYPES[extension]
    if extension:
        raise UnsupportedFormat(name, f"no reader for {extension} files")
    if head.lstrip()[:14].lower().startswith((b"<!doctype html", b"<html")):
        return HTML
    try:
        decode(data, is_whole=is_whole)
    except NotText:
        raise UnsupportedFormat(name, "the name has no extension and the content is not text") from None
    return PLAIN


def _parts(name: str, data: bytes, media_type: str, limits: ReadLimits) -> tuple[str, list[DocumentPart]]:
    text = _decoded(name, data, media_type)
    if len(text) > limits.text_chars:
        raise TooLarge(name, f"it holds {len(text)} characters, the limit is {limits.text_chars}")
    if media_type == HTML:
        return webpage.parts(text, most=limits.blocks)
    if media_type in {CSV, TSV}:
        return "", [DocumentPart("table", text)]
    return markdown.parts(text, most=limits.blocks) if media_type == MARKDOWN else ("", list(plain.parts(text)))


def _decoded(name: str, data: bytes, media_type: str) -> str:
    try:
        return decode(data, webpage.declared_encoding(data) if media_type == HTML else None)
    except NotText as error:
        raise UnreadableDocument(name, str(error)) from None


def _path(name: str) -> PurePosixPath:
    return PurePosixPath(name.replace("\\", "/"))


def _stem(name: str) -> str:
    return _path(name).stem or "untitled"
