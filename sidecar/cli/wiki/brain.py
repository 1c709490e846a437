"""Commands of the Brain: look something up in compiled pages as an agent does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared.output import printable
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers.brain import BrainAnswer, BrainDetail, BrainRelation


@click.group()
def brain() -> None:
    """Look things up in compiled pages, as an agent does."""


@brain.command(short_help="Shortlist pages for a question, or show details by id.")
@click.argument("text", required=False, default="", metavar="[QUERY]")
@click.option(
    "--detail", "detail_ids", multiple=True, help="Show the page with this id of a shortlist; may be given again."
)
@click.option("--limit", type=click.IntRange(1, 10), default=10, show_default=True, help="Pages to shortlist.")
@connected
def query(session: CommandSession, text: str, detail_ids: tuple[str, ...], limit: int) -> None:
    """Shortlist up to ten pages for QUERY, or show what pages of a shortlist say, each statement with its memories.

    \b
    Example:
      sidecar brain query "where does maria work"
      sidecar brain query --detail owner:5c1e7c0e-7a43-5d0f-9a3e-0d5b7d1f8a01
    """
    found = session.client.query_brain_context(query=text, detail_ids=list(detail_ids), limit=limit)
    session.voice.show(found, lambda one: _draw(one, is_search=bool(text)))


def _draw(found: BrainAnswer, *, is_search: bool) -> Iterator[Any]:
    for hit in found.hits:
        yield printable(f"{hit.index:>2}. {hit.title}  {hit.id}")
        if hit.description:
            yield printable(f"    {hit.description}  {_memories(hit.memory_ids)}")
    if is_search and not found.hits:
        yield "No page is about that."
    for detail in found.details:
        yield from _draw_detail(detail)


def _draw_detail(detail: BrainDetail) -> Iterator[Any]:
    if detail.status != "found":
        yield printable(f"{detail.id}: {detail.status.replace('_', ' ')}")
        return
    yield printable(f"{detail.title}  ({detail.type})  {detail.id}")
    heading = ""
    for one in detail.statements:
        if one.heading != heading:
            heading = one.heading
            yield printable(f"  {heading}")
        yield printable(f"  - {one.text}  {_memories(one.memory_ids)}")
    yield from (printable(f"  {_relation(detail.title, one)}") for one in detail.relations)
    if detail.pages:
        yield printable("  lists: " + ", ".join(f"{one.title} ({one.id})" for one in detail.pages))


def _relation(title: str, one: BrainRelation) -> str:
    ends = [title, one.page.title if one.page else "?"]
    since = f" since {one.valid_from_time.date()}" if one.valid_from_time else ""
    until = f" until {one.valid_until_time.date()}" if one.valid_until_time else ""
    source, target = reversed(ends) if one.is_inward else ends
    return f"{source}  {one.edge_type}  {target}{since}{until}  {_memories(one.memory_ids)}"


def _memories(memory_ids: Sequence[str]) -> str:
    return f"[{', '.join(memory_ids)}]"
