"""Converts the conversations of a Claude export to turns: messages in their order, with the text of attachments appended."""

from collections.abc import Iterator, Mapping
from typing import Any

from sidecar.ingest.exports.conversation import (
    Conversation,
    Empty,
    ImportedTurn,
    Role,
    SkippedPiece,
    Unusable,
    gathered,
    id_of,
    listed,
    time_of,
    word,
)
from sidecar.ingest.exports.message_parts import MessageContent, content_of
from sidecar.ingest.exports.records import FileRecord

_ROLES: Mapping[str, Role] = {"human": "user", "user": "user", "assistant": "assistant"}


def conversation(name: str, record: FileRecord) -> Iterator[Conversation | SkippedPiece]:
    """Yield the skipped pieces of a record with `chat_messages`, then its conversation."""
    value: Mapping[str, Any] = record.value
    conversation_id = id_of(value.get("uuid"), value.get("name"), value.get("created_at"))
    yield from gathered(name, conversation_id, value.get("name"), _turns(name, record, conversation_id))


def _turns(name: str, record: FileRecord, conversation_id: str) -> Iterator[ImportedTurn | SkippedPiece]:
    messages = record.value["chat_messages"]
    if not isinstance(messages, list):
        yield SkippedPiece(name, record.position, '"chat_messages" is not a list; export the conversations again')
        return
    yield from listed(name, record.position, messages, lambda message, number: _turn(message, number, conversation_id))


def _turn(message: object, number: int, conversation_id: str) -> ImportedTurn:
    if not isinstance(message, dict):
        raise Unusable("it is not an object; export the conversations again")
    role = _ROLES.get(word(message.get("sender")))
    if role is None:
        raise Unusable(f"its sender is {message.get('sender')!r}, neither human nor assistant")
    turn_id = id_of(message.get("uuid"), conversation_id, number, message.get("sender"), message.get("text"))
    content = _content(message, turn_id)
    text = "\n\n".join([content.text, *_attached(message)]).strip()
    if not text and not content.parts:
        raise Empty("it is empty: it has no text, attachment or tool call")
    return ImportedTurn(turn_id, role, text, "", time_of(message.get("created_at")), content.parts)


def _content(message: Mapping[str, Any], turn_id: str) -> MessageContent:
    content = content_of(message.get("content") or [], turn_id)
    return MessageContent(content.text or word(message.get("text")).strip(), content.parts)


def _attached(message: Mapping[str, Any]) -> Iterator[str]:
    for key in ("attachments", "files"):
        attached = message.get(key)
        for file in attached if isinstance(attached, list) else ():
            if isinstance(file, dict):
                content = word(file.get("extracted_content"))
                yield f"[file: {file.get('file_name') or 'unnamed'}]\n{content}".strip()
