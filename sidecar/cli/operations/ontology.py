"""Commands that govern the ontology: versions, change sets and their review, approval, rollback, scan, files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.output import counted, write_text
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client import OntologyChange
from sidecar.client.answers.ontology import (
    Ontology,
    OntologyChangeItem,
    OntologyChangeSet,
    OntologyDifference,
    OntologyJob,
    OntologyScan,
    OntologyVersion,
)
from sidecar.ingest.opening import opened_at

_file = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group()
def ontology() -> None:
    """Govern the types of pages and edges: nothing is in force before an admin has approved it. Needs an admin's token."""


@ontology.command(short_help="Show the types that are in force.")
@click.option("--version", type=click.IntRange(min=0), default=0, help="Another version. Default: the one in force.")
@connected
def types(session: CommandSession, version: int) -> None:
    """Show entity types, relationship types, facet templates and mappings.

    \b
    Example:
      sidecar ontology types --json
    """
    session.voice.show(session.client.get_ontology(version=version), _draw_ontology)


def _draw_ontology(found: Ontology) -> Iterator[Any]:
    if not found.version:
        yield "No version is approved, so no ontology is in force. Draft one with: sidecar ontology draft --seed"
        return
    yield f"version {found.version}"
    yield drawing.rows(
        ("entity type", "name", "kind of", "aliases", "lifecycle"),
        ((one.slug, one.name, one.broad_type, ", ".join(one.aliases), one.lifecycle) for one in found.entity_types),
    )
    yield drawing.rows(
        ("relationship", "name", "from", "to", "cardinality", "lifecycle"),
        (
            (
                one.slug,
                one.name,
                ", ".join(one.source_types) or "any",
                ", ".join(one.target_types) or "any",
                one.cardinality,
                one.lifecycle,
            )
            for one in found.relationship_types
        ),
    )
    yield drawing.rows(
        ("template", "heading", "position", "lifecycle"),
        (
            (f"{one.entity_type}/{one.slug}", one.heading, str(one.position), one.lifecycle)
            for one in found.facet_templates
        ),
    )
    yield drawing.rows(
        ("mapping", "kind", "address"),
        ((f"{one.subject_kind} {one.subject}", one.kind, one.uri) for one in found.mappings),
    )


@ontology.command(short_help="List the versions, newest first.")
@click.option("--since", type=click.IntRange(min=1), default=None, help="Show the changes since this version.")
@limit_option
@connected
def versions(session: CommandSession, since: int | None, limit: int) -> None:
    """List the versions, newest first, or show how the one in force differs from an older version.

    \b
    Example:
      sidecar ontology versions --since 1
    """
    if since is not None:
        session.voice.show(session.client.compare_ontology_versions(before=since, after=0), _draw_differences)
        return
    session.voice.show(list(every(session.client.list_ontology_versions, limit=limit)), _draw_versions)


def _draw_versions(listed: Sequence[OntologyVersion]) -> Iterator[Any]:
    yield drawing.rows(
        ("version", "when", "by", "made of"),
        (
            (
                str(one.version),
                drawing.moment(one.create_time),
                one.author,
                one.change_set_id or (f"version {one.restores} again" if one.restores else "nothing: a rollback"),
            )
            for one in listed
        ),
        empty="No version is approved.",
    )


def _draw_differences(found: Sequence[OntologyDifference]) -> Iterator[Any]:
    yield drawing.rows(
        ("kind", "term", "change", "fields"),
        ((one.kind, one.key, one.change, "; ".join(_field(field) for field in one.fields)) for one in found),
        empty="Nothing differs.",
    )


def _field(field: Any) -> str:
    return f"{field.name}: {field.before_json or '-'} > {field.after_json or '-'}"


@ontology.command(short_help="List the jobs that update pages to a version.")
@limit_option
@connected
def jobs(session: CommandSession, limit: int) -> None:
    """List the jobs that update pages to a version, newest first.

    \b
    Example:
      sidecar ontology jobs --limit 5
    """
    session.voice.show(list(every(session.client.list_ontology_jobs, limit=limit)), _draw_jobs)


def _draw_jobs(listed: Sequence[OntologyJob]) -> Iterator[Any]:
    yield drawing.rows(
        ("job", "versions", "status", "pages", "when", "error"),
        (
            (
                one.job_id,
                f"{one.from_version} > {one.to_version}",
                one.status,
                f"{one.done_pages:,}",
                drawing.moment(one.create_time),
                one.error,
            )
            for one in listed
        ),
        empty="No jobs.",
    )


@ontology.command(short_help="Draft changes for review.")
@click.option("--seed", is_flag=True, help="Draft the packaged ontology.")
@click.option("--title", default="", help="The title of a new change set.")
@click.option("--to", "change_set_id", default="", help="An open change set to add the changes to. Default: a new one.")
@click.argument("file", type=_file, required=False)
@connected
def draft(session: CommandSession, seed: bool, title: str, change_set_id: str, file: Path | None) -> None:
    """Draft the changes of a JSON file, or the packaged ontology. Nothing changes before approval.

    The file has a list of objects with kind (entity_type, relationship_type, facet_template, external_mapping), action (create,
    update, deprecate, remove), key (except for create), term and rationale.

    \b
    Example:
      sidecar ontology draft --seed
      sidecar ontology draft --title "Boats" changes.json
    """
    if seed == (file is not None):
        raise click.UsageError("give a file or --seed")
    changes = () if file is None else _changes(file)
    change_set = session.client.draft_ontology_changes(
        seed=seed, title=title or (file.stem if file else ""), changes=changes, change_set_id=change_set_id
    )
    session.voice.show(change_set, _draw_set)


def _changes(file: Path) -> list[OntologyChange]:
    try:
        with opened_at(file) as stream:
            rows = json.loads(stream.read())
        return [
            OntologyChange(
                kind=str(one["kind"]),
                action=str(one["action"]),
                key=str(one.get("key", "")),
                term_json=json.dumps(one.get("term", {})),
                rationale=str(one.get("rationale", "")),
            )
            for one in rows
        ]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        problem = "is not a JSON list of objects with kind, action and term"
        raise click.BadParameter(problem, param_hint=f"FILE {file}") from error


@ontology.command(short_help="List, show and review change sets.")
@click.option("--accept", "decision", flag_value="accepted", help="Accept the item.")
@click.option("--reject", "decision", flag_value="rejected", help="Reject the item, or the whole change set.")
@click.option("--edit", default="", help="Changed fields of the item's term, as a JSON object.")
@click.option("--status", type=click.Choice(["open", "approved", "rejected"]), default=None, help="List only these.")
@click.argument("change_set_id", metavar="[SET]", default="")
@click.argument("item_id", metavar="[ITEM]", default="")
@limit_option
@connected
def review(
    session: CommandSession,
    *,
    decision: str | None,
    edit: str,
    status: str | None,
    change_set_id: str,
    item_id: str,
    limit: int,
) -> None:
    """List change sets; show one with its differences, evidence and impact; or decide on it or on one of its items.

    \b
    Example:
      sidecar ontology review
      sidecar ontology review SET ITEM --accept --edit '{"name": "Boat"}'
      sidecar ontology review SET --reject
    """
    client = session.client
    if not change_set_id:
        listed = every(partial(client.list_ontology_change_sets, status=status or ""), limit=limit)
        session.voice.show(list(listed), _draw_sets)
        return
    if item_id:
        if decision is None and not edit:
            raise click.UsageError("give --accept, --reject or --edit for the item")
        reviewed = client.get_ontology_change_set(change_set_id=change_set_id)
        change_set = client.review_ontology_item(
            change_set_id=change_set_id,
            item_id=item_id,
            decision=decision or "pending",
            edited_json=edit,
            expected_revision=reviewed.revision,
        )
    elif decision == "rejected":
        change_set = client.reject_ontology_change_set(change_set_id=change_set_id)
    elif decision or edit:
        raise click.UsageError("name the item too; approve the whole set with `sidecar ontology approve`")
    else:
        change_set = client.get_ontology_change_set(change_set_id=change_set_id)
    session.voice.show(change_set, _draw_set)


def _draw_sets(listed: Sequence[OntologyChangeSet]) -> Iterator[str]:
    for one in listed:
        counts = ", ".join(f"{one.item_counts.get(name, 0)} {name}" for name in ("pending", "accepted", "rejected"))
        yield f"{one.change_set_id}  {one.status}  {one.title} ({one.origin}; {counts})"
    if not listed:
        yield "No change sets."


def _draw_set(one: OntologyChangeSet) -> Iterator[Any]:
    made = f" as version {one.applied_version}" if one.applied_version else ""
    yield f"{one.change_set_id}  {one.title}"
    yield f"{one.status}{made}, revision {one.revision}, drafted by {one.drafted_by}"
    if one.impact:
        yield f"would change {_impact(one.impact)}"
    if one.problem:
        yield f"cannot be approved: {one.problem}"
    for item in one.items:
        yield from _draw_item(item)


def _impact(impact: Mapping[str, int]) -> str:
    """Return a change set's impact in words."""
    counts = ", ".join(counted(impact.get(f"{name}s", 0), name) for name in ("page", "section", "edge"))
    held = f"{counted(impact.get('pages_held', 0), 'page')} and {counted(impact.get('edges_held', 0), 'edge')} of these held"
    first = "the first " if impact.get("is_partial") else ""
    return f"{counts}; {held} (of {first}{counted(impact.get('pages_looked_at', 0), 'page')})"


def _draw_item(item: OntologyChangeItem) -> Iterator[str]:
    uses = ", ".join(f"{count:,} {name}" for name, count in sorted(item.uses.items()))
    yield ""
    yield f"{item.item_id}  {item.decision}  {item.action} {item.kind} {item.key}" + (f"  ({uses})" if uses else "")
    if item.rationale:
        yield f"    {item.rationale}"
    for field in item.difference.fields if item.difference else ():
        yield f"    {_field(field)}"
    for example in item.evidence:
        yield f"    “{example.quote}” ({example.source} {example.memory_id})"


@ontology.command(short_help="Approve a change set.")
@click.option("--revision", type=click.IntRange(min=0), default=0, help="The revision that you reviewed. Default: any.")
@click.argument("change_set_id", metavar="SET")
@connected
def approve(session: CommandSession, revision: int, change_set_id: str) -> None:
    """Approve a change set: its items that are not rejected make the next version, and pages are updated to it.

    With SIDECAR_ONTOLOGY_FOUR_EYES, the admin who drafted or edited it may not approve it.

    \b
    Example:
      sidecar ontology approve 6f1c2f6e-0000-4000-8000-000000000001
    """
    version = session.client.approve_ontology_change_set(change_set_id=change_set_id, expected_revision=revision)
    session.voice.show([version], _draw_versions)


@ontology.command(short_help="Put an older version in force again.")
@click.argument("version", type=click.IntRange(min=0))
@connected
def rollback(session: CommandSession, version: int) -> None:
    """Make a new version equal to an older one, and update the pages to it. Version 0 is empty, as before the first approval.

    \b
    Example:
      sidecar ontology rollback 1
    """
    session.voice.show([session.client.roll_back_ontology(version=version)], _draw_versions)


@ontology.command(short_help="Scan for missing types.")
@connected
def scan(session: CommandSession) -> None:
    """Scan pages, waiting names, edges and memories for missing types, and propose them in a change set.

    A rescan adds to it, keeps edited and decided items, and proposes no rejected type again.

    \b
    Example:
      sidecar ontology scan
    """
    session.voice.show(session.client.scan_ontology(), _draw_scan)


def _draw_scan(found: OntologyScan) -> Iterator[Any]:
    looked_at = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in sorted(found.looked_at.items()))
    yield f"{counted(found.owners, 'owner')}: {looked_at or 'no data to scan'}"
    yield f"{found.new_items:,} new, {found.known_items:,} known, {found.rejected_items:,} rejected before"
    if found.change_set is not None:
        yield from _draw_set(found.change_set)


@ontology.command(short_help="Write an ontology to a file.")
@click.option("--version", type=click.IntRange(min=0), default=0, help="Another version. Default: the one in force.")
@click.option("--format", "form", type=click.Choice(["json", "jsonld"]), default="json", show_default=True)
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@connected
def export(session: CommandSession, version: int, form: str, file: Path) -> None:
    """Write an ontology to a file, as JSON or JSON-LD; `import` reads both back.

    \b
    Example:
      sidecar ontology export --format jsonld ontology.jsonld
    """
    content = session.client.export_ontology(version=version, format=form)
    write_text(file, content)
    session.voice.show({"file": str(file), "bytes": len(content.encode())}, _draw_written)


def _draw_written(written: dict[str, Any]) -> Iterator[Any]:
    yield f"{written['file']}: {counted(written['bytes'], 'byte')}"


@ontology.command("import", short_help="Draft the differences of a file's ontology.")
@click.argument("file", type=_file)
@connected
def import_(session: CommandSession, file: Path) -> None:
    """Draft the terms of an exported ontology that the one in force lacks or has otherwise. Terms that the file lacks stay.

    \b
    Example:
      sidecar ontology import ontology.json
    """
    with opened_at(file) as stream:
        content = stream.read().decode(errors="replace")
    session.voice.show(session.client.draft_ontology_changes(content=content), _draw_set)
