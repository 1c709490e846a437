"""The lines of an owner's export, read call by call, and the file that they are written to.

An export is no snapshot: of what is written meanwhile, some is in it. Nothing that was there before is missing, and nothing is
there twice. Only the ids of threads, memories and pages are held in memory.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import orjson

from sidecar.cli.shared.failures import CommandFailed
from sidecar.cli.shared.paging import PAGE_SIZE, batches, every
from sidecar.client import Sidecar, SidecarCallError
from sidecar.client.answers import MemoryHistory, Turn
from sidecar.client.shapes import ToolCall, ToolResult
from sidecar.ingest.exports.owner_export import END, KEY, MEMORY, OWNER, PAGE, THREAD, TURN, VERSION

V = TypeVar("V")

_CALLS_AT_ONCE = 4


def lines(
    client: Sidecar, about: Mapping[str, Any], *, with_history: bool = True, at_once: int = PAGE_SIZE
) -> Generator[dict[str, Any]]:
    """Yield the lines of the owner's export: the owner with the facts `about` it, then threads, memories, pages, and the end.

    The end has the count of each kind. Lists are read in pages of `at_once`; the history of memories takes a call for
    each. Raises a SidecarCallError.
    """
    counts = Counter[str]()
    yield {KEY: OWNER, "version": VERSION, **about}
    for read in (_threads, _with_histories if with_history else _memories, _pages):
        for line in read(client, at_once):
            counts[line[KEY]] += 1
            yield line
    yield {
        KEY: END,
        **{f"{kind}s": counts[kind] for kind in (THREAD, TURN)},
        "memories": counts[MEMORY],
        "pages": counts[PAGE],
    }


def _threads(client: Sidecar, at_once: int) -> Iterator[dict[str, Any]]:
    for thread in _settled(lambda: every(client.list_threads, limit=0, at_once=at_once), "thread_id"):
        head = {KEY: THREAD, **_plain(thread)}
        del head["turn_count"]  # forgotten turns count there
        for turn in every(client.list_turns, limit=0, at_once=at_once, thread_id=thread.thread_id):
            if head:
                yield head
            head = {}
            yield {KEY: TURN, "thread_id": thread.thread_id, **_turn(turn)}


def _turn(turn: Turn) -> dict[str, Any]:
    return {**_plain(turn), "parts": [_part(part) for part in turn.parts]}


def _part(part: ToolCall | ToolResult) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
    return {"type": "tool_result", "id": part.call_id, "content": part.content}


def _memories(client: Sidecar, at_once: int) -> Iterator[dict[str, Any]]:
    for memory in _settled(lambda: every(client.list_memories, limit=0, at_once=at_once), "memory_id"):
        yield {KEY: MEMORY, **_plain(memory)}


def _with_histories(client: Sidecar, at_once: int) -> Iterator[dict[str, Any]]:
    """Yield each memory with its history; one that is forgotten after it was listed is left out."""

    def history(memory_id: str) -> MemoryHistory | None:
        return _unless_gone(partial(client.get_memory_history, memory_id=memory_id))

    listed = (
        one.memory_id for one in _settled(lambda: every(client.list_memories, limit=0, at_once=at_once), "memory_id")
    )
    with _calling() as pool:
        for batch in batches(listed, len, most=at_once):
            for found in pool.map(history, batch):
                if found is not None and found.memory is not None:
                    yield {
                        KEY: MEMORY,
                        **_plain(found.memory),
                        "status_changes": found.changes,
                        "supersessions": found.supersessions,
                    }


@contextmanager
def _calling() -> Iterator[ThreadPoolExecutor]:
    """Yield threads for calls. An early end, as by Ctrl-C, starts no further calls and does not wait for those that run."""
    pool = ThreadPoolExecutor(_CALLS_AT_ONCE)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pages(client: Sidecar, at_once: int) -> Iterator[dict[str, Any]]:
    """Yield each page, also an archived one, with its parts; one that vanishes after it was listed is left out."""

    def listed() -> Iterator[Any]:
        for status in ("active", "archived"):
            yield from every(client.list_pages, limit=0, at_once=at_once, status=status)

    for head in _settled(listed, "page_id"):
        whole = _unless_gone(partial(client.get_page, page=head.page_id))
        if whole is not None and whole.page is not None:
            yield {
                KEY: PAGE,
                **_plain(whole.page),
                **{name: one for name, one in _plain(whole).items() if name != "page"},
            }


def _settled(listed: Callable[[], Iterable[Any]], key: str) -> Iterator[Any]:
    """Yield each value once, and list again until nothing is new: a write may move a value to a page that was read before."""
    seen: set[str] = set()
    known = -1
    while known < len(seen):
        known = len(seen)
        for one in listed():
            if getattr(one, key) not in seen:
                seen.add(getattr(one, key))
                yield one


def _unless_gone(call: Callable[[], V]) -> V | None:
    try:
        return call()
    except SidecarCallError as error:
        if error.code != "NOT_FOUND":
            raise
        return None


def _plain(value: Any) -> dict[str, Any]:
    return {one.name: getattr(value, one.name) for one in fields(value)}


def encoded(line: Mapping[str, Any]) -> bytes:
    """Return the line as JSON with its line break."""
    return orjson.dumps(line, default=dict, option=orjson.OPT_UTC_Z | orjson.OPT_APPEND_NEWLINE)


@contextmanager
def written_whole(file: Path) -> Iterator[BinaryIO]:
    """Yield a new file, which its user alone may read, and give it the name at the end; without an end, nothing has the name.

    Raises CommandFailed if it cannot be written.
    """
    if file.exists() and not file.is_file():
        raise CommandFailed(f"{file} is not a file; name another one, or - for standard output.")
    try:
        number, begun = tempfile.mkstemp(prefix=f".{file.name[:100]}.", suffix=".part", dir=file.parent)
        try:
            with os.fdopen(number, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(number)
            Path(begun).replace(file)
        finally:
            Path(begun).unlink(missing_ok=True)
    except OSError as error:
        raise CommandFailed(f"{file}: {error.strerror or 'cannot be written'}; name another file.") from error
