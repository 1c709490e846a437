"""Commands to correct single pages and names."""

from __future__ import annotations

import click

from sidecar.cli.shared.output import counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers.wiki import DeleteEffect


@click.command(short_help="Give a page another name.")
@click.argument("page")
@click.argument("name")
@connected
def alias(session: CommandSession, page: str, name: str) -> None:
    """Give a page another name, which compiles recognize.

    \b
    Example:
      sidecar wiki alias austin-texas ATX
    """
    added = session.client.add_alias(page=page, alias=name)
    session.voice.show(added, lambda one: [f"{page} is also {one.display}"])


@click.command(short_help="Give a page another title.")
@click.argument("page")
@click.argument("title")
@connected
def rename(session: CommandSession, page: str, title: str) -> None:
    """Give a page another title, which later compiles keep. Its links stay, and its old title remains one of its names.

    \b
    Example:
      sidecar wiki rename bea-holm "Beatrice Holm"
    """
    renamed = session.client.rename_page(page=page, title=title)
    session.voice.show(renamed, lambda one: [f"{one.path} is now titled {one.title}"])


@click.command(short_help="Merge a page into another.")
@click.argument("page")
@click.argument("into")
@connected
def merge(session: CommandSession, page: str, into: str) -> None:
    """Merge PAGE into INTO: its texts, sources, links and names move, and its old name leads there. Later compiles keep it.

    \b
    Example:
      sidecar wiki merge bea beatrice-holm
    """
    merged = session.client.merge_pages(page=page, into=into)
    session.voice.show(merged, lambda one: [f"{page} is now a part of {one.title} ({one.path})"])


@click.command(short_help="Undo a merge.")
@click.argument("page")
@connected
def unmerge(session: CommandSession, page: str) -> None:
    """Undo the merge of a page. A compile rereads the memories that could belong to either page.

    \b
    Example:
      sidecar wiki unmerge bea
    """
    effect = session.client.undo_merge(page=page)
    session.voice.show(
        effect, lambda one: [f"undone: {one.path}; compile {one.job_id} reads {_memories(one.memory_count)} again"]
    )


@click.command(short_help="Archive a page.")
@click.argument("page")
@connected
def archive(session: CommandSession, page: str) -> None:
    """Remove a page from reads and search. Its rows stay; a compile that changes the page activates it again.

    \b
    Example:
      sidecar wiki archive austin
    """
    session.voice.show(session.client.archive_page(page=page), lambda one: [f"archived: {one.path}"])


@click.command(short_help="Delete a page for good.")
@click.argument("page")
@click.option("--yes", is_flag=True, help="Do not ask.")
@connected
def delete(session: CommandSession, page: str, yes: bool) -> None:
    """Delete a page with its sections, names, links and sources.

    \b
    Example:
      sidecar wiki delete austin --yes
    """
    if not yes:
        session.voice.confirm(f"Delete {page} with all its content?")
    effect = session.client.delete_page(page=page)
    session.voice.show({"deleted": effect.page and effect.page.path}, lambda _: [drawn_deletion(effect, page)])


def _memories(count: int) -> str:
    return counted(count, "memory", "memories")


def drawn_deletion(effect: DeleteEffect, named: str) -> str:
    """Return a line with the deleted page, or one saying that there is no page of that name."""
    if effect.page is None:
        return f"there is no page {named!r}; nothing was deleted"
    return f"deleted: {effect.page.title} ({effect.page.path})"


@click.command(short_help="Ignore a held name.")
@click.argument("mention_id", metavar="MENTION")
@connected
def ignore(session: CommandSession, mention_id: str) -> None:
    """Ignore a held name, so that it never becomes a page. `sidecar wiki mentions --json` has the ids.

    \b
    Example:
      sidecar wiki ignore 0198c0de-…
    """
    session.client.ignore_mention(mention_id=mention_id)
    session.voice.show({"ignored": mention_id}, lambda facts: [f"ignored: {facts['ignored']}"])


@click.command(short_help="Keep a section from becoming a page.")
@click.argument("page")
@click.argument("section")
@connected
def suppress(session: CommandSession, page: str, section: str) -> None:
    """Keep a section from ever becoming a separate page.

    \b
    Example:
      sidecar wiki suppress austin restaurants
    """
    kept_section = session.client.suppress_promotion(page=page, section_slug=section)
    session.voice.show(kept_section, lambda one: [f"suppressed: {one.slug} of {page}"])


@click.command(short_help="Undo a section's promotion.")
@click.argument("page")
@click.argument("section")
@connected
def undo(session: CommandSession, page: str, section: str) -> None:
    """Undo a promotion: the promoted page is archived, and the section lists its pages again.

    \b
    Example:
      sidecar wiki undo austin restaurants
    """
    restored = session.client.undo_promotion(page=page, section_slug=section)
    session.voice.show(restored, lambda one: [f"undone: {one.slug} of {page}"])


COMMANDS = (alias, archive, delete, ignore, merge, rename, suppress, undo, unmerge)
