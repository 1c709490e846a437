"""Reads conversations from exports. The reader of the format is chosen by content."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

from sidecar.ingest.errors import NotConversations, UnreadableExport
from sidecar.ingest.exports import chatgpt_export, claude_export, openai_messages, owner_export, slack_export
from sidecar.ingest.exports.archive import Archive, FolderArchive, ZipArchive, is_zip, opened
from sidecar.ingest.exports.conversation import (
    Conversation,
    ImportedTurn,
    SkippedPiece,
    Unusable,
    gathered,
    id_of,
    is_memory,
)
from sidecar.ingest.exports.records import FileRecord, records
from sidecar.ingest.opening import opened_at

_EXPORTED = re.compile(r"conversations(?:-\d+)?\.json")
_TURNS_AT_ONCE = 5_000
_THREAD_KEYS = ("thread_id", "conversation_id", "session_id")


def read_conversations(name: str, data: bytes | BinaryIO) -> Iterator[Conversation | SkippedPiece]:
    """Yield the conversations and the skipped pieces of an export, in its order.

    Reads JSONL of OpenAI-style messages (a message or a `{"messages": […]}` on each line), a JSON array of either, an owner's
    export, and ChatGPT, Claude and Slack exports, zipped or not. A stream must be seekable; JSONL is read one conversation at a
    time. Raises UnreadableExport or TooLarge, and NotConversations if a memory comes before any message.
    """
    stream = opened(data)
    if is_zip(stream):
        yield from _archived(ZipArchive(name, stream))
    else:
        kinds = (owner_export.THREAD, owner_export.TURN)
        yield from _recorded(name, owner_export.selected(name, records(name, stream), kinds, "turns"))


def conversations_at(path: Path) -> Iterator[Conversation | SkippedPiece]:
    """Yield the conversations of an export on disk, a file or an unzipped folder. Also raises UnreadablePath."""
    with opened_conversations(path) as read:
        yield from read()


@contextmanager
def opened_conversations(path: Path) -> Iterator[Callable[[], Iterator[Conversation | SkippedPiece]]]:
    """Yield a function that reads the export on disk, also more than once, and also from a pipe. Raises UnreadablePath."""
    if path.is_dir():
        yield lambda: _archived(FolderArchive(path))
        return
    with opened_at(path) as stream:

        def read() -> Iterator[Conversation | SkippedPiece]:
            stream.seek(0)
            return read_conversations(str(path), stream)

        yield read


def _archived(archive: Archive) -> Iterator[Conversation | SkippedPiece]:
    exported = [name for name in archive.names() if _EXPORTED.fullmatch(PurePosixPath(name).name)]
    if exported:
        for name in exported:
            yield from read_conversations(f"{archive.name}: {name}", archive.read(name))
    elif slack_export.is_slack(archive):
        yield from slack_export.conversations(archive)
    else:
        raise UnreadableExport(archive.name, "it has neither conversations.json nor the channels of a Slack export")


def _recorded(name: str, file_records: Iterator[FileRecord | SkippedPiece]) -> Iterator[Conversation | SkippedPiece]:
    """Yield conversations from records. Consecutive single messages of the same thread form a conversation."""
    stem = PurePosixPath(name.replace("\\", "/")).stem
    thread_id, turns, kept = "", list[ImportedTurn](), dict[str, int]()
    has_messages = False
    for record in file_records:
        if isinstance(record, SkippedPiece):
            yield record
            continue
        if owner_export.kind_of(record.value):
            yield from gathered(name, thread_id, "", turns, kept)
            yield from owner_export.conversations(name, chain([record], file_records))
            return
        if is_memory(record.value) and not has_messages:
            raise NotConversations(name, f"{record.position} is a memory, not a message")
        has_messages = True
        if not openai_messages.is_message(record.value):
            yield from _conversation(name, record, f"{stem}:{record.number}")
            continue
        own_thread_id = _thread_of(record.value, stem)
        if turns and (own_thread_id != thread_id or len(turns) >= _TURNS_AT_ONCE):
            yield from gathered(name, thread_id, "", turns, kept)
            turns, kept = [], kept if own_thread_id == thread_id else {}
        thread_id = own_thread_id
        try:
            turns.append(openai_messages.turn(record.value, record.number, thread_id))
        except Unusable as error:
            yield SkippedPiece(name, record.position, str(error), error.is_lost)
    yield from gathered(name, thread_id, "", turns, kept)


def _thread_of(message: Mapping[str, Any], stem: str) -> str:
    return id_of(next((message[key] for key in _THREAD_KEYS if message.get(key)), None) or stem or "import")


def _conversation(name: str, record: FileRecord, default_id: str) -> Iterator[Conversation | SkippedPiece]:
    value = record.value if isinstance(record.value, dict) else {}
    if "mapping" in value:
        yield from chatgpt_export.conversation(name, record)
    elif "chat_messages" in value:
        yield from claude_export.conversation(name, record)
    elif "messages" in value:
        yield from openai_messages.conversation(name, record, default_id)
    elif is_memory(value):
        yield SkippedPiece(
            name, record.position, "it is a memory, not a message; import it with `sidecar memory import`"
        )
    else:
        expected = '{"role": …, "content": …} or {"messages": […]}'
        yield SkippedPiece(name, record.position, f"it is neither a message nor a conversation; write {expected}")
