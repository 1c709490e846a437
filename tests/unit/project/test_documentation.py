"""Compares README.md and docs/ with the code: settings, commands, the first request, log events, links, dependencies."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import MISSING, fields
from pathlib import Path
from runpy import run_path
from textwrap import dedent
from typing import Any

import click
import pytest

from sidecar.backends.entries import BackendEntry
from sidecar.cli.root import inside, root
from sidecar.client import Assembly, NewTurn, Sidecar
from sidecar.client.knobs import OF_A_SOURCE, OF_A_TURN, SOURCES
from sidecar.context import ports
from sidecar.http.console.desk import PLACES
from sidecar.runtime.settings import Settings
from sidecar.turn import items
from sidecar.turn.ranking.worth import RULES, Spend
from store import scope
from tests.support.each import each
from tests.support.places import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LOGGED = re.compile(r'\b_?log\.(?:info|warning|error)\(\s*"(\w+)"')
REQUIREMENT = re.compile(r"[A-Za-z0-9-]+")


def test_reference_matches_the_code() -> None:
    made = run_path(str(ROOT / "docs" / "make_reference.py"))["reference"]()
    assert (ROOT / "docs" / "reference.md").read_text(encoding="utf-8") == made, "run `make reference`"


@each("field", fields(Settings))
def test_reference_describes_the_setting(field: Any) -> None:
    row = re.search(rf"^\| `SIDECAR_{field.name.upper()}` \| (.+?) \| (.{{4,}}) \|$", REFERENCE, re.MULTILINE)
    assert row is not None
    default = as_written(field.default)
    assert row[1] == (f"`{default}`" if default else "depends on the user" if field.default is MISSING else "none")


def test_reference_describes_every_knob_of_a_turn() -> None:
    knobs = {*OF_A_TURN, *OF_A_SOURCE}
    described = set(re.findall(r"^\| `(\w+)` \| (?:none|`.+?`.*?) \| .{4,} \|$", REFERENCE, re.MULTILINE))
    assert knobs <= described, knobs - described


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CHANGELOG.md"], ids=lambda path: path.name)
def test_shown_knobs_of_sources_exist(document: Path) -> None:
    shown = re.findall(
        rf"(?<![\w/-])([\w.]*(?:{'|'.join(SOURCES)}|NAME)\.\w+)[=`]", document.read_text(encoding="utf-8")
    )
    known = {f"{source}.{knob}" for source in (*SOURCES, "NAME") for knob in OF_A_SOURCE}
    files = (".md", ".png", ".proto", ".py", ".sql")
    assert not {name for name in shown if not name.endswith(files)} - known


@each("entry", BackendEntry.__subclasses__())
def test_backends_guide_describes_every_key_of_the_entry(entry: type[BackendEntry]) -> None:
    """Common keys and those that no example shows are in tables, the others in the entry's example or the text."""
    guide = (ROOT / "docs" / "backends.md").read_text(encoding="utf-8")
    described = set(re.findall(r"`(\w+)(?: = [^`]*)?`|^(\w+) = ", guide, re.MULTILINE))
    assert {key.name for key in fields(entry)} <= {name for pair in described for name in pair}


@each("spend", Spend)
def test_reference_names_the_most_that_a_spend_recalls(spend: Spend) -> None:
    assert re.search(rf"`{spend}`: [^`]*at most {RULES[spend].recall_tokens:,} tokens", REFERENCE)


def test_console_guide_lists_every_view_of_the_menu() -> None:
    guide = (ROOT / "docs" / "console.md").read_text(encoding="utf-8")
    listed = {name for cell in re.findall(r"^\| (.+?) \|", guide, re.MULTILINE) for name in cell.split(", ")}
    assert not {name for _, rows in PLACES for name, _ in rows} - listed


def test_operations_describe_every_setting_of_a_tenants_compile() -> None:
    """Nothing but the database sets these columns, and an error tells to switch the first one on."""
    operations = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    flags = (ROOT / "store" / "tenancy" / "tenants.sql").read_text(encoding="utf-8")
    columns = set(re.findall(r"\bwiki_\w+", flags))
    assert columns
    assert all(f"| `{column}` |" in operations for column in columns)


def test_reference_lists_every_command() -> None:
    table = REFERENCE[REFERENCE.index("## Commands") :]
    rows = re.findall(r"^\| `(.*?)` \| .+ \| .* \|$", table, re.MULTILINE)
    shown = [" ".join(word for word in row.split() if re.fullmatch("[a-z-]+", word)) for row in rows]
    assert sorted(shown) == sorted(paths(root))


def test_reference_lists_every_variable_of_the_client() -> None:
    for name in ("ADDRESS", "TOKEN", "TLS_CA", "TLS_NAME", "CLIENT_CERT", "CLIENT_KEY"):
        assert f"| `SIDECAR_{name}` | `--" in REFERENCE


def as_written(value: Any) -> str:
    """Return a default as the reference writes it; nothing for one that is empty or missing."""
    match value:
        case "" | () | None:
            return ""
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
        case tuple():
            return ",".join(value)
        case _:
            return "" if value is MISSING else str(value)


def shown_commands(text: str) -> list[list[str]]:
    """Return the words after `sidecar` of each command that a document shows, inline or in a block."""
    blocks = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    found = [
        one
        for part in [*re.findall(r"`([^`\n]*)`", text), *blocks]
        for one in re.findall(r"(?<![\w=-])sidecar ([a-z][^#`)]*)", part)
    ]
    return [one.split() for one in found]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_shown_commands_exist_with_their_options(document: Path) -> None:
    for words in shown_commands(document.read_text(encoding="utf-8")):
        command: click.Command = root
        rest = words
        while isinstance(command, click.Group) and rest:
            assert rest[0] in inside(command), words
            command, rest = inside(command)[rest[0]], rest[1:]
        known = {option for one in command.params for option in one.opts} | {"--help"}
        assert not [word for word in rest if word.startswith("--") and word not in known], words


def paths(command: click.Command) -> set[str]:
    """Return the command's sub-commands, each with its group's name before it."""
    if not isinstance(command, click.Group):
        return {""}
    return {f"{name} {path}".strip() for name, inner in inside(command).items() for path in paths(inner)}


def test_first_request_uses_methods_that_the_client_has() -> None:
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


@pytest.mark.parametrize("document", DOCUMENTS[1:], ids=lambda path: path.name)
def test_examples_use_methods_that_the_client_has(document: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    used = {name for block in blocks for name in re.findall(r"\bsidecar\.(\w+)\(", block)}
    assert not [name for name in used if not hasattr(Sidecar, name)]


def test_example_source_uses_types_that_exist() -> None:
    block = re.search(r"^   ```python\n(.*?)   ```", README, re.DOTALL | re.MULTILINE)
    assert block is not None
    used = {node.id for node in ast.walk(ast.parse(dedent(block[1]))) if isinstance(node, ast.Name)}
    types = {name for name in used if name[0].isupper()}
    assert {"SourceQuery", "SourceAnswer", "Item"} <= types
    assert not [name for name in types if not any(hasattr(module, name) for module in (ports, items, scope))]


def test_log_table_lists_exactly_the_events_of_the_code() -> None:
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    table = told[told.index("## Log events") : told.index("## Health, metrics, traces")]
    shown = {
        event for cell in re.findall(r"^\| (`.*?) \| ", table, re.MULTILINE) for event in re.findall(r"`(\w+)`", cell)
    }
    sources = (
        path for package in ("sidecar", "compiler", "store", "models") for path in (ROOT / package).rglob("*.py")
    )
    assert shown == {event for path in sources for event in LOGGED.findall(path.read_text(encoding="utf-8"))}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_in_documents_resolve(document: Path) -> None:
    text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", text):
        linked = document.parent / target if target else document
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def anchors(document: Path) -> set[str]:
    """Return the anchors that GitHub gives a document's headings."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS[1:], ids=lambda path: path.name)
def test_named_tests_exist(document: Path) -> None:
    tests = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")}
    text = document.read_text(encoding="utf-8")
    assert not set(re.findall(r"\btest_\w+\.py\b", text)) - tests.keys()
    defined = {name for told in tests.values() for name in re.findall(r"def (test_\w+)\(", told)}
    assert not set(re.findall(r"(?<![\w/])test_\w+\b(?!\.py)", text)) - defined


def test_upgrade_table_names_existing_migrations_in_order() -> None:
    told = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d{4}(?:, \d{4})*) \|", told, re.MULTILINE)
    listed = [number for row in rows for number in row.split(", ")]
    assert listed
    assert set(listed) <= {path.name[:4] for path in (ROOT / "migrations").glob("*.sql")}
    assert rows == sorted(rows)


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
