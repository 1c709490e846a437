"""Commands that read the wiki: show, list and search pages, draw the graph, list citations of a memory."""

from __future__ import annotations

import click

from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.wiki import compiles, corrections, drawing, files, quarantine, reports, upkeep

_TYPES = click.Choice(["entity", "topic", "decision"])


@click.group()
def wiki() -> None:
    """Compile memories into pages, read the pages, and maintain them."""


@wiki.command(short_help="Show a page with each section's sources.")
@click.argument("page")
@click.option("--texts", is_flag=True, help="Show the cited memories' texts too.")
@connected
def show(session: CommandSession, page: str, texts: bool) -> None:
    """Show a page: its sections with their sources, its names, links and history.

    PAGE is its id, its path, its slug, or any of its names.

    \b
    Example:
      sidecar wiki show austin
      sidecar wiki show /wiki/entity/casa-lola --texts
    """
    found = session.client.get_page(page=page, with_source_texts=texts)
    session.voice.show(found, drawing.page)


@wiki.command("list", short_help="List pages.")
@click.option("--type", "page_type", type=_TYPES, default=None, help="Only pages of this type.")
@click.option("--order", type=click.Choice(["name", "hubness", "time"]), default="name", show_default=True)
@click.option("--archived", is_flag=True, help="List archived pages instead.")
@limit_option
@connected
def list_pages(session: CommandSession, page_type: str | None, order: str, archived: bool, limit: int) -> None:
    """List pages by name, the largest hubs first, or the latest compiled first.

    \b
    Example:
      sidecar wiki list --order hubness --limit 10
    """
    status = "archived" if archived else "active"
    pages = list(every(session.client.list_pages, limit=limit, type=page_type or "", order=order, status=status))
    session.voice.show(pages, drawing.pages)


@wiki.command(short_help="Find pages by words, beginnings of words, and names.")
@click.argument("query")
@click.option("--type", "page_type", type=_TYPES, default=None, help="Only pages of this type.")
@limit_option
@connected
def search(session: CommandSession, query: str, page_type: str | None, limit: int) -> None:
    """Find active pages, best first.

    \b
    Example:
      sidecar wiki search empan
    """
    hits = list(every(session.client.search_pages, limit=limit, query=query, type=page_type or ""))
    session.voice.show(hits, drawing.hits)


@wiki.command(short_help="List the pages that cite a memory.")
@click.argument("memory_id", metavar="MEMORY_ID")
@limit_option
@connected
def cite(session: CommandSession, memory_id: str, limit: int) -> None:
    """List a memory's citations in pages: by section, summary, name or tag. THROUGH names the listed page that cites the memory.

    \b
    Example:
      sidecar wiki cite mem-0001
    """
    places = list(every(session.client.pages_citing_memory, limit=limit, memory_id=memory_id))
    session.voice.show(places, drawing.citations)


@wiki.command(short_help="List held names: names without a page.")
@click.option("--status", type=click.Choice(["open", "promoted", "ignored"]), default="open", show_default=True)
@limit_option
@connected
def mentions(session: CommandSession, status: str, limit: int) -> None:
    """List held names, the latest changed first.

    \b
    Example:
      sidecar wiki mentions
    """
    session.voice.show(list(every(session.client.list_mentions, limit=limit, status=status)), drawing.mentions)


@wiki.command(short_help="Show pages and the links among them.")
@click.argument("focus", required=False, default="")
@click.option(
    "--depth", type=click.IntRange(1, 4), default=1, show_default=True, help="The maximum number of links from FOCUS."
)
@click.option(
    "--most",
    "most_pages",
    type=click.IntRange(1, 500),
    default=50,
    show_default=True,
    help="The maximum number of pages.",
)
@connected
def graph(session: CommandSession, focus: str, depth: int, most_pages: int) -> None:
    """Show the pages around FOCUS, or the largest hubs, and the links among them.

    \b
    Example:
      sidecar wiki graph austin --depth 2
    """
    part = session.client.graph(focus=focus, depth=depth, most_pages=most_pages)
    session.voice.show(part, drawing.graph)


for command in (
    *compiles.COMMANDS, *upkeep.COMMANDS, *files.COMMANDS, *corrections.COMMANDS, *quarantine.COMMANDS, *reports.COMMANDS,
):  # fmt: skip
    wiki.add_command(command)
