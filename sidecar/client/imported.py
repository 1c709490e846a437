"""Converts turns and memories read from export files to the client's values. Pure."""

from __future__ import annotations

from sidecar.client.encoding import NewMemory, NewTurn
from sidecar.client.shapes import ToolCall, ToolResult
from sidecar.ingest.exports.conversation import ImportedTurn
from sidecar.ingest.exports.memories import ImportedMemory


def new_turn(turn: ImportedTurn) -> NewTurn:
    """Return the turn to send for an imported turn."""
    parts = tuple(
        ToolCall(part["id"], part["name"], part["arguments"])
        if part["type"] == "tool_call"
        else ToolResult(part["id"], part["content"])
        for part in turn.parts
    )
    return NewTurn(
        client_turn_id=turn.client_turn_id,
        role=turn.role,
        text=turn.text,
        parts=parts,
        speaker=turn.speaker,
        said_time=turn.said_at,
        is_imported=True,
    )


def new_memory(memory: ImportedMemory) -> NewMemory:
    """Return the memory to send for an imported memory; its tags are added to its metadata."""
    tags = {"tags": list(memory.tags)} if memory.tags else {}
    return NewMemory(
        memory_id=memory.id,
        text=memory.text,
        occurred_time=memory.occurred_at or memory.created_at,
        document_id=memory.document_id,
        metadata={**memory.metadata, **tags},
        turn_ids=memory.turn_ids,
        memory_type=memory.memory_type,
        status=memory.status,
        confidence=memory.confidence,
        authority=memory.authority,
        domains=memory.domains,
        valid_from_time=memory.valid_from,
        valid_until_time=memory.valid_until,
        valid_precision=memory.valid_precision,
        pinned=memory.pinned,
    )
