"""Requests about a tenant's backends: one frozen class per RPC, as in `requests`."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.client.answers.backends import Backend, Tool, ToolListing, Webhook
from sidecar.client.decoding import Inner, Nothing, Whole
from sidecar.client.requests.request import Request

_TOOL_DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListBackends(Request[tuple[Backend, ...]]):
    """List the tenant's backends with their switches."""

    reads = Inner("backends")


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchBackend(Request[None]):
    """Switch a backend off or on, from the next turn on."""

    reads = Nothing()
    backend: str
    is_off: bool
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTools(Request[ToolListing]):
    """List the tools that the tenant's servers declare, of one backend or of all."""

    reads = Whole(ToolListing)
    deadline_s = _TOOL_DEADLINE_S
    backend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApproveTool(Request[Tool]):
    """Approve a tool as it is declared now; with a hash, only if that is still its declaration's."""

    reads = Inner("tool")
    deadline_s = _TOOL_DEADLINE_S
    backend: str
    tool: str
    schema_hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeTool(Request[bool]):
    """Take a tool's approval back; the answer is whether it had one."""

    reads = Inner("was_approved")
    backend: str
    tool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TestTool(Request[tuple[str, ...]]):
    """Call a tool once with a question, approved or not."""

    __test__ = False  # its name is the contract's; test runners take it for theirs
    reads = Inner("texts")
    deadline_s = _TOOL_DEADLINE_S
    backend: str
    tool: str
    question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateWebhook(Request[Webhook]):
    """Make the owner's webhook of a backend, or return the one there is."""

    reads = Whole(Webhook)
    backend: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteWebhook(Request[bool]):
    """Remove the owner's webhook of a backend; the answer is whether there was one."""

    reads = Inner("was_there")
    backend: str
