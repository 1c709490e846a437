"""What the README and docs/ say, held against what is there: settings, commands, the first request, links, dependencies."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import click
import pytest

from sidecar.cli.root import inside, root
from sidecar.client import Assembly, NewTurn, Sidecar
from sidecar.runtime.settings import Settings
from tests.unit.each import each

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LOGGED = re.compile(r'\b_?log\.(?:info|warning|error)\(\s*"(\w+)"')
REQUIREMENT = re.compile(r"[A-Za-z0-9-]+")


def settings_table() -> dict[str, str]:
    """Return the default that the README gives for each variable; one row may hold several, in order."""
    rows = re.findall(r"^\| (`SIDECAR_.*?) \| (.*?) \| .* \|$", README, re.MULTILINE)
    return {
        variable: default.strip()
        for variables, defaults in rows
        for variable, default in zip(
            re.findall(r"`(\w+)`", variables),
            defaults.split(",") if defaults.count(",") == variables.count(",") else [defaults] * 9,
            strict=False,
        )
    }


def as_written(value: Any) -> str:
    """Return a default as the README writes it."""
    match value:
        case "" | () | None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case tuple():
            return ", ".join(value)
        case _:
            return str(value)


def test_every_setting_is_in_the_table_and_nothing_else() -> None:
    assert settings_table().keys() == {f"SIDECAR_{field.name.upper()}" for field in fields(Settings)}


@each("field", [one for one in fields(Settings) if one.default is not MISSING])
def test_the_table_has_the_default(field: Any) -> None:
    shown = settings_table()[f"SIDECAR_{field.name.upper()}"].replace("`", "")
    default = as_written(field.default)
    assert shown == default if default else shown.startswith(("none", "the "))


def test_every_command_is_in_the_table() -> None:
    table = README[README.index("## The commands") : README.index("## Settings")]
    shown = {
        word
        for cell in re.findall(r"^\| (.*?) \| ", table.replace("\\|", "/"), re.MULTILINE)
        for word in commands(cell)
    }
    assert shown == paths(root)


def shown_commands(text: str) -> list[list[str]]:
    """Return the words behind `sidecar` wherever a document shows a command, in its lines or in a block."""
    blocks = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    found = [
        one
        for part in [*re.findall(r"`([^`\n]*)`", text), *blocks]
        for one in re.findall(r"(?<![\w=-])sidecar ([a-z][^#`)]*)", part)
    ]
    return [one.split() for one in found]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_commands_that_are_shown_are_there_with_their_options(document: Path) -> None:
    for words in shown_commands(document.read_text(encoding="utf-8")):
        command: click.Command = root
        rest = words
        while isinstance(command, click.Group) and rest:
            assert rest[0] in inside(command), words
            command, rest = inside(command)[rest[0]], rest[1:]
        known = {option for one in command.params for option in one.opts} | {"--help"}
        assert not [word for word in rest if word.startswith("--") and word not in known], words


def commands(cell: str) -> set[str]:
    """Return the commands that a cell names: `a`, `b` or `group x/y`; words in capitals and options are arguments."""
    found = set()
    for text in re.findall(r"`(.*?)`", cell):
        first, *rest = [word for word in text.split() if word.islower() and not word.startswith("-")]
        found |= {f"{first} {one}" for word in rest for one in word.split("/")} or {first}
    return found


def paths(command: click.Command) -> set[str]:
    """Return the command's sub-commands, each with its group's name before it."""
    if not isinstance(command, click.Group):
        return {""}
    return {f"{name} {path}".strip() for name, inner in inside(command).items() for path in paths(inner)}


def test_the_first_request_calls_what_the_client_has() -> None:
    block = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert block is not None
    owners = {"sidecar": Sidecar, "assembly": Assembly}
    used = {
        (node.value.id, node.attr)
        for node in ast.walk(ast.parse(block[1]))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in owners
    }
    assert {name for name, _ in used} == owners.keys()
    assert not [f"{name}.{attribute}" for name, attribute in used if not hasattr(owners[name], attribute)]
    assert {"client_turn_id", "role", "text"} <= {field.name for field in fields(NewTurn)}


def test_the_log_table_has_every_event_and_no_other() -> None:
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = told[told.index("## What the log says") : told.index("## Health, metrics, traces")]
    shown = {
        event for cell in re.findall(r"^\| (`.*?) \| ", table, re.MULTILINE) for event in re.findall(r"`(\w+)`", cell)
    }
    sources = (
        path for package in ("sidecar", "compiler", "store", "models") for path in (ROOT / package).rglob("*.py")
    )
    assert shown == {event for path in sources for event in LOGGED.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    targets = [target for target in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in target]
    assert not [target for target in targets if not (document.parent / target).exists()]


def test_every_dependency_has_its_reason() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(line for extra in project["optional-dependencies"].values() for line in extra),
    ]
    reasons = (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| (?:`\w+` \| )?(.*?) \|", reasons, re.MULTILINE)
    first_cells = ", ".join(cells).replace(", -", ", grpcio-")
    reasoned = set(re.split(r", | with ", first_cells))
    assert not {match[0] for line in wanted if (match := REQUIREMENT.match(line))} - reasoned
