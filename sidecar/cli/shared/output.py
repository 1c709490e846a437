"""The output of a command: its result on standard output, everything else on standard error.

With --json the result is one JSON document and nothing else is written to standard output. Control characters in external
text are replaced before it is written to a terminal.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

import click
import orjson

from sidecar.cli.shared.failures import CommandFailed, ConfirmationMissing, clipped

_WIDEST = 10_000
_WIDTH_OF_A_PIPE = 160  # without a terminal: wide enough for a reason on one line

V = TypeVar("V")
Step = Callable[[int], None]

# Control characters, line separators, and characters that change the text direction.
_DRIVING = (*range(32), *range(127, 160), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_SHOWN = {code: "\N{REPLACEMENT CHARACTER}" for code in _DRIVING if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    """Return the text with control and direction characters replaced, so that stored text cannot control the terminal."""
    return text.translate(_SHOWN)


def write_text(file: Path, text: str) -> None:
    """Write the text to a file, replacing its content. Raises CommandFailed if it cannot be written."""
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandFailed(f"{file}: {error.strerror or 'cannot be written'}; name another file.") from error


def counted(count: int, one: str, many: str = "") -> str:
    """Return the count with its noun; the plural is `one` with an s, or `many`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


@dataclass(frozen=True, slots=True)
class Voice:
    """The output of one command: for a person, or as JSON."""

    is_json: bool

    def show(self, value: V, draw: Callable[[V], Iterable[Any]]) -> None:
        """Write the command's result: as JSON, or drawn by `draw`, with texts as printable lines and everything else by rich."""
        if self.is_json:
            self.document(value)
            return
        for part in draw(value):
            if isinstance(part, str):
                sys.stdout.write(f"{printable(part)}\n")
            else:
                console = _console()
                console.width = max(console.width, least_width(console, part))
                console.print(part)
        sys.stdout.flush()

    def document(self, value: Any) -> None:
        """Write the value as the one JSON document."""
        sys.stdout.buffer.write(_encoded(value) + b"\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Write a progress note to standard error."""
        sys.stderr.write(f"{printable(clipped(text))}\n")
        sys.stderr.flush()

    def confirm(self, question: str) -> None:
        """Ask the user to agree. Raises click.Abort if the user declines, ConfirmationMissing without a terminal."""
        try:
            agreed = click.confirm(printable(clipped(question)), err=True)
        except click.Abort:
            if sys.stdin.isatty():
                raise
            sys.stderr.write("\n")
            raise ConfirmationMissing from None
        if not agreed:
            self.note("Nothing was changed.")
            raise click.Abort

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Step]:
        """Yield a function that advances a bar on standard error; no bar is drawn for JSON or without a terminal."""
        if self.is_json or not sys.stderr.isatty():
            yield _no_step
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(printable(title), total=total)
            yield lambda steps: bar.advance(task, steps)


def _no_step(steps: int) -> None:
    """Advance nothing."""


def _console() -> Any:
    from rich.console import Console

    width = None if sys.stdout.isatty() else _WIDTH_OF_A_PIPE
    return Console(highlight=False, markup=False, emoji=False, width=width)


def least_width(console: Any, part: Any) -> int:
    """Return the width below which a part would lose columns or ids; wider lines run over on a terminal."""
    least: int = console.measure(part, options=console.options.update(width=_WIDEST)).minimum
    return least


def _encoded(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_as_json, option=orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z)
    except orjson.JSONEncodeError:  # it may contain a file name that is not valid text, which is written with escapes
        return json.dumps(value, default=_as_plain, indent=2).encode()


def _as_plain(value: Any) -> Any:
    """Return a JSON form of a value that Python's writer does not support: our values as mappings, others as in orjson."""
    if is_dataclass(value):
        return {one.name: getattr(value, one.name) for one in fields(value)}
    if hasattr(value, "items"):
        return dict(value)
    return orjson.loads(orjson.dumps(value, default=_as_json, option=orjson.OPT_UTC_Z))


def _as_json(value: Any) -> Any:
    """Return a JSON form of a value that orjson does not support: mappings and tuples of other types."""
    if hasattr(value, "items"):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
