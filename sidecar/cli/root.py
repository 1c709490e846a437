"""The root of the command: its groups and commands, and the ways in which any of them ends."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

import click

from sidecar.cli.content import knowledge, memory, owner, profile, thread
from sidecar.cli.operations import audit, cost, doctor, health, serving, tokens, tools, working
from sidecar.cli.shared.failures import FAILED, INTERRUPTED, clipped
from sidecar.cli.turns import context as turn
from sidecar.cli.turns import listing, top, usage
from sidecar.cli.wiki import reading

_ABOUT = """Answers, every turn, what an LLM agent should see now.

\b
  sidecar demo                       load a demo, ask one question, see the context
  sidecar serve                      serve on 127.0.0.1:7433
  sidecar assemble "Where to next?" --thread t1 --model gpt-4o
"""


def _version(context: click.Context, option: click.Parameter, is_asked: bool) -> None:
    if is_asked:
        from importlib import metadata

        try:
            click.echo(metadata.version("context-sidecar"))
        except metadata.PackageNotFoundError:
            click.echo("not installed, running from its source")
        context.exit()


@click.group(help=_ABOUT, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version.")
def root() -> None:
    """Hold the commands."""


for command in (
    serving.serve, serving.demo, serving.migrate, serving.embed, turn.assemble, turn.explain, turn.replay, turn.diff,
    thread.thread, memory.memory, owner.owner, knowledge.ingest, profile.profile, tokens.token, usage.usage, health.health,
    working.worker,
    tools.tools, tools.backends, reading.wiki,
    listing.turns, top.top, cost.cost, cost.budget, audit.audit, doctor.doctor,
):  # fmt: skip
    root.add_command(command)


def run(arguments: Sequence[str]) -> int:
    """Run the command line and return its exit code. A closed pipe and Ctrl-C end it without a word."""
    _say_all()
    try:
        code = root.main(args=list(arguments), prog_name="sidecar", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        vars(error)["message"] = clipped(error.message)
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except BrokenPipeError:
        # What is left in the buffer goes nowhere; without this Python would complain when it closes the pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    return code if isinstance(code, int) else 0


def _say_all() -> None:
    """Have signs that the terminal's encoding lacks written as escapes, where they would end the command."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")
