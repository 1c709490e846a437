"""Commands about profiles: show a level's knobs, change them, list versions, roll back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from sidecar.cli.shared import drawing
from sidecar.cli.shared.paging import every, limit_option
from sidecar.cli.shared.session import CommandSession, connected
from sidecar.cli.shared.speaking import Command
from sidecar.client import knobs
from sidecar.client.answers import ProfileInForce, ProfileVersion

_LEVELS = click.Choice(["tenant", "template", "agent", "space"])


def _of_level(work: Command) -> Command:
    """Add the options that name one level of knobs to a command."""
    work = click.option("--ref", default="", help="The template, agent or space; empty for the tenant.")(work)
    return click.option("--level", type=_LEVELS, required=True, help="The level of the knobs.")(work)


@click.group()
def profile() -> None:
    """Read and change the knobs of turns. A change is in force from the next turn."""


@profile.command(short_help="Show one level's knobs, or the merged ones.")
@click.option("--level", type=_LEVELS, help="The level; without it, the merged knobs in force.")
@click.option("--ref", default="", help="The template, agent or space.")
@click.option("--agent", default="", help="For the merged profile: the agent.")
@click.option("--space", default="", help="For the merged profile: the space.")
@connected
def get(session: CommandSession, level: str | None, ref: str, agent: str, space: str) -> None:
    """Show one level's own knobs or, without a level, all knobs in force for an agent and a space.

    \b
    Example:
      sidecar profile get --agent helper
      sidecar profile get --level template --ref default
    """
    found = session.client.get_profile(level=level or "", ref=ref, agent_id=agent, space_id=space)
    session.voice.show(found, _draw_profile)


@profile.command("set", short_help="Change one level's knobs.")
@_of_level
@click.argument("assignments", nargs=-1, metavar="[KNOB=VALUE]...")
@click.option("--file", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Knobs as JSON.")
@click.option("--replace", is_flag=True, help="Replace all knobs of the level with these.")
@connected
def set_profile(
    session: CommandSession, level: str, ref: str, assignments: Sequence[str], file: Path | None, replace: bool
) -> None:
    """Change one level's knobs; the others stay. An empty value removes a knob, so that it is inherited again.

    Refused if the level was changed concurrently.

    \b
    Example:
      sidecar profile set --level template --ref default knowledge.top_k=20 allocation=pooled
      sidecar profile set --level agent --ref helper --file knobs.json
    """
    changes = {**(knobs.read_json(_text(file)) if file else {}), **knobs.read_assignments(assignments)}
    if not changes and not replace:
        raise click.UsageError("Name at least one KNOB=VALUE, or a --file.")
    found = session.client.get_profile(level=level, ref=ref)
    before = {} if replace else found.profile
    written = session.client.set_profile(
        level=level, ref=ref, profile=changed(before, changes), expected_version=newest_version(found.version)
    )
    session.voice.show(written, _draw_version)


def changed(knobs: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the knobs after the changes; None removes a knob."""
    return {name: value for name, value in {**knobs, **changes}.items() if value is not None}


def newest_version(version: str) -> int:
    """Return the number of a level's version, such as 3 of `template:default@3`; 0 if it has none yet."""
    number = version.rpartition("@")[2]
    return int(number) if number.isdecimal() else 0


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{file} is not UTF-8 text.") from error
    except OSError as error:
        raise click.UsageError(f"{file}: {error.strerror}.") from error


@profile.command(short_help="List one level's versions, newest first.")
@_of_level
@limit_option
@connected
def history(session: CommandSession, level: str, ref: str, limit: int) -> None:
    """List one level's versions, newest first, with time, author and knobs.

    \b
    Example:
      sidecar profile history --level template --ref default
    """
    versions = list(every(session.client.list_profile_versions, limit=limit, level=level, ref=ref))
    session.voice.show(versions, _draw_history)


@profile.command(short_help="Write an earlier version again.")
@click.argument("version", type=click.IntRange(min=1))
@_of_level
@connected
def rollback(session: CommandSession, version: int, level: str, ref: str) -> None:
    """Write an earlier version of one level again, as its newest.

    \b
    Example:
      sidecar profile rollback 3 --level template --ref default
    """
    session.voice.show(session.client.rollback_profile(level=level, ref=ref, version=version), _draw_version)


def _draw_profile(found: ProfileInForce) -> Iterator[str]:
    yield f"version {found.version or '(none)'}"
    yield from _lines(found.profile)
    if not found.profile:
        yield "  no knobs are set here; show those in force with: sidecar profile get"


def _draw_version(written: ProfileVersion) -> Iterator[str]:
    yield f"{f'{written.level} {written.ref}'.rstrip()} is now version {written.version}"
    yield from _lines(written.profile)


def _draw_history(versions: Sequence[ProfileVersion]) -> Iterator[Any]:
    yield drawing.rows(
        ("version", "when", "author", "knobs"),
        (
            (one.version, drawing.moment(one.create_time), one.author, "  ".join(_lines(one.profile, indent="")))
            for one in versions
        ),
        empty="No versions yet; write the first with: sidecar profile set",
    )


def _lines(knobs: Mapping[str, Any], *, indent: str = "  ") -> Iterator[str]:
    for name, value in knobs.items():
        shown = str(value).lower() if isinstance(value, bool) else value
        yield f"{indent}{name}={shown}"
