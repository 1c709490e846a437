"""Commands that write the wiki to files: its density over time, and its pages as Markdown.

Files are written atomically, and only inside the named folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

import click

from sidecar.cli.shared.failures import CommandFailed
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.wiki import drawing
from sidecar.client.answers.wiki import Density


@click.command(short_help="Count pages and links.")
@click.option(
    "--append", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write a dated Markdown file there."
)
@connected
def density(session: CommandSession, folder: Path | None) -> None:
    """Count pages, links by kind and origin, and the share of pages with a reference link.

    \b
    Example:
      sidecar wiki density --append docs/metrics
    """
    counts = session.client.link_density()
    if folder is None:
        session.voice.show(counts, _draw_density)
        return
    file = written_density(folder, counts, datetime.now(UTC), owner=session.owner)
    session.voice.note(f"wrote {file}")
    facts = {one.name: getattr(counts, one.name) for one in fields(counts)}
    session.voice.show({**facts, "file": str(file)}, lambda _: _draw_density(counts))


def _draw_density(found: Density) -> Iterator[Any]:
    return drawing.density(found)


def written_density(folder: Path, found: Density, now: datetime, *, owner: str = "") -> Path:
    """Write the counts to a file named by the time in seconds (plus a number if it exists), and return it.

    Raises CommandFailed if the file cannot be written.
    """
    name = f"wiki-link-density-{now:%Y%m%dT%H%M%SZ}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return _kept(folder, name, drawing.density_document(found, now, owner=owner))
    except OSError as error:
        raise CommandFailed(
            f"{folder / name}: {error.strerror or 'cannot be written'}; name another folder."
        ) from error


def _kept(folder: Path, name: str, text: str) -> Path:
    """Write the text to a new file and return it; an existing file is never overwritten."""
    place = 1
    while True:
        target = folder / (f"{name}-{place}.md" if place > 1 else f"{name}.md")
        try:
            file = target.open("x", encoding="utf-8")
        except FileExistsError:
            place += 1
            continue
        with file:
            file.write(text)
        return target


@click.command(short_help="Write the wiki as Markdown files.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@connected
def export(session: CommandSession, folder: Path) -> None:
    """Write every active page as a Markdown file with front matter, under FOLDER/TYPE/SLUG.md.

    Files of an earlier export are replaced; files of deleted pages stay.

    \b
    Example:
      sidecar wiki export vault
    """
    count = 0
    with session.voice.progress("pages", None) as step:
        for file in session.client.export_vault():
            write_file(folder, file.path, file.content)
            count += 1
            step(1)
    line = f"{counted(count, 'file')} under {folder}"
    session.voice.show({"files": count, "folder": str(folder)}, lambda _: [line])


def write_file(folder: Path, path: str, content: str) -> None:
    """Write a file below the folder atomically; a link in its place is replaced, not followed.

    Raises CommandFailed for a path or a link that leads out of the folder, and for a folder that is not writable.
    """
    parts = PurePosixPath(path).parts
    if len(parts) != 2 or any(part in {"", ".", ".."} or "/" in part or "\\" in part for part in parts):
        raise CommandFailed(f"{path!r} leads out of the folder; it was not written.")
    target = folder / parts[0] / parts[1]
    if target.parent.is_symlink():
        raise CommandFailed(f"{target.parent} is a link to another folder; remove it, or name another folder.")
    begun = target.with_name(f".{target.name}.part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        begun.unlink(missing_ok=True)
        with begun.open("x", encoding="utf-8") as file:
            file.write(content)
        begun.replace(target)
    except OSError as error:
        raise CommandFailed(f"{target}: {error.strerror or 'cannot be written'}; name another folder.") from error


COMMANDS = (density, export)
