"""Commands for wrong sentences: report one, list the reports, restore a sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import click

from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client.answers.wiki import SentenceReport


@click.command(short_help="Report a wrong sentence of a page.")
@click.argument("page")
@click.argument("sentence")
@connected
def wrong(session: CommandSession, page: str, sentence: str) -> None:
    """Report that a sentence of a page is wrong. It is removed, and no later compile writes it there; its memory stays.

    \b
    Example:
      sidecar wiki wrong beatrice-holm "Bea Holm moved to Oslo."
    """
    session.voice.show(session.client.report_sentence(page=page, sentence=sentence), lambda one: drawn_reports([one]))


@click.command(short_help="List the sentences reported as wrong.")
@limit_option
@connected
def reports(session: CommandSession, limit: int) -> None:
    """List the sentences reported as wrong, each with its page, memory and id; needs an admin's token.

    \b
    Example:
      sidecar wiki reports --owner mara
    """
    found = list(every(session.client.list_reports, limit=limit))
    session.voice.show(found, lambda one: drawn_reports(one) if one else ["No sentence was reported as wrong."])


@click.command(short_help="Restore a reported sentence.")
@click.argument("report_id", metavar="REPORT")
@connected
def restore(session: CommandSession, report_id: str) -> None:
    """Restore a sentence that was reported as wrong. `sidecar wiki reports` lists the ids.

    \b
    Example:
      sidecar wiki restore 5b1f0c7e…
    """
    path = session.client.restore_sentence(report_id=report_id)
    session.voice.show({"restored": path}, lambda facts: [f"restored on {facts['restored']}"])


def drawn_reports(found: Iterable[SentenceReport]) -> Iterator[str]:
    """Yield a line for each report: the page, the sentence, the memory behind it, and the id that restores it."""
    for one in found:
        memory = f"memory {one.memory_id}" if one.memory_id else "no memory found"
        yield f"{one.path}: {one.sentence or 'forgotten sentence'} ({memory}; restore with: sidecar wiki restore {one.report_id})"


COMMANDS = (reports, restore, wrong)
