"""The lines that a process of the service prints for the one that started it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.process.children import hear_lines


@pytest.mark.parametrize(
    "stray",
    [
        b"hello from a library\n",
        b"\n",
        b"[1]\n",
        b"7\n",
        b"null\n",
        b"{}\n",
        b'{"addresses": 1}\n',
        b"x" * 200_000 + b"\n",
    ],
)
async def test_line_that_is_no_message_is_ignored(stray: bytes) -> None:
    heard: list[tuple[str, ...]] = []

    def hear(payload: dict[str, Any]) -> None:
        heard.append(tuple(payload.pop("addresses")))

    lines = asyncio.StreamReader()
    lines.feed_data(stray + b'{"addresses": ["127.0.0.1:1"]}\n')
    lines.feed_eof()
    await hear_lines(lines, hear)
    assert heard == [("127.0.0.1:1",)]
