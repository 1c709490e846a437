"""What the readers of exports and memory files found, as the client sends it. Pure."""

from __future__ import annotations

from sidecar.client.encoding import NewMemory, NewTurn
from sidecar.client.shapes import ToolCall, ToolResult
from sidecar.ingest.conversation import ImportedTurn
from sidecar.ingest.memories import ImportedMemory


def new_turn(turn: ImportedTurn) -> NewTurn:
    """Return an imported turn as the service takes it."""
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
    """Return an imported memory as the service takes it; its tags join what else is known about it."""
    tags = {"tags": list(memory.tags)} if memory.tags else {}
    return NewMemory(
        memory_id=memory.id,
        text=memory.text,
        occurred_time=memory.occurred_at or memory.created_at,
        document_id=memory.document_id,
        metadata={**memory.metadata, **tags},
        turn_ids=memory.turn_ids,
    )
