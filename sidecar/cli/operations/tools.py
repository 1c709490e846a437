"""Commands about tools of MCP servers and about remote backends: list, approve, test, switch off and on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers.backends import Backend, Tool, ToolListing, Webhook

_backend = click.argument("backend")
_tool = click.argument("tool")


@click.group()
def tools() -> None:
    """Show the tools of MCP servers and approve them. A turn calls a tool only while its approved declaration is unchanged."""


@tools.command("list", short_help="List the tools and their approval.")
@click.option("--backend", default="", help="Only this server. Default: all.")
@connected
def list_tools(session: CommandSession, backend: str) -> int:
    """List the tools that servers declare, their approval, and the reasons why turns do not call them.

    \b
    Example:
      sidecar tools list --backend harbour
    """
    listing = session.client.list_tools(backend=backend)
    session.voice.show(listing, draw_tools)
    return FAILED if listing.problems else OK


@tools.command(short_help="Approve a tool's present declaration.")
@_backend
@_tool
@click.option("--hash", "schema_hash", default="", help="The declaration's hash as `tools list --json` shows it.")
@connected
def approve(session: CommandSession, backend: str, tool: str, schema_hash: str) -> None:
    """Approve a tool's present declaration. Any change of it revokes the approval.

    \b
    Example:
      sidecar tools approve harbour search
    """
    session.voice.show(session.client.approve_tool(backend=backend, tool=tool, schema_hash=schema_hash), _draw_approved)


@tools.command(short_help="Revoke a tool's approval.")
@_backend
@_tool
@connected
def revoke(session: CommandSession, backend: str, tool: str) -> None:
    """Revoke a tool's approval: the next turn does not call it.

    \b
    Example:
      sidecar tools revoke harbour search
    """
    was_approved = session.client.revoke_tool(backend=backend, tool=tool)
    session.voice.show({"backend": backend, "tool": tool, "was_approved": was_approved}, _draw_revoked)


@tools.command(short_help="Call a tool once.")
@_backend
@_tool
@click.argument("question")
@connected
def test(session: CommandSession, backend: str, tool: str, question: str) -> None:
    """Call a read-only tool once with a question, approved or not, and show the texts that a turn would get.

    \b
    Example:
      sidecar tools test harbour search "Which berth is free?"
    """
    texts = session.client.test_tool(backend=backend, tool=tool, question=question)
    session.voice.show({"texts": list(texts)}, _draw_texts)


@click.group()
def backends() -> None:
    """Show the remote backends, switch them off or on, and create webhooks for changed memories."""


@backends.command("list", short_help="List the backends and their switches.")
@connected
def list_backends(session: CommandSession) -> None:
    """List the tenant's backends and their switches.

    \b
    Example:
      sidecar backends list
    """
    session.voice.show(session.client.list_backends(), _draw_backends)


@backends.command(short_help="Switch a backend off.")
@_backend
@click.option("--reason", default="", help="The reason, shown in the list.")
@connected
def off(session: CommandSession, backend: str, reason: str) -> None:
    """Switch a backend off, from the next turn on.

    \b
    Example:
      sidecar backends off handbook --reason "re-indexing"
    """
    _switch(session, backend, is_off=True, reason=reason)


@backends.command(short_help="Switch a backend on again.")
@_backend
@click.option("--reason", default="", help="The reason, shown in the list.")
@connected
def on(session: CommandSession, backend: str, reason: str) -> None:
    """Switch a backend on again, from the next turn on.

    \b
    Example:
      sidecar backends on handbook
    """
    _switch(session, backend, is_off=False, reason=reason)


@backends.command(short_help="Create, show or delete an owner's webhook.")
@_backend
@click.option("--remove", is_flag=True, help="Delete it.")
@connected
def webhook(session: CommandSession, backend: str, remove: bool) -> None:
    """Create the owner's webhook of a backend, or show the existing one; a request to it queues a compile.

    \b
    Example:
      sidecar backends webhook memories --owner ada
    """
    if remove:
        was_there = session.client.delete_webhook(backend=backend)
        session.voice.show({"backend": backend, "was_there": was_there}, _draw_removed)
        return
    session.voice.show(session.client.create_webhook(backend=backend), _draw_webhook)


def _switch(session: CommandSession, backend: str, *, is_off: bool, reason: str) -> None:
    session.client.switch_backend(backend=backend, is_off=is_off, reason=reason)
    session.voice.show({"backend": backend, "is_off": is_off}, _draw_switched)


def draw_tools(listing: ToolListing) -> Iterator[Any]:
    """Yield the tools, and the servers that do not answer."""
    yield drawing.rows(
        ("backend", "tool", "called", "why", "hash"),
        (
            (one.backend, one.name, "no" if one.why_not else "yes", one.why_not, one.schema_hash)
            for one in listing.tools
        ),
        empty="No tools." if listing.problems else "No tools; set up a backend that declares some (docs/backends.md).",
    )
    yield from (f"no answer: {problem}" for problem in listing.problems)


def _draw_approved(tool: Tool) -> Iterator[str]:
    yield f"{tool.backend}/{tool.name} is approved as {tool.schema_hash}"


def _draw_revoked(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['backend']}/{facts['tool']} " + ("is revoked" if facts["was_approved"] else "was not approved")


def _draw_texts(facts: dict[str, Any]) -> Iterator[str]:
    yield from facts["texts"] or ["(nothing)"]


def _draw_backends(found: Sequence[Backend]) -> Iterator[Any]:
    yield drawing.rows(
        ("backend", "is", "why", "author"),
        ((one.name, "off" if one.is_off else "on", one.reason, one.author) for one in found),
        empty="No backends; set one up (docs/backends.md).",
    )


def _draw_switched(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['backend']} is {'off' if facts['is_off'] else 'on'} from the next turn on"


def _draw_removed(facts: dict[str, Any]) -> Iterator[str]:
    yield f"{facts['backend']}: " + ("removed" if facts["was_there"] else "there was none")


def _draw_webhook(made: Webhook) -> Iterator[str]:
    yield f"path    {made.path}"
    yield f"secret  {made.secret}"
