"""Shared by all commands: --json, and errors as one line and an exit code. Loads no client, since not all commands need one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import click

from sidecar.cli.shared import failures
from sidecar.cli.shared.output import Voice

Command = Callable[..., Any]


def speaking(work: Command) -> Command:
    """Add --json and a `voice` to a command, and convert its errors to one line and an exit code."""

    @click.option("--json", "is_json", is_flag=True, help="Write one JSON document and nothing else.")
    @functools.wraps(work)
    def command(*, is_json: bool, **options: Any) -> None:
        voice = Voice(is_json)
        try:
            code = work(voice=voice, **options)
        except failures.user_errors() as error:
            fail(voice, error)
        except (click.Abort, KeyboardInterrupt):
            if is_json:
                voice.document(failures.facts_of(failures.Interrupted("interrupted")))
            raise
        raise click.exceptions.Exit(code or failures.OK)

    return command


def fail(voice: Voice, error: Exception) -> NoReturn:
    """Report the error, as JSON too if requested, and end with its exit code."""
    voice.note(f"sidecar: {failures.line_of(error)}")
    if voice.is_json:
        voice.document(failures.facts_of(error))
    raise click.exceptions.Exit(failures.exit_code(error)) from error
