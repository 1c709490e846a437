"""Converts an assembly to the request of a model provider."""

from sidecar.client.shapes.conversation import (
    MAX_CACHE_POINTS,
    RECALLED_ZONE,
    Conversation,
    EmptyMessage,
    Message,
    SystemBlock,
    ToolCall,
    ToolResult,
)
from sidecar.client.shapes.providers import to_anthropic, to_bedrock_converse, to_openai, to_openai_responses

__all__ = [
    "MAX_CACHE_POINTS",
    "RECALLED_ZONE",
    "Conversation",
    "EmptyMessage",
    "Message",
    "SystemBlock",
    "ToolCall",
    "ToolResult",
    "to_anthropic",
    "to_bedrock_converse",
    "to_openai",
    "to_openai_responses",
]
