"""Commands of the Brain: lookups like an agent's, and the rules and copies of a tenant's Brain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client import NewRule
from sidecar.client.answers.brain import (
    BrainAnswer,
    BrainCopy,
    BrainDetail,
    BrainPage,
    BrainRelation,
    BrainState,
    ReleaseRule,
)


@click.group()
def brain() -> None:
    """Query compiled pages, and share memories in a tenant by approved rules."""


@brain.command(short_help="Shortlist pages for a question, or show details by id.")
@click.argument("text", required=False, default="", metavar="[QUERY]")
@click.option("--detail", "detail_ids", multiple=True, help="Show the page with this id of a shortlist; repeatable.")
@click.option("--limit", type=click.IntRange(1, 10), default=10, show_default=True, help="Pages to shortlist.")
@connected
def query(session: CommandSession, text: str, detail_ids: tuple[str, ...], limit: int) -> int:
    """Shortlist up to ten pages for QUERY, or show the statements of pages of a shortlist, each with its memories.

    The exit code is 1 if one of the pages named by --detail does not exist.

    \b
    Example:
      sidecar brain query "where does maria work"
      sidecar brain query --detail owner:5c1e7c0e-7a43-5d0f-9a3e-0d5b7d1f8a01
    """
    answer = session.client.query_brain_context(query=text, detail_ids=list(detail_ids), limit=limit)
    session.voice.show(answer, lambda one: _draw(one, is_search=bool(text)))
    return FAILED if any(one.status != "found" for one in answer.details) else OK


@brain.command(short_help="Show the release rules and the number of copies.")
@connected
def rules(session: CommandSession) -> None:
    """Show whether turns see the Brain, its rules, and the number of copies. Needs the admin role.

    \b
    Example:
      sidecar brain rules
    """
    session.voice.show(session.client.get_brain(), _draw_state)


@brain.command(short_help="Propose a release rule.")
@click.argument("name")
@click.option("--tag", "tags", multiple=True, help="Release memories with this tag; repeatable.")
@click.option("--type", "memory_types", multiple=True, help="Release memories of this type; repeatable.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="Only with this metadata; repeatable.")
@click.option(
    "--authority", type=click.Choice(["derived", "candidate", "agent", "user"]), default="agent", show_default=True,
    help="The minimum authority.",
)  # fmt: skip
@click.option("--base", "knowledge_base", default="", help="Release the documents of this knowledge base instead.")
@click.option("--document", "document_path", default="", metavar="PATH", help="Of the base, only this document.")
@click.option(
    "--tier", type=click.IntRange(0, 5), default=0, help="The minimum trust tier of its copies; needs --reason."
)
@click.option("--reason", default="", help="Why its copies are trusted more than their sources.")
@connected
def propose(session: CommandSession, name: str, metadata: tuple[str, ...], **options: Any) -> None:
    """Propose the rule NAME, which releases nothing until it is approved. Needs the admin role.

    \b
    Example:
      sidecar brain propose handbook --tag shared --authority user
      sidecar brain propose manuals --base manuals
    """
    if odd := [one for one in metadata if "=" not in one]:
        raise click.BadParameter(f"{odd[0]!r} is not KEY=VALUE", param_hint="--metadata")
    rule = NewRule(
        name=name,
        tags=options["tags"],
        memory_types=options["memory_types"],
        metadata=dict(one.split("=", 1) for one in metadata),
        least_authority=options["authority"],
        trust_tier=options["tier"],
        reason=options["reason"],
        knowledge_base=options["knowledge_base"],
        document_path=options["document_path"],
    )
    session.voice.show(session.client.propose_rule(rule=rule), _draw_rule)


@brain.command(short_help="Approve a proposed rule.")
@click.argument("rule")
@connected
def approve(session: CommandSession, rule: str) -> None:
    """Approve RULE, a name or an id: the memories of all owners are compared with it, existing ones and later ones. Needs the
    admin role.

    \b
    Example:
      sidecar brain approve handbook
    """
    session.voice.show(session.client.approve_rule(rule_id=_rule_id(session, rule)), _draw_rule)


@brain.command(short_help="Withdraw a rule with its copies, or one copy.")
@click.argument("what", metavar="RULE|COPY")
@click.option("--copy", "is_copy", is_flag=True, help="Withdraw the copy with this id, not a rule.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connected
def withdraw(session: CommandSession, what: str, is_copy: bool, yes: bool) -> None:
    """Withdraw a rule (a name or an id) for good with its copies; with --copy, one copy, which no rule releases again.

    Needs the admin role.

    \b
    Example:
      sidecar brain withdraw handbook --yes
      sidecar brain withdraw --copy 0b4f7e9c-58a7-4a59-a7b5-5b7f5f0d3f10 --yes
    """
    rule_id = "" if is_copy else _rule_id(session, what)
    if not yes:
        session.voice.confirm(f"Withdraw the {'copy' if is_copy else 'rule with its copies'}?")
    if is_copy:
        session.voice.show(session.client.withdraw_copy(copy_id=what), lambda one: _draw_copies([one]))
    else:
        session.voice.show(session.client.withdraw_rule(rule_id=rule_id), _draw_rule)


def _rule_id(session: CommandSession, name_or_id: str) -> str:
    """Return the id of the rule with this id, or of the only one with this name that is not withdrawn."""
    rules = session.client.get_brain().rules
    if any(one.rule_id == name_or_id for one in rules):
        return name_or_id
    ids = [one.rule_id for one in rules if one.name == name_or_id and one.state != "withdrawn"]
    if not ids:
        raise click.UsageError(f"no rule is named {name_or_id!r}; see `sidecar brain rules`")
    if len(ids) > 1:
        raise click.UsageError(f"{len(ids)} rules are named {name_or_id!r}; send an id instead: {', '.join(ids)}")
    return ids[0]


@brain.command(short_help="List the copies in the Brain.")
@click.option("--state", type=click.Choice(["released", "held", "withdrawn"]), default=None, help="Only these.")
@limit_option
@connected
def copies(session: CommandSession, state: str | None, limit: int) -> None:
    """List copies with their trust tier and the memories they were made from. Needs the admin role.

    \b
    Example:
      sidecar brain copies --state held
    """
    listed = every(session.client.list_copies, limit=limit, state=state or "")
    session.voice.show(list(listed), _draw_copies)


@brain.command(short_help="Release a held or withdrawn copy, with a reason.")
@click.argument("copy_id", metavar="COPY")
@click.option("--reason", required=True, help="The reason; the audit log keeps it.")
@connected
def release(session: CommandSession, copy_id: str, reason: str) -> None:
    """Release COPY: it gets the trust of the copy that it contradicts. Needs the admin role.

    \b
    Example:
      sidecar brain release 0b4f7e9c-58a7-4a59-a7b5-5b7f5f0d3f10 --reason "checked by phone"
    """
    copy = session.client.release_copy(copy_id=copy_id, reason=reason)
    session.voice.show(copy, lambda one: _draw_copies([one]))


@brain.command(short_help="List the pages of the Brain.")
@limit_option
@connected
def pages(session: CommandSession, limit: int) -> None:
    """List the Brain's pages; `sidecar brain query --detail ID` shows one. Needs the admin role.

    \b
    Example:
      sidecar brain pages
    """
    session.voice.show(list(every(session.client.list_brain_pages, limit=limit)), _draw_pages)


@brain.command(short_help="Give a page of the Brain another title.")
@click.argument("page")
@click.argument("title")
@connected
def rename(session: CommandSession, page: str, title: str) -> None:
    """Give PAGE (an id, a path or a name) another title, which later compiles keep. Needs the admin role.

    \b
    Example:
      sidecar brain rename entity/helios "Helios Labs"
    """
    renamed = session.client.rename_brain_page(page=page, title=title)
    session.voice.show(renamed, lambda one: [f"{page} is now titled {one.title}"])


@brain.command(short_help="Merge a page of the Brain into another.")
@click.argument("page")
@click.argument("into", required=False, default="")
@click.option("--undo", is_flag=True, help="Undo the merge of PAGE.")
@connected
def merge(session: CommandSession, page: str, into: str, undo: bool) -> None:
    """Merge PAGE into INTO, which later compiles keep; with --undo, undo that. Needs the admin role.

    \b
    Example:
      sidecar brain merge entity/helios-office entity/helios
      sidecar brain merge entity/helios-office --undo
    """
    session.client.merge_brain_pages(page=page, into=into, undo=undo)
    outcome = "is a separate page after the next compile" if undo else f"is now a part of {into}"
    session.voice.show({"page": page, "into": into, "undone": undo}, lambda _: [f"{page} {outcome}"])


@brain.command(short_help="Remove a wrong sentence from a page of the Brain.")
@click.argument("page", required=False, default="")
@click.argument("sentence", required=False, default="")
@click.option("--restore", default="", metavar="REPORT", help="Restore the sentence of this report instead.")
@connected
def wrong(session: CommandSession, page: str, sentence: str, restore: str) -> None:
    """Remove SENTENCE from PAGE for good, or restore one. `sidecar brain rules --json` lists the reports. Needs the admin role.

    \b
    Example:
      sidecar brain wrong entity/helios "Helios is in Porto."
    """
    fields = {"page": page, "sentence": sentence, "restore_report_id": restore}
    report = session.client.report_brain_sentence(**fields)
    done = "is restored on" if restore else "is removed from"
    session.voice.show(report, lambda one: [f"{one.sentence!r} {done} {one.path}  {one.report_id}"])


@brain.command(short_help="State a typed edge between pages of the Brain.")
@click.argument("page")
@click.argument("edge_type", metavar="TYPE")
@click.argument("target")
@click.option("--remove", is_flag=True, help="Take back an edge that was stated by hand.")
@connected
def edge(session: CommandSession, page: str, edge_type: str, target: str, remove: bool) -> None:
    """State by hand that an edge of TYPE leads from PAGE to TARGET, or take it back. Needs the admin role.

    \b
    Example:
      sidecar brain edge entity/priya-raman works_at entity/helios
    """
    was_removed = session.client.write_brain_edge(page=page, target=target, edge_type=edge_type, remove=remove)
    outcome = ("taken back" if was_removed else "it was not stated by hand") if remove else "stated"
    session.voice.show({"removed": was_removed}, lambda _: [f"{page}  {edge_type}  {target}: {outcome}"])


@brain.command(short_help="Show the Brain in turns, or hide it.")
@click.argument("state", type=click.Choice(["on", "off"]))
@connected
def show(session: CommandSession, state: str) -> None:
    """Show the Brain in turns and queries of the tenant, or hide it, within seconds. Needs the admin role.

    \b
    Example:
      sidecar brain show off
    """
    session.client.show_brain(is_shown=state == "on")
    session.voice.show({"is_shown": state == "on"}, lambda one: [f"the Brain is {'on' if one['is_shown'] else 'off'}"])


def _draw_state(found: BrainState) -> Iterator[Any]:
    counts = f"{found.released_count:,} released, {found.held_count:,} held, {found.withdrawn_count:,} withdrawn"
    yield f"turns {'see' if found.is_shown else 'do not see'} the Brain; copies: {counts}"
    for one in found.rules:
        yield from _draw_rule(one)
    if not found.rules:
        yield "No rules; propose one: sidecar brain propose"


def _draw_rule(one: ReleaseRule) -> Iterator[Any]:
    criteria = [f"tag {tag}" for tag in one.tags] + [f"type {kind}" for kind in one.memory_types]
    criteria += [f"{key}={value}" for key, value in one.metadata.items()]
    if one.knowledge_base:
        which = one.document_path or "every document"
        criteria = [f"{which} of the knowledge base {one.knowledge_base}"]
    raised = f", trusted as tier {one.trust_tier}: {one.reason}" if one.trust_tier else ""
    yield f"{one.name}  {one.state}  {one.rule_id}"
    least = "" if one.knowledge_base else f", from {one.least_authority}"
    yield f"    {', '.join(criteria)}{least}{raised}"


def _draw_copies(found: Sequence[BrainCopy]) -> Iterator[Any]:
    yield drawing.rows(
        ("copy", "state", "tier", "of", "text"),
        ((one.copy_id, one.state, str(one.trust_tier), _origin(one), one.text[:80]) for one in found),
        empty="No copies.",
    )


def _origin(copy: BrainCopy) -> str:
    return f"{copy.knowledge_base}:{copy.document_path}" if copy.document_path else copy.origin_memory_id


def _draw_pages(found: Sequence[BrainPage]) -> Iterator[Any]:
    yield drawing.rows(
        ("page", "type", "id"), ((one.title, one.type, one.id) for one in found), empty="The Brain has no pages yet."
    )


def _draw(found: BrainAnswer, *, is_search: bool) -> Iterator[Any]:
    for hit in found.hits:
        yield f"{hit.index:>2}. {hit.title}  {hit.id}"
        if hit.description:
            yield f"    {hit.description}  {_memories(hit.memory_ids)}"
    if found.failed_scopes:
        yield f"not searched: {', '.join(found.failed_scopes)}"
    if is_search and not found.hits:
        yield "No page is about that."
    for detail in found.details:
        yield from _draw_detail(detail)


def _draw_detail(detail: BrainDetail) -> Iterator[Any]:
    if detail.status != "found":
        yield f"{detail.id}: {detail.status.replace('_', ' ')}"
        return
    where = "shared in the tenant" if detail.scope == "brain" else detail.type
    yield f"{detail.title}  ({where})  {detail.id}"
    heading = ""
    for one in detail.statements:
        if one.heading != heading:
            heading = one.heading
            yield f"  {heading}"
        yield f"  - {one.text}  {_memories(one.memory_ids)}"
    yield from (f"  {_relation(detail.title, one)}" for one in detail.relations)
    if detail.pages:
        yield "  lists: " + ", ".join(f"{one.title} ({one.id})" for one in detail.pages)


def _relation(title: str, one: BrainRelation) -> str:
    ends = [title, one.page.title if one.page else "?"]
    since = f" since {one.valid_from_time.date()}" if one.valid_from_time else ""
    until = f" until {one.valid_until_time.date()}" if one.valid_until_time else ""
    source, target = reversed(ends) if one.is_inward else ends
    return f"{source}  {one.edge_type}  {target}{since}{until}  {_memories(one.memory_ids)}"


def _memories(memory_ids: Sequence[str]) -> str:
    return f"[{', '.join(memory_ids)}]"
