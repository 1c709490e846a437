"""Writes docs/reference.md from the settings, the knobs of turns and the command line. `make reference` runs it."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import click

from sidecar.cli.root import inside, root
from sidecar.runtime.settings import Settings
from sidecar.turn.profile import DEFAULTS

_PAGE = """# Reference

Generated from the code by `make reference`. To change it, edit `sidecar/runtime/settings.py`,
`proto/sidecar/v1/profile.proto` or a command under `sidecar/cli`.

## Settings

The service reads each setting once, at start, from an environment variable. It refuses unknown
variables with the prefix `SIDECAR_`.

| variable | default | description |
|---|---|---|
{settings}

The commands that call the service also read the following variables. An empty `SIDECAR_TOKEN` is refused: otherwise a failed
`sidecar token` would lead to a call as another tenant.

| variable | option | description |
|---|---|---|
{client}

## Knobs of turns

A profile holds the knobs of turns. Its levels are tenant, template, agent, space and turn; of two levels that set a knob
the later one wins. `sidecar profile set --level template --ref default knowledge.top_k=20` makes a new version of a level,
in effect on the next turn and named in its receipt. The knobs of one turn come with its request (`sidecar assemble --set`).
`sidecar profile get --agent NAME --space NAME` shows what is in force. An agent's template is `default` until an admin
[changes it](operations.md#templates-agents-and-bases).

| knob | default | description |
|---|---|---|
{turn_knobs}

Each source (`thread`, `knowledge`, `memory`, `wiki`, `workspace`, `tools`) has these, as `knowledge.top_k`:

| knob | default | description |
|---|---|---|
{source_knobs}

## Commands

`sidecar COMMAND --help` shows the details and examples. Exit codes: 0 success; 1 failure, also of a part; 2 wrong usage; 3 the
service refused the call, or there is no token; 4 the service or the database does not answer; 130 interrupted.

Most commands take {shared}. The table lists the other options.

| command | description | options |
|---|---|---|
{commands}
"""


def reference() -> str:
    """Return the text of docs/reference.md."""
    commands = dict(_commands(root, ()))
    taken = Counter((option.opts[0], option.help) for command in commands.values() for option in _options(command))
    shared = {name for (name, _), count in taken.items() if count > len(commands) / 2}
    return _PAGE.format(
        settings="\n".join(_setting_rows()),
        turn_knobs="\n".join(_turn_knob_rows()),
        source_knobs="\n".join(_source_knob_rows()),
        client="\n".join(sorted({row for command in commands.values() for row in _variable_rows(command)})),
        shared=", ".join(f"`{name}`" for name in sorted(shared)),
        commands="\n".join(_command_row(path, command, shared) for path, command in commands.items()),
    )


def _setting_rows() -> Iterator[str]:
    described = _descriptions()
    for setting in fields(Settings):
        yield _row(f"`SIDECAR_{setting.name.upper()}`", _default(setting), described[setting.name])


def _descriptions() -> dict[str, str]:
    """Return the text under each field of Settings, by the field's name."""
    body = ast.parse(inspect.getsource(Settings)).body[0]
    assert isinstance(body, ast.ClassDef)
    return {
        name.id: " ".join(text.split())
        for statement, following in zip(body.body, body.body[1:], strict=False)
        if isinstance(statement, ast.AnnAssign) and isinstance(name := statement.target, ast.Name)
        if isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(text := following.value.value, str)
    }


def _default(setting: Field[Any]) -> str:
    match setting.default:
        case "" | () | None:
            return "none"
        case default if default is MISSING:
            return "depends on the user"
        case bool(value):
            return f"`{str(value).lower()}`"
        case float(value):
            return f"`{value:g}`"
        case tuple(values):
            return f"`{','.join(values)}`"
        case value:
            return f"`{value}`"


def _turn_knob_rows() -> Iterator[str]:
    defaults = DEFAULTS.as_mapping()
    described, words = _comments("Profile"), {name: _comments(name.capitalize()) for name in ("spend", "allocation")}
    for name in defaults.keys() - words.keys() - {"sources"}:
        assert name in described, f"profile.proto has no comment on {name}"
    for name, text in described.items():
        if name == "sources":
            continue
        values = (
            f"`{value.removeprefix(name.upper() + '_').lower()}`: {said[0].lower()}{said[1:].rstrip('.')}"
            for value, said in words.get(name, {}).items()
            if not value.endswith("_UNSPECIFIED")
        )
        yield _row(f"`{name}`", _knob_value(defaults[name]), " ".join([text, "; ".join(values)]).strip())


def _source_knob_rows() -> Iterator[str]:
    by_source: dict[str, dict[str, Any]] = DEFAULTS.as_mapping()["sources"]
    for name, text in _comments("SourceKnobs").items():
        if name == "source":
            continue
        usual, _ = Counter(knobs[name] for knobs in by_source.values()).most_common(1)[0]
        others = (f"{one} {_knob_value(knobs[name])}" for one, knobs in by_source.items() if knobs[name] != usual)
        yield _row(f"`{name}`", ", ".join([_knob_value(usual), *others]), text)


def _knob_value(value: Any) -> str:
    return "none" if value is None else f"`{str(value).lower()}`"


def _comments(kind: str) -> dict[str, str]:
    """Return the comment on each field or value of a message or enum of profile.proto, by its name."""
    proto = Path(__file__).parents[1] / "proto" / "sidecar" / "v1" / "profile.proto"
    body = re.search(
        rf"^(?:message|enum) {kind} {{\n(.*?)^}}", proto.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    assert body is not None
    found = re.findall(r"((?:  //.*\n)+)  (?:[\w. ]+ )?(\w+) = \d+;", body[1])
    return {name: " ".join(comment.replace("//", " ").split()) for comment, name in found}


def _commands(command: click.Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if not isinstance(command, click.Group):
        yield path, command
        return
    for name, inner in inside(command).items():
        yield from _commands(inner, (*path, name))


def _options(command: click.Command) -> list[click.Option]:
    return [one for one in command.params if isinstance(one, click.Option) and not one.hidden]


def _variable_rows(command: click.Command) -> Iterator[str]:
    for option in _options(command):
        if isinstance(option.envvar, str):
            yield _row(f"`{option.envvar}`", f"`{option.opts[0]}`", option.help or "")


def _command_row(path: tuple[str, ...], command: click.Command, shared: set[str]) -> str:
    context = click.Context(command)
    arguments = [one.make_metavar(context) for one in command.params if isinstance(one, click.Argument)]
    own = [f"`{option.opts[0]}`" for option in _options(command) if option.opts[0] not in shared]
    return _row(f"`{' '.join((*path, *arguments))}`", command.get_short_help_str(limit=500), " ".join(own))


def _row(*cells: str) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    Path(__file__).with_name("reference.md").write_text(reference(), encoding="utf-8")
