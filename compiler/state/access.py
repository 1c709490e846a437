"""Database access of a compile: transactions of one scope, from a pool or all on one connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
from store.db.shared_transaction import shared
from store.scope import Scope


class Access(Protocol):
    """Transactions that see one owner's rows."""

    @property
    def scope(self) -> Scope:
        """The scope of the rows."""

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction for reads."""

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction that commits at the end of its body, or rolls back."""

    async def texts_written(self) -> None:
        """Wait until the page texts being written in this transaction are complete."""


class PooledAccess:
    """Each transaction on a connection of the pool, in the worker's role."""

    def __init__(self, pool: Pool, scope: Scope) -> None:
        self._pool = pool
        self._scope = scope

    @property
    def scope(self) -> Scope:
        """The scope of the rows."""
        return self._scope

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return a read-only transaction."""
        return scoped(self._pool, self._scope, role=DatabaseRole.WORKER, read_only=True)

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction that commits at the end."""
        return scoped(self._pool, self._scope, role=DatabaseRole.WORKER)

    async def texts_written(self) -> None:
        """Return at once: everything read is committed."""


class OpenTransactionAccess:
    """Everything in one open transaction that the caller rolls back: for previews and replays without effects."""

    def __init__(self, connection: Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope

    @property
    def scope(self) -> Scope:
        """The scope of the rows."""
        return self._scope

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return the open connection."""
        return self._open()

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return the open connection."""
        return self._open()

    async def texts_written(self) -> None:
        """Return at once: this transaction has a single user."""

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Connection]:
        yield self._connection


class SharedAccess:
    """One write transaction with concurrent reads on the same connection; after it ends, ordinary read transactions.

    The commit waits for reads under way, but not for later ones.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._connection: Connection | None = None
        self._unread = asyncio.Event()
        self._unread.set()
        self._texts_written = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def scope(self) -> Scope:
        """The scope of the rows."""
        return self._access.scope

    async def texts_written(self) -> None:
        """Wait until the pages under way are written completely."""
        await self._texts_written.wait()

    def mark_texts_written(self) -> None:
        """Release those waiting in `texts_written`."""
        self._texts_written.set()

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return the write transaction under way, or a read transaction after its end."""
        return self._read()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """Yield a transaction that commits at the end; it can be used once."""
        try:
            async with self._access.writing() as connection:
                self._connection = shared(connection)
                try:
                    yield self._connection
                finally:
                    self._connection = None
                    self._texts_written.set()
                    await self._unread.wait()
        finally:
            self._ended.set()

    @asynccontextmanager
    async def _read(self) -> AsyncIterator[Connection]:
        if self._connection is None:
            await self._ended.wait()
            async with self._access.reading() as connection:
                yield connection
            return
        self._unread.clear()
        try:
            yield self._connection
        finally:
            self._unread.set()
