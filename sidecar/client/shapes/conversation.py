"""The conversation that an assembly sends to a model provider, in values that fit every provider.

`providers` has the requests of each provider, and `stretches` what they have in common. Neither depends on a network, a client
library or this service's messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MAX_CACHE_POINTS = 4
RECALLED_ZONE = "volatile"


class EmptyMessage(ValueError):
    """The user's message is empty, which every provider refuses; send some text."""


@dataclass(frozen=True, slots=True)
class SystemBlock:
    """One block of context; `zone` is stable for the system prompt, and volatile for the text recalled for the message."""

    text: str
    source: str = ""
    zone: str = ""
    tokens: int = 0
    is_cache_point: bool = False


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool by the model.

    `arguments` is an object, not its JSON text. Stored whole numbers above 2**53 come back as texts, with all their digits.
    """

    id: str
    name: str
    arguments: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.arguments, Mapping):
            kind = type(self.arguments).__name__
            raise TypeError(
                f"arguments: is of type {kind}; pass an object, such as json.loads(arguments) of a JSON text."
            )


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool's result for the call with that id."""

    call_id: str
    content: str

    def __post_init__(self) -> None:
        if not isinstance(self.content, str):
            kind = type(self.content).__name__
            raise TypeError(f"content: is of type {kind}; pass a text, such as json.dumps(content).")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history: user, assistant, tool or system."""

    role: str
    text: str = ""
    parts: tuple[ToolCall | ToolResult, ...] = ()
    turn_id: str = ""
    is_cache_point: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """The content to send: the caller's own system prompt, the blocks, the history, the new message, and its tool turns.

    `tool_turns` are the calls and results since the message. They follow it, so that one assembly serves the whole turn and
    everything before them can be cached.

    If the request will define no tools, providers refuse calls and results, so these are written as text. With
    `is_history_missing` the model is told that the conversation could not be read.
    """

    message: str
    history: Sequence[Message] = ()
    blocks: Sequence[SystemBlock] = ()
    system: str = ""
    has_tools: bool = True
    max_cache_points: int = MAX_CACHE_POINTS
    is_history_missing: bool = False
    tool_turns: Sequence[Message] = ()
