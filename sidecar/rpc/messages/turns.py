"""Turns between messages and values: tool calls and results, new turns, stored turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from sidecar.rpc.transport.validation import read_struct, read_time, write_struct, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.threads import MAX_ARGUMENT_BYTES, MAX_PARTS, check_turn
from sidecar.services.validation import check_count
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2
from store.content.threads import NewTurn, StoredTurn


def chars_of(turn: pb.NewTurn) -> int:
    """Return the characters of a sent turn's text and of the tool results among its parts."""
    return len(turn.text) + sum(len(part.tool_result.content) for part in turn.parts)


def read_turn(field: str, message: pb.NewTurn, *, now: datetime) -> NewTurn:
    """Return a turn to append, with its tokens not counted yet. Raises InvalidArgument naming the invalid part."""
    check_count(f"{field}.parts", message.parts, most=MAX_PARTS)
    turn = NewTurn(
        client_turn_id=message.client_turn_id,
        role=message.role,
        text=message.text,
        said_at=read_time(f"{field}.said_time", message.said_time) if message.HasField("said_time") else now,
        o200k_tokens=0,
        cl100k_tokens=0,
        speaker=message.speaker,
        parts=tuple(_read_part(f"{field}.parts[{place}]", part) for place, part in enumerate(message.parts)),
        is_imported=message.is_imported,
    )
    check_turn(field, turn)
    return turn


def _read_part(field: str, part: items_pb2.MessagePart) -> dict[str, Any]:
    call, result = part.tool_call, part.tool_result
    match part.WhichOneof("part"):
        case "tool_call":
            arguments = read_struct(f"{field}.tool_call.arguments", call.arguments, max_bytes=MAX_ARGUMENT_BYTES)
            return {"type": "tool_call", "id": call.id, "name": call.name, "arguments": arguments}
        case "tool_result":
            return {"type": "tool_result", "id": result.call_id, "content": result.content}
        case _:
            raise InvalidArgument(field, "is neither a call nor a result", "send tool_call or tool_result")


def write_turn(turn: StoredTurn) -> pb.Turn:
    """Return a stored turn as a message."""
    return pb.Turn(
        turn_id=str(turn.turn_id),
        client_turn_id=turn.client_turn_id,
        position=turn.position,
        role=turn.role,
        speaker=turn.speaker,
        text=turn.text,
        parts=write_parts(turn.parts),
        said_time=write_time(turn.said_at),
        tokens=turn.o200k_tokens,
        is_imported=turn.is_imported,
    )


def write_parts(parts: Iterable[Mapping[str, Any]]) -> list[items_pb2.MessagePart]:
    """Return tool calls and results as messages."""
    return [_write_part(part) for part in parts]


def _write_part(part: Mapping[str, Any]) -> items_pb2.MessagePart:
    if part["type"] == "tool_call":
        call = items_pb2.ToolCall(id=part["id"], name=part["name"], arguments=write_struct(part["arguments"]))
        return items_pb2.MessagePart(tool_call=call)
    return items_pb2.MessagePart(tool_result=items_pb2.ToolResult(call_id=part["id"], content=part["content"]))
