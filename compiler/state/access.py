"""How a compile reaches the store: transactions of one scope, from a pool or all within one."""

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
        """Whose rows."""

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction for reads."""

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction that is committed at the end of its body, or not at all."""

    async def told(self) -> None:
        """Wait until the words of pages are written that somebody is writing."""


class PooledAccess:
    """Each transaction on a connection of the pool, as the worker's role."""

    def __init__(self, pool: Pool, scope: Scope) -> None:
        self._pool = pool
        self._scope = scope

    @property
    def scope(self) -> Scope:
        """Whose rows."""
        return self._scope

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return a read-only transaction."""
        return scoped(self._pool, self._scope, role=DatabaseRole.WORKER, read_only=True)

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction that is committed at the end."""
        return scoped(self._pool, self._scope, role=DatabaseRole.WORKER)

    async def told(self) -> None:
        """Return at once: what is read is committed."""


class AsideAccess:
    """Everything within one open transaction, whose caller takes it back at the end: for looking without touching."""

    def __init__(self, connection: Connection, scope: Scope) -> None:
        self._connection = connection
        self._scope = scope

    @property
    def scope(self) -> Scope:
        """Whose rows."""
        return self._scope

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return the connection as it is."""
        return self._given()

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return the connection as it is."""
        return self._given()

    async def told(self) -> None:
        """Return at once: who writes here does nothing else meanwhile."""

    @asynccontextmanager
    async def _given(self) -> AsyncIterator[Connection]:
        yield self._connection


class LentAccess:
    """One transaction that writes, and reading beside it what it wrote so far; once it ended, transactions as ever.

    It does not wait for who reads, but for what is being read at that moment.
    """

    def __init__(self, access: Access) -> None:
        self._access = access
        self._connection: Connection | None = None
        self._unread = asyncio.Event()
        self._unread.set()
        self._told = asyncio.Event()
        self._ended = asyncio.Event()

    @property
    def scope(self) -> Scope:
        """Whose rows."""
        return self._access.scope

    async def told(self) -> None:
        """Wait until the pages under way are written whole."""
        await self._told.wait()

    def tell(self) -> None:
        """End the waiting for the pages."""
        self._told.set()

    def reading(self) -> AbstractAsyncContextManager[Connection]:
        """Return the transaction under way, or one for reads behind it."""
        return self._read()

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Connection]:
        """Yield a transaction that is committed at the end, once."""
        try:
            async with self._access.writing() as connection:
                self._connection = shared(connection)
                try:
                    yield self._connection
                finally:
                    self._connection = None
                    self._told.set()
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
