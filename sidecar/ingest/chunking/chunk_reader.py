"""Reads documents and cuts them into chunks; `read` in this process, `read_apart` in a child process.

Reading and cutting 32 MB takes ten seconds, during which a thread would slow every turn. The child process gets only the bytes
and returns JSON, since a document may be hostile.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import os
import signal
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import orjson

from models.tokens.encodings import count
from sidecar.ingest import errors
from sidecar.ingest.chunking import chunking
from sidecar.ingest.documents import reader
from sidecar.ingest.documents.document import Content, ReadLimits
from sidecar.ingest.errors import IngestError, UnreadableDocument
from store.content.derived import Derived
from store.content.documents import NewChunk, NewDocument, PreparedChunk, PreparedDocument, prepare_chunks

MAX_DOCUMENT_BYTES = 32 << 20
HEADING_GAP = " > "

_CHUNKS_PER_LINE = 200
_MOST_LINE_BYTES = 1 << 28


def read(path: str, content: bytes, count_tokens: chunking.CountTokens) -> NewDocument:
    """Return the document in chunks. A large document takes seconds. Raises an IngestError."""
    document = reader.read(path, content, ReadLimits(document_bytes=MAX_DOCUMENT_BYTES))
    if document.content is Content.NO_TEXT_LAYER:
        raise UnreadableDocument(path, "its pages are scanned images without a text layer")
    chunks = chunking.chunk(document, count=count_tokens)
    return NewDocument(
        path=path,
        title=document.title,
        media_type=document.media_type,
        content_hash=sha256(content).digest(),
        chunks=tuple(NewChunk(chunk.text, HEADING_GAP.join(chunk.heading_path), chunk.page) for chunk in chunks),
    )


async def read_apart(path: str, content: bytes) -> PreparedDocument:
    """Return the document ready to be stored, read in a child process that ends with the call.

    Its batches can be iterated only once.

    Tokens are counted in o200k_base. Raises an IngestError.
    """
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=_MOST_LINE_BYTES,
        start_new_session=True,  # the reader of PDFs is a grandchild process, which must end with the child
    )
    try:
        head, *lines = await _read_output(child, path, content)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        await child.wait()
    if "error" in head:
        raise getattr(errors, head["error"])(path, head["detail"])
    return PreparedDocument(
        path, head["title"], head["media_type"], bytes.fromhex(head["sha256"]), head["chunks"], map(_batch, lines)
    )


async def _read_output(child: asyncio.subprocess.Process, path: str, content: bytes) -> list[Any]:
    """Return the child's first line, parsed, followed by its other lines as bytes."""
    assert child.stdin is not None
    assert child.stdout is not None
    # A crashed child reads nothing, which uvloop tells with a RuntimeError; the missing output shows it.
    with contextlib.suppress(ConnectionError, RuntimeError):
        child.stdin.writelines((orjson.dumps(path), b"\n", content))
        await child.stdin.drain()
        child.stdin.close()
    head = await child.stdout.readline()
    lines = [line async for line in child.stdout]
    if await child.wait() or not head:
        raise UnreadableDocument(path, "its reader crashed")
    return [orjson.loads(head), *lines]


def _batch(line: bytes) -> list[PreparedChunk]:
    return [
        PreparedChunk(
            NewChunk(text, heading, page),
            Derived(base64.b64decode(text_hash), base64.b64decode(signature), words, word_count, marks),
        )
        for text, heading, page, text_hash, signature, words, word_count, marks in orjson.loads(line)
    ]


def _lines(path: str, content: bytes) -> Iterator[Any]:
    try:
        document = read(path, content, lambda texts: count(texts, "o200k_base"))
    except IngestError as error:
        yield {"error": type(error).__name__, "detail": error.detail}
        return
    described = {"title": document.title, "media_type": document.media_type, "chunks": len(document.chunks)}
    yield described | {"sha256": document.content_hash.hex()}
    for start in range(0, len(document.chunks), _CHUNKS_PER_LINE):
        prepared = prepare_chunks(document.title, document.chunks[start : start + _CHUNKS_PER_LINE])
        yield [_row(item.chunk, item.derived) for item in prepared]


def _row(chunk: NewChunk, derived: Derived) -> list[object]:
    packed = (base64.b64encode(value).decode() for value in (derived.text_hash, derived.signature))
    return [chunk.text, chunk.heading, chunk.page, *packed, derived.words, derived.word_count, derived.marks]


def main() -> None:
    """Read a path and a document from standard input, and write the rows to store to standard output."""
    path = orjson.loads(sys.stdin.buffer.readline())
    for line in _lines(path, sys.stdin.buffer.read()):
        sys.stdout.buffer.write(orjson.dumps(line) + b"\n")


if __name__ == "__main__":
    main()
