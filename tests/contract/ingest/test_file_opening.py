"""Files as a command line names them: plain ones, pipes, and ones that can't be read."""

import os
import threading
from pathlib import Path

import pytest

from sidecar.ingest.errors import UnreadablePath
from sidecar.ingest.exports.conversations import conversations_at
from sidecar.ingest.opening import opened_at

LINES = b'{"role": "user", "content": "Ol\xc3\xa1"}\n' * 3


def test_pipe_can_be_read_more_than_once(tmp_path: Path) -> None:
    pipe = tmp_path / "turns.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(LINES,))
    writer.start()
    with opened_at(pipe) as stream:
        assert stream.read(5) == LINES[:5]
        stream.seek(0)
        assert stream.read() == LINES
    writer.join()


def test_conversation_is_read_from_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "turns.jsonl"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(LINES,))
    writer.start()
    (found,) = conversations_at(pipe)
    writer.join()
    assert [turn.text for turn in found.turns] == ["Olá"] * 3  # type: ignore[union-attr]  # it is no Skipped


@pytest.mark.parametrize("name", ["nowhere.jsonl", "."])
def test_unreadable_file_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(UnreadablePath, match=str(tmp_path)), opened_at(tmp_path / name):
        pass
