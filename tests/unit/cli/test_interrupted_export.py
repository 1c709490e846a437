"""An export that ends early makes no further calls."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from sidecar.cli.content import owner_export
from sidecar.client import Sidecar
from sidecar.client.answers import Memory, MemoryHistory, Page

MEMORIES = [
    Memory(f"m{number}", "Ada swims.", "", (), "fact", "accepted", 1.0, "User", (), (), ()) for number in range(40)
]


_HANGS_S = 10.0  # only a failure takes as long


class Hanging:
    """A client whose calls for a memory's history, but the first, hang until `over`."""

    def __init__(self) -> None:
        self.over = threading.Event()
        self.asked: list[str] = []
        self.ended = 0

    def list_threads(self, **_: object) -> Page[Any]:
        return Page((), "")

    def list_memories(self, **_: object) -> Page[Memory]:
        return Page(tuple(MEMORIES), "")

    def get_memory_history(self, *, memory_id: str) -> MemoryHistory:
        self.asked.append(memory_id)
        if memory_id != "m0":
            self.over.wait(_HANGS_S)
            self.ended += 1
        return MemoryHistory((), (), MEMORIES[0])


@pytest.fixture
def client() -> Iterator[Hanging]:
    hanging = Hanging()
    yield hanging
    hanging.over.set()


def test_interrupted_export_does_not_wait_for_its_calls(client: Hanging) -> None:
    lines = owner_export.lines(cast("Sidecar", client), {})
    assert [next(lines)["sidecar"], next(lines)["sidecar"]] == ["owner", "memory"]
    lines.close()  # as Ctrl-C does
    assert client.ended == 0
    assert len(client.asked) < len(MEMORIES) // 2
