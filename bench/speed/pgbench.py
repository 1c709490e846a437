"""Postgres' share of a turn: the store's own statements, run by pgbench on the same data.

One pgbench transaction is one turn: the four sources' transactions in sequence, with as many round trips as the store uses.
Statements are prepared, and their parameters are parameters.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from store.db.postgres import scoped, tenant_scoped
from store.db.queries import Query, all_queries
from store.embedded.binaries import find_programs, server_account
from store.embedded.layout import Layout
from store.scope import Scope

_TURN = (
    (True, ("history", "thread_summary", "recall_turns")),
    (False, ("assigned_bases", "recall_chunks")),
    (True, ("pinned_memories", "recall_memories")),
    (True, ("recall_wiki",)),
)
"""The sources' transactions: whether they see an owner's rows, and the queries they ask."""

_NO_POOL: Any = None  # an opening is a text: no connection is needed to read it

QueryParameters = Mapping[str, Mapping[str, str | None]]
"""A question as the parameters of each of its queries, by the query's name and the parameter's; lists in Postgres' braces,
None for NULL.
"""


class PgbenchFailed(RuntimeError):
    """pgbench cannot run a turn's queries; the message is its output."""


@dataclass(frozen=True, slots=True)
class Script:
    """A turn for pgbench: the file, and the values of its variables."""

    file: Path
    values: Mapping[str, str]


def write_scripts(folder: Path, scope: Scope, questions: Sequence[QueryParameters]) -> list[Script]:
    """Write a script for each question, and return them."""
    scripts = []
    for number, question in enumerate(questions):
        values: dict[str, str] = {}
        text = "\n".join(_lines(scope, question, f"q{number}", values)) + "\n"
        file = folder / f"turn-{number}.pgbench"
        file.write_text(text)
        scripts.append(Script(file, values))
    return scripts


async def turns_per_s(dsn: str, scripts: Sequence[Script], *, seconds: float, clients: int, data_dir: Path) -> float:
    """Return how many turns per second Postgres answers over `clients` connections. Raises PgbenchFailed."""
    layout = Layout.of(data_dir)
    programs = await asyncio.to_thread(find_programs, None, account=server_account(layout.pgdata), copies=layout.copies)
    process = await asyncio.create_subprocess_exec(
        str(programs.bin_dir / "pgbench"), "--no-vacuum", "--protocol=prepared",
        f"--client={clients}", f"--jobs={min(2, clients)}", f"--time={max(1, round(seconds))}",
        *(f"--define={name}={value}" for script in scripts for name, value in script.values.items()),
        *(f"--file={script.file}" for script in scripts), dsn,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
    )  # fmt: skip
    output = (await process.communicate())[0].decode()
    found = re.search(r"^tps = ([\d.]+)", output, re.MULTILINE)
    if process.returncode != 0 or found is None:
        raise PgbenchFailed(output[-2000:])
    return float(found[1])


def _lines(scope: Scope, question: QueryParameters, prefix: str, values: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a turn, and note the values of its variables."""
    found = {query.name: query for query in all_queries()}
    for is_owners, names in _TURN:
        yield "\\startpipeline"
        yield from _opening(scope, is_owners=is_owners)
        yield "\\endpipeline"
        for name in names:
            yield _with_variables(found[name], question[name], f"{prefix}_{name}", values)
        yield "COMMIT;"


def _opening(scope: Scope, *, is_owners: bool) -> list[str]:
    """Return the statements that open the store's transaction; a pipeline makes them one round trip, as in the store."""
    opened = (
        scoped(_NO_POOL, scope, read_only=True)
        if is_owners
        else tenant_scoped(_NO_POOL, scope.tenant_id, read_only=True)
    )
    return [f"{statement.strip()};" for statement in (opened.opening + opened.scope).split(";") if statement.strip()]


def _with_variables(query: Query, parameters: Mapping[str, str | None], prefix: str, values: dict[str, str]) -> str:
    """Return the query on one line, a variable for each parameter; pgbench knows no empty ones, so those stand as text."""

    def variable(number: re.Match[str]) -> str:
        name = query.parameters[int(number[1]) - 1]
        value = parameters[name]
        if not value:
            return "NULL" if value is None else "''"
        values[f"{prefix}_{name}"] = value
        return f":{prefix}_{name}"

    return " ".join(re.sub(r"\$(\d+)", variable, query.sql).split()).rstrip(";") + ";"
