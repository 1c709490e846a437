"""Listens for notices of the database on a dedicated connection, until cancelled.

A notice is a hint that something changed, and is lost while there is no connection. So the listener is also called on
every new connection: anything cached before may be stale.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import asyncpg

from store.db import queries
from store.db.postgres import direct
from store.errors import DatabaseUnavailable, QueryTimeout, driver_errors

log = logging.getLogger(__name__)
_sql = queries.load(__file__)

_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 5.0
_SILENCE_S = 30.0  # after this long without a notice, the connection is probed
_ANSWER_DEADLINE_S = 5.0


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice: the channel and its payload, at most 8,000 bytes."""

    channel: str
    payload: str


@dataclass(frozen=True, slots=True)
class Listener:
    """The callbacks: `on_notice` for each notice, `on_connected` whenever listening starts or restarts."""

    on_notice: Callable[[Notice], None]
    on_connected: Callable[[], None]


async def listen(dsn: str, channels: Sequence[str], listener: Listener) -> NoReturn:
    """Call the listener until cancelled, reconnecting when the connection is lost (after 0.1 s, at most 5 s).

    An error raised by the listener propagates. `dsn` must lead to Postgres directly, or to a pooler in session mode.
    """
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            async with direct(dsn) as connection:
                wait_s = _FIRST_WAIT_S
                await _deliver(connection, channels, listener)
        except (DatabaseUnavailable, QueryTimeout) as error:
            log.warning("notices_interrupted", extra={"error": type(error).__name__, "wait_s": wait_s})
        await asyncio.sleep(wait_s)
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


async def _deliver(connection: asyncpg.Connection[asyncpg.Record], channels: Sequence[str], listener: Listener) -> None:
    """Deliver notices until the connection is lost, then raise DatabaseUnavailable."""
    inbox: asyncio.Queue[Notice | None] = asyncio.Queue()
    connection.add_termination_listener(lambda _: inbox.put_nowait(None))

    def take(_connection: Any, _pid: int, channel: str, payload: object) -> None:
        inbox.put_nowait(Notice(channel, str(payload)))

    with driver_errors():
        for channel in channels:
            await connection.add_listener(channel, take)
    listener.on_connected()
    while True:
        notice = await _next(connection, inbox)
        if notice is None:
            raise DatabaseUnavailable("the connection was lost")
        listener.on_notice(notice)


async def _next(connection: asyncpg.Connection[asyncpg.Record], inbox: asyncio.Queue[Notice | None]) -> Notice | None:
    """Return the next notice, None once the connection is lost. After a long silence the connection is probed."""
    while True:
        try:
            async with asyncio.timeout(_SILENCE_S):
                return await inbox.get()
        except TimeoutError:
            with driver_errors():
                async with asyncio.timeout(_ANSWER_DEADLINE_S):
                    await _sql.still_there(connection)
