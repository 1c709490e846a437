"""Commands for typed edges: show a page's edges, follow patterns, find paths, query the past, state edges, roll back a type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.imports import drawn_refusals, resumable
from sidecar.cli.shared.numbers import FiniteRange
from sidecar.cli.shared.output import counted, write_text
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.shared.times import INSTANT
from sidecar.cli.wiki import drawing
from sidecar.cli.wiki.graph_files import read_file, to_graphml, to_jsonld
from sidecar.client import EdgeStep, SidecarCallError
from sidecar.client.answers.wiki import GraphPath, TypedEdge

_as_of = click.option("--as-of", type=INSTANT, default=None, help="Only edges that were true at this time.")
_known_at = click.option("--known-at", type=INSTANT, default=None, help="Only edges recorded by this time.")


def _times(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for both times of an edge: when it was true, and when it was recorded."""
    return _as_of(_known_at(command))


_EDGE_REFUSED = frozenset({"NOT_FOUND", "FAILED_PRECONDITION", "INVALID_ARGUMENT"})
_since = click.option("--since", type=INSTANT, default=None, help="When the edge begins.")


@click.group()
def graph() -> None:
    """Follow, state and roll back typed edges between pages."""


@graph.command(short_help="Show the typed edges of a page, or all.")
@click.argument("page", required=False, default="")
@click.option("--type", "types", multiple=True, help="Only edges of this type; repeatable.")
@_times
@limit_option
@connected
def edges(session: CommandSession, page: str, types: tuple[str, ...], limit: int, **times: datetime | None) -> None:
    """Show the typed edges from and to PAGE, or all edges without PAGE.

    \b
    Example:
      sidecar graph edges maria --as-of 2024-01-01 --known-at 2024-06-01
    """
    step = EdgeStep(edge_types=types, direction="both" if page else "out")
    paths = every(session.client.query_graph, limit=limit, page=page, steps=[step], **_asked(times))
    session.voice.show([edge for path in paths for edge in path.edges], _draw_edges)


@graph.command(short_help="Follow a pattern of edge types.")
@click.argument("page")
@click.argument("steps", nargs=-1, required=True)
@_times
@limit_option
@connected
def query(session: CommandSession, page: str, steps: tuple[str, ...], limit: int, **times: datetime | None) -> None:
    """Show the paths from PAGE (`-` for any) that follow STEPS: one type each, with the prefix ^ to follow it backwards.

    \b
    Example:
      sidecar graph query maria works_at located_in
      sidecar graph query lisbon ^located_in
    """
    pattern = [
        EdgeStep(edge_types=[one.lstrip("^")], direction="in" if one.startswith("^") else "out") for one in steps
    ]
    start = "" if page == "-" else page
    paths = every(session.client.query_graph, limit=limit, page=start, steps=pattern, **_asked(times))
    session.voice.show(list(paths), _draw_paths)


@graph.command(short_help="Find the shortest paths between two pages.")
@click.argument("page")
@click.argument("target")
@click.option("--type", "types", multiple=True, help="Only over edges of this type; repeatable.")
@_times
@limit_option
@connected
def path(
    session: CommandSession, page: str, target: str, types: tuple[str, ...], limit: int, **times: datetime | None
) -> None:
    """Show the shortest paths from PAGE to TARGET over typed edges in either direction, at most four edges long.

    \b
    Example:
      sidecar graph path maria lisbon
    """
    step = EdgeStep(edge_types=types, direction="both")
    paths = every(session.client.query_graph, limit=limit, page=page, target=target, steps=[step], **_asked(times))
    session.voice.show(list(paths), _draw_paths)


@graph.command("as-of", short_help="Show the edges that were true at a time.")
@click.argument("time", type=INSTANT)
@_known_at
@limit_option
@connected
def as_of_time(session: CommandSession, time: datetime, known_at: datetime | None, limit: int) -> None:
    """Show every typed edge that was true at TIME, as known now or at another time.

    \b
    Example:
      sidecar graph as-of 2024-01-01 --known-at 2024-06-01
    """
    times = _asked({"as_of": time, "known_at": known_at})
    paths = every(session.client.query_graph, limit=limit, page="", steps=[EdgeStep()], **times)
    session.voice.show([edge for one in paths for edge in one.edges], _draw_edges)


@graph.command("set", short_help="State an edge, or its end.")
@click.argument("page")
@click.argument("edge_type", metavar="TYPE")
@click.argument("target")
@_since
@click.option("--until", type=INSTANT, default=None, help="When the edge ends.")
@click.option("--confidence", type=FiniteRange(0, 1, min_open=True), default=None, help="Below 1 if uncertain.")
@connected
def set_edge(session: CommandSession, page: str, edge_type: str, target: str, **period: Any) -> None:
    """State that PAGE has an edge of TYPE to TARGET; with --until, that it is over. Needs the admin role.

    \b
    Example:
      sidecar graph set maria works_at helios --until 2024-06-01
    """
    edge = session.client.write_edge(
        page=page,
        edge_type=edge_type,
        target=target,
        valid_from_time=period["since"],
        valid_until_time=period["until"],
        confidence=period["confidence"],
    )
    session.voice.show(edge, lambda one: _draw_edges([one]))


@graph.command("unset", short_help="Take back an edge that was stated by hand.")
@click.argument("page")
@click.argument("edge_type", metavar="TYPE")
@click.argument("target")
@_since
@connected
def unset_edge(session: CommandSession, page: str, edge_type: str, target: str, since: datetime | None) -> None:
    """Take back an edge stated with `set`; statements of memories stay. Needs the admin role.

    \b
    Example:
      sidecar graph unset maria works_at helios
    """
    was_there = session.client.delete_edge(page=page, edge_type=edge_type, target=target, valid_from_time=since)
    session.voice.show(
        {"was_there": was_there}, lambda one: ["taken back" if one["was_there"] else "it was not stated by hand"]
    )


@graph.command("export", short_help="Write all typed edges to a file.")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--format", "file_format", type=click.Choice(["graphml", "jsonld"]), default="graphml", show_default=True)
@_times
@connected
def export_edges(session: CommandSession, file: Path, file_format: str, **times: datetime | None) -> None:
    """Write all typed edges with their pages, periods and memories as GraphML or JSON-LD.

    \b
    Example:
      sidecar graph export mara.graphml
      sidecar graph export mara.jsonld --format jsonld
    """
    paths = every(session.client.query_graph, limit=0, page="", steps=[EdgeStep()], **_asked(times))
    edges_of_paths = [edge for one in paths for edge in one.edges]
    write_text(file, to_graphml(edges_of_paths) if file_format == "graphml" else to_jsonld(edges_of_paths))
    line = f"{counted(len(edges_of_paths), 'edge')} in {file}"
    session.voice.show({"file": str(file), "edges": len(edges_of_paths)}, lambda _: [line])


@graph.command("import", short_help="State the typed edges of a file.")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@connected
def import_edges(session: CommandSession, file: Path) -> int:
    """State by hand the typed edges of a GraphML or JSON-LD file; importing again changes nothing. Needs the admin role.

    An edge is skipped and reported if one of its pages does not exist or its type is unknown.

    \b
    Example:
      sidecar graph import mara.graphml
    """
    edges = read_file(file)
    stated, skipped = 0, list[str]()

    def stored() -> str:
        return f"{stated:,} of {counted(len(edges), 'edge')}" if stated else ""

    with resumable(session.voice, stored), session.voice.progress("edges", len(edges)) as step:
        for one in edges:
            try:
                session.client.write_edge(
                    page=one.source,
                    target=one.target,
                    edge_type=one.edge_type,
                    valid_from_time=one.valid_from,
                    valid_until_time=one.valid_until,
                    confidence=one.confidence,
                )
                stated += 1
            except SidecarCallError as error:
                if error.code not in _EDGE_REFUSED:
                    raise
                skipped.append(f"{one.source} {one.edge_type} {one.target}: {error}")
            step(1)
    session.voice.show({"stated": stated, "skipped": skipped}, _draw_import)
    if not edges:
        session.voice.note(f"{file}: no typed edges found; name a file that `sidecar graph export` wrote.")
    return OK if edges and not skipped else FAILED


@graph.command(short_help="Remove the edges of a type that rules found.")
@click.argument("edge_type", metavar="TYPE")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only count.")
@connected
def rollback(session: CommandSession, edge_type: str, yes: bool, dry_run: bool) -> None:
    """Remove the evidence that rules found for edges of TYPE, and the edges left without evidence. Needs the admin role.

    \b
    Example:
      sidecar graph rollback owns --dry-run
    """
    if not (yes or dry_run):
        session.voice.confirm(f"Remove every {edge_type} edge that only rules found?")
    effect = session.client.rollback_links(
        origin="deterministic", context_prefix=f"deterministic:edge:{edge_type}", dry_run=dry_run
    )
    session.voice.show(effect, lambda one: drawing.rollback(one, is_dry=dry_run))


def _asked(times: Mapping[str, datetime | None]) -> dict[str, Any]:
    return {f"{name}_time": time for name, time in times.items()}


def _draw_import(done: dict[str, Any]) -> Iterator[str]:
    yield f"stated {counted(done['stated'], 'edge')}, skipped {len(done['skipped']):,}"
    yield from drawn_refusals(done["skipped"], lost=len(done["skipped"]))


def _draw_edges(found: Sequence[TypedEdge]) -> Iterator[Any]:
    for one in found:
        yield _line(one)
    if not found:
        yield "No typed edges; they come from plain statements in memories, or from: sidecar graph set"


def _draw_paths(found: Sequence[GraphPath]) -> Iterator[Any]:
    for one in found:
        steps = zip(one.edges, one.pages, one.pages[1:], strict=False)
        titles = "".join(
            f" ─{edge.edge_type}→ {after.title}" if edge.source == before else f" ←{edge.edge_type}─ {after.title}"
            for edge, before, after in steps
        )
        yield f"{one.pages[0].title}{titles}"
    if not found:
        yield "No such path."


def _line(edge: TypedEdge) -> str:
    period = [f"since {_day(edge.valid_from_time)}"] if edge.valid_from_time else []
    period += [f"until {_day(edge.valid_until_time)}"] if edge.valid_until_time else []
    ends = [one.title if one else "?" for one in (edge.source, edge.target)]
    evidence = ", ".join(edge.memory_ids) or "by hand"
    return f"{ends[0]}  {edge.edge_type}  {ends[1]}{'  ' if period else ''}{' '.join(period)}  [{evidence}]"


def _day(time: datetime | None) -> str:
    return time.date().isoformat() if time else ""
