"""`sidecar ingest`: reads a file or a tree of files into a knowledge base."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import click

from sidecar.cli.shared.failures import FAILED, OK, CommandFailed
from sidecar.cli.shared.imports import resumable
from sidecar.cli.shared.output import counted
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.client import CallRefused, CallUnavailable, SidecarCallError
from sidecar.ingest.documents.reader import media_type_of
from sidecar.ingest.errors import UnsupportedFormat
from sidecar.ingest.walk import documents_under

MAX_DOCUMENT_BYTES = 32 << 20
_HEAD_BYTES = 4096


@click.command(short_help="Read documents into a knowledge base.")
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--kb", "base", required=True, help="The knowledge base; created if it does not exist.")
@click.option("--assign-template", multiple=True, metavar="TEMPLATE", help="Assign it to a template; repeatable.")
@click.option("--assign-agent", multiple=True, metavar="AGENT", help="Assign it to an agent; repeatable.")
@click.option("--assign-space", multiple=True, metavar="SPACE", help="Assign it to a space; repeatable.")
@connected
def ingest(session: CommandSession, path: Path, base: str, **assigned: Sequence[str]) -> int:
    """Read documents into a knowledge base: Markdown, text, CSV, HTML and PDF, a file or a whole tree.

    An unchanged document is skipped. A document that cannot be read is reported, and the others continue. Files of other kinds
    in a tree are counted and skipped.

    \b
    Example:
      sidecar ingest docs/ --kb handbook --assign-template default
    """
    files, other = documents(path)
    if not files:
        raise CommandFailed(
            f"{path}: no documents found; name Markdown, text, CSV, HTML or PDF files, or a tree that contains some."
        )
    session.client.create_base(name=base)
    assign(session, base, {name.removeprefix("assign_"): refs for name, refs in assigned.items()})
    facts = read_in(session, base, files) | {"other_kinds": other}
    session.voice.show(facts, _draw)
    return FAILED if facts["failed"] or len(facts["empty"]) == len(files) else OK


def assign(session: CommandSession, base: str, assigned: Mapping[str, Sequence[str]]) -> None:
    """Assign the base to each named template, agent and space."""
    for level, refs in assigned.items():
        for ref in refs:
            session.client.assign_base(base=base, level=level, ref=ref)


def documents(path: Path) -> tuple[list[tuple[str, Path]], list[str]]:
    """Return the files to read with their paths in the base: all under a directory, or the one file.

    Also return the paths of the tree's files of unknown kinds, which are skipped; a file named directly is always read.
    Raises UnreadablePath.
    """
    if path.is_file():
        return [(path.name, path)], []
    named = [(file.relative_to(path).as_posix(), file) for file in documents_under(path)]
    files = [(name, file) for name, file in named if _is_document(file)]
    taken = {name for name, _ in files}
    return files, [name for name, _ in named if name not in taken]


def _is_document(file: Path) -> bool:
    try:
        with file.open("rb") as stream:
            media_type_of(file.name, stream.read(_HEAD_BYTES), is_whole=False)
    except UnsupportedFormat:
        return False
    except OSError:
        return True  # its error is reported when it is read
    return True


def read_in(session: CommandSession, base: str, files: Sequence[tuple[str, Path]]) -> dict[str, Any]:
    """Ingest the files; return the counts of created, updated and unchanged documents, the empty ones, and the failures."""
    outcomes = Counter[str]()
    failed: list[str] = []
    empty: list[str] = []

    def stored() -> str:
        return f"{outcomes.total():,} of {counted(len(files), 'document')}" if outcomes else ""

    with resumable(session.voice, stored), session.voice.progress("documents", len(files)) as step:
        for name, file in files:
            problem = _read_one(session, base, name, file, outcomes, empty)
            if problem:
                failed.append(problem if problem.startswith(name) else f"{name}: {problem}")
            step(1)
    counts = {outcome: outcomes[outcome] for outcome in ("created", "updated", "unchanged")}
    return {"base": base, "documents": len(files), **counts, "empty": empty, "failed": failed}


def _read_one(
    session: CommandSession, base: str, name: str, file: Path, outcomes: Counter[str], empty: list[str]
) -> str:
    """Ingest one document; return the reason if it was refused, else "". A failure of the service ends the whole command."""
    if any("\ud800" <= character <= "\udfff" for character in name):
        return "its name is not valid Unicode; rename it"
    try:
        if (size := file.stat().st_size) > MAX_DOCUMENT_BYTES:  # before it fills the memory
            return f"it has {size:,} bytes, the limit is {MAX_DOCUMENT_BYTES:,}; split it"
        content = file.read_bytes()
    except OSError as error:
        return error.strerror or "it cannot be read"
    try:
        done = session.client.ingest(base=base, path=name, content=content)
    except (CallRefused, CallUnavailable):
        raise
    except SidecarCallError as error:
        return error.message
    if done.document.chunk_count:
        outcomes[done.outcome] += 1
    else:
        empty.append(name)
    return ""


def _draw(facts: dict[str, Any]) -> Iterator[str]:
    counts = ", ".join(f"{facts[name]:,} {name}" for name in ("created", "updated", "unchanged"))
    counts += f", {len(facts['empty']):,} empty" if facts["empty"] else ""
    yield f"{counted(facts['documents'], 'document')} for {facts['base']}: {counts}, {len(facts['failed']):,} failed"
    yield from (f"  {name}: there is no text in it" for name in facts["empty"])
    yield from (f"  {reason}" for reason in facts["failed"])
    if facts["other_kinds"]:
        endings = Counter(PurePosixPath(name).suffix or "no ending" for name in facts["other_kinds"])
        kinds = ", ".join(f"{ending} {count:,}" for ending, count in sorted(endings.items()))
        yield f"  left out, since no reader knows their kind: {kinds}"
