"""The client of a sidecar: `Sidecar` blocks, `AsyncSidecar` awaits. One method per RPC, with keyword arguments.

    with Sidecar("127.0.0.1:7433", token) as sidecar:
        assembly = sidecar.assemble_context(message=message, model_id="gpt-4o", thread_id="t1")
        answer = openai.chat.completions.create(model="gpt-4o", **assembly.to_openai(message))

The arguments and results of the methods are in `requests` and `answers`. Callers need no protobuf messages, and nothing
here needs a database or a cloud library. Failed calls raise a SidecarCallError.
"""

from sidecar.client.answers import Assembly, Page
from sidecar.client.async_client import AsyncSidecar
from sidecar.client.blocking_client import Sidecar
from sidecar.client.channel import Tls
from sidecar.client.contract import Stance
from sidecar.client.encoding import (
    EdgeStep,
    JournalPlace,
    JournalRecord,
    NewBudget,
    NewMemory,
    NewRule,
    NewTurn,
    OntologyChange,
)
from sidecar.client.errors import CallRefused, CallUnavailable, RequestUnusable, SidecarCallError, TargetUnusable
from sidecar.client.shapes import EmptyMessage, Message, ToolCall, ToolResult

__all__ = [
    "Assembly",
    "AsyncSidecar",
    "CallRefused",
    "CallUnavailable",
    "EdgeStep",
    "EmptyMessage",
    "JournalPlace",
    "JournalRecord",
    "Message",
    "NewBudget",
    "NewMemory",
    "NewRule",
    "NewTurn",
    "OntologyChange",
    "Page",
    "RequestUnusable",
    "Sidecar",
    "SidecarCallError",
    "Stance",
    "TargetUnusable",
    "Tls",
    "ToolCall",
    "ToolResult",
]
