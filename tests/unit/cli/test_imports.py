"""Imports that end before their time: what is stored is told, and which value the service refused."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from sidecar.cli.content import memory_import, thread
from sidecar.cli.shared.failures import INTERRUPTED, Interrupted, exit_code, line_of
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import CommandSession
from sidecar.cli.wiki import upkeep
from sidecar.client import CallUnavailable, JournalRecord, NewMemory, NewTurn, RequestUnusable, Sidecar
from sidecar.client.answers import Appended, Retained
from sidecar.client.answers.wiki import ImportEffect

AGAIN = "Run the same command again to store the rest; nothing is stored twice."
IMPORTS: dict[str, tuple[Callable[..., Any], str, str]] = {
    "memory": (memory_import.imported, '{"text": "number %s"}', "memories"),
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
def test_ctrl_c_reports_the_stored_amount(importing: Callable[..., Any], noun: str) -> None:
    for at, stored in ((1, "nothing"), (3, f"1,000 of 1,200 {noun}")):
        with pytest.raises(Interrupted) as ended:
            importing(KeyboardInterrupt(), at)
        assert line_of(ended.value) == f"interrupted; stored so far: {stored}. {AGAIN}"
        assert exit_code(ended.value) == INTERRUPTED


@every_import
def test_failing_call_reports_the_stored_amount_if_any(
    importing: Callable[..., Any], noun: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for at, told in ((1, ""), (3, f"Stored so far: 1,000 of 1,200 {noun}. {AGAIN}\n")):
        with pytest.raises(CallUnavailable):
            importing(CallUnavailable("gone", code="UNAVAILABLE"), at)
        assert capsys.readouterr().err == told


class Refusing:
    """A client that refuses the value of a text by its place in the call."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.stored: list[str] = []
        self.ends = 0

    def retain(self, *, memories: Sequence[NewMemory]) -> Retained:
        self._store("memories", [one.text for one in memories])
        return Retained((), len(memories), 0)

    def append_turns(self, *, turns: Sequence[NewTurn], **_: object) -> Appended:
        self._store("turns", [one.text for one in turns])
        return Appended((), len(turns))

    def bootstrap_import(self, *, records: Sequence[JournalRecord], has_more: bool) -> ImportEffect:
        self._store("records", [one.text for one in records])
        self.ends += not has_more
        return ImportEffect(len(records), 0, 0, None)

    def _store(self, noun: str, texts: Sequence[str]) -> None:
        if self._text in texts:
            field = f"{noun}[{texts.index(self._text)}].text"
            raise RequestUnusable(f"{field}: is odd.", code="INVALID_ARGUMENT", field=field)
        self.stored += texts


def many(tmp_path: Path, line: str) -> Path:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join(line % number for number in range(1200)))
    return file


@pytest.mark.parametrize("name", IMPORTS)
def test_refused_value_is_reported_and_the_others_are_stored(name: str, tmp_path: Path) -> None:
    imported, line, _ = IMPORTS[name]
    client = Refusing("number 1007")
    tally = imported(CommandSession(cast("Sidecar", client), Voice(is_json=False)), many(tmp_path, line))
    facts = tally.facts() if name == "thread" else tally
    assert client.stored == [f"number {number}" for number in range(1200) if number != 1007]
    assert facts["refused"] == 1
    (reason,) = facts["skipped"]
    assert "number 1007" in reason
    assert reason.endswith("text: is odd.")


@pytest.mark.parametrize("name", IMPORTS)
def test_error_of_the_whole_request_ends_the_import(name: str, tmp_path: Path) -> None:
    imported, line, _ = IMPORTS[name]
    client = cast("Sidecar", Stopped(RequestUnusable("is odd", code="INVALID_ARGUMENT", field="title"), 1))
    with pytest.raises(RequestUnusable):
        imported(CommandSession(client, Voice(is_json=False)), many(tmp_path, line))


def test_last_records_that_are_all_refused_still_end_the_import(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text("\n".join([IMPORTS["wiki"][1] % 0, '{"id": "odd", "text": "odd"}']))
    client = Refusing("odd")
    session = CommandSession(cast("Sidecar", client), Voice(is_json=False))
    facts = upkeep.imported(session, file)
    assert (client.stored, facts["created"], facts["refused"]) == (["number 0"], 1, 1)
    file.write_text('{"id": "odd", "text": "odd"}')
    facts = upkeep.imported(session, file)
    assert (facts["records"], facts["refused"], client.ends) == (0, 1, 2)


def test_thread_is_imported_from_a_pipe(tmp_path: Path) -> None:
    """The file is read twice: for the number of its turns, and for the turns."""
    pipe = tmp_path / "turns.jsonl"
    os.mkfifo(pipe)
    lines = "\n".join(IMPORTS["thread"][1] % number for number in range(3))
    writer = threading.Thread(target=pipe.write_text, args=(lines,), daemon=True)
    writer.start()
    client = Refusing("")
    tally = thread.imported(CommandSession(cast("Sidecar", client), Voice(is_json=False)), pipe)
    assert tally.turns == len(client.stored) == 3
