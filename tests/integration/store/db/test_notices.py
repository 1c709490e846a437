"""Notices are heard as long as anyone listens, across lost connections."""

from __future__ import annotations

import asyncio

import pytest

from store.db.notices import Listener, Notice, listen
from tests.support.store.notes import (
    OURS,
    as_admin,
    dsn_fixture,
)
from tests.support.waiting import PATIENCE_S

FIXTURES = (dsn_fixture,)  # found by pytest in the names of this module


async def next_of(heard: asyncio.Queue[Notice | str]) -> Notice | str:
    async with asyncio.timeout(PATIENCE_S):
        return await heard.get()


async def test_notices_arrive_and_a_lost_connection_is_reopened(dsn: str) -> None:
    heard: asyncio.Queue[Notice | str] = asyncio.Queue()
    listener = Listener(heard.put_nowait, lambda: heard.put_nowait("connected"))
    task = asyncio.create_task(listen(dsn, ["profile_changed", "odd channel"], listener))
    for _ in range(2):
        assert await next_of(heard) == "connected"
        await as_admin(dsn, "SELECT pg_notify('profile_changed', 'é')")
        assert await next_of(heard) == Notice("profile_changed", "é")
        await as_admin(dsn, "SELECT pg_notify('odd channel', '')")
        assert await next_of(heard) == Notice("odd channel", "")
        await as_admin(
            dsn,
            f"SELECT pg_terminate_backend(pid) {OURS} AND query LIKE 'LISTEN%'",
        )
    task.cancel()
    await asyncio.wait([task])


async def test_error_of_the_listener_ends_the_listening(dsn: str) -> None:
    def refuse(_notice: Notice) -> None:
        raise ZeroDivisionError

    connected = asyncio.Event()
    task = asyncio.create_task(listen(dsn, ["any"], Listener(refuse, connected.set)))
    await connected.wait()
    await as_admin(dsn, "SELECT pg_notify('any', '')")
    with pytest.raises(ZeroDivisionError):
        await task
