"""Imports that end before their time: what is stored is told, and which value the service refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from sidecar.cli.content import memory, thread
from sidecar.cli.shared.failures import INTERRUPTED, Interrupted, exit_code, line_of
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import CommandSession
from sidecar.cli.wiki import upkeep
from sidecar.client import CallUnavailable, JournalRecord, NewMemory, NewTurn, RequestUnusable, Sidecar
from sidecar.client.answers import Appended, Retained
from sidecar.client.answers.wiki import ImportEffect

AGAIN = "Run the same command again to store the rest; nothing is stored twice."
IMPORTS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "memory": (memory.imported, '{"text": "number %s"}', "memories"),
    "thread": (thread.imported, '{"role": "user", "content": "number %s"}', "turns"),
    "wiki": (upkeep.imported, '{"text": "number %s"}', "records"),
}


class Stopped:
    """A client whose call number `at` ends with the error."""

    def __init__(self, error: BaseException, at: int) -> None:
        self._error = error
        self._left = at

    def retain(self, *, memories: Sequence[NewMemory]) -> Retained:
        self._count()
        return Retained((), len(memories), 0)

    def append_turns(self, *, turns: Sequence[NewTurn], **_: object) -> Appended:
        self._count()
        return Appended((), len(turns))

    def bootstrap_import(self, *, records: Sequence[JournalRecord], **_: object) -> ImportEffect:
        self._count()
        return ImportEffect(len(records), 0, 0, None)

    def _count(self) -> None:
        self._left -= 1
        if not self._left:
            raise self._error


@pytest.fixture
def importing(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Any]:
    """Imports 1,200 values, in batches of 500, with a client that stops at a call."""
    imported, line, _ = IMPORTS[request.param]
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(line % number for number in range(1200)))

    def run(error: BaseException, at: int) -> Any:
        client = cast("Sidecar", Stopped(error, at))
        return imported(CommandSession(client, Voice(is_json=False)), file)

    return run


def every_import(test: Callable[..., None]) -> Callable[..., None]:
    cases = [pytest.param(name, noun, id=name) for name, (_, _, noun) in IMPORTS.items()]
    marked: Callable[..., None] = pytest.mark.parametrize(("importing", "noun"), cases, indirect=["importing"])(test)
    return marked


@every_import
def test_ctrl_c_tells_what_is_stored(importing: Callable[..., Any], noun: str) -> None:
    for at, stored in ((1, "nothing"), (3, f"1,000 of 1,200 {noun}")):
        with pytest.raises(Interrupted) as ended:
            importing(KeyboardInterrupt(), at)
        assert line_of(ended.value) == f"interrupted; stored so far: {stored}. {AGAIN}"
        assert exit_code(ended.value) == INTERRUPTED


@every_import
def test_failing_call_tells_what_is_stored_if_anything_is(
    importing: Callable[..., Any], noun: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for at, told in ((1, ""), (3, f"Stored so far: 1,000 of 1,200 {noun}. {AGAIN}\n")):
        with pytest.raises(CallUnavailable):
            importing(CallUnavailable("gone", code="UNAVAILABLE"), at)
        assert capsys.readouterr().err == told


@every_import
def test_refused_value_is_named(importing: Callable[..., Any], noun: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RequestUnusable):
        importing(RequestUnusable("is odd", code="INVALID_ARGUMENT", field="values[7].text"), 3)
    first, _ = capsys.readouterr().err.splitlines()
    assert first.startswith("values[7] is the ")
    assert first.endswith(": number 1007"), "the service's place is of the batch"
