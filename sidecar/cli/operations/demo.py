"""`sidecar demo`: loads a demo corpus, asks one question, and shows its context."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.event_loop import runner
from sidecar.cli.shared.output import Voice, counted
from sidecar.cli.shared.speaking import speaking
from sidecar.demo import corpus, story
from sidecar.demo.story import Story
from sidecar.runtime import settings

_LINES_SHOWN = 6
_NOUNS = {
    "memories": ("memory", "memories"), "turns": ("turn", "turns"), "documents": ("document", "documents"),
    "pages": ("page", "pages"),
}  # fmt: skip


@click.command(short_help="Load a demo, ask one question, show the context.")
@speaking
def demo(voice: Voice) -> None:
    """Start a sidecar, load a demo corpus, ask one question, and show its context.

    Needs no network and no account. The data are kept, so that the next run is fast and other commands can use them.

    \b
    Example:
      sidecar demo
    """
    read = settings.read(os.environ)
    with runner() as loop:
        answer = loop.run(story.run(read, voice))
    voice.show(answer, _draw_story)


def _draw_story(answer: Story) -> Iterator[Any]:
    scope = f"--tenant {corpus.TENANT} --owner {corpus.OWNER}"
    asking = f"--thread {corpus.THREAD} --model {corpus.MODEL} {scope}"
    yield f"{answer.message}\n"
    yield from drawing.assembly(answer.assembly, max_lines=_LINES_SHOWN)
    new = ", ".join(counted(count, *_NOUNS.get(name, (name, name))) for name, count in answer.loaded.items())
    yield f"loaded and answered in {answer.seconds:.1f} s; written in this run: {new}"
    yield "\nTry next, the first one in a separate terminal:"
    program = _program()
    yield f"  {program} serve"
    yield f'  {program} assemble "When does wave 5 run now, and who decides?" {asking}'
    yield f"  {program} explain {answer.assembly.receipt_id} {scope}"


def _program() -> str:
    """Return the command to run this program again: its name if it is on the PATH, else its path."""
    called = Path(sys.argv[0])
    if shutil.which("sidecar"):
        return "sidecar"
    if called.name != "sidecar":
        return f"{sys.executable} -m sidecar"
    return str(called.relative_to(Path.cwd()) if called.is_relative_to(Path.cwd()) else called)
