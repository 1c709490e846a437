"""Database access of a compile: transactions of one scope, from a pool or all on one connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from store.db.postgres import DatabaseRole, Pool, scoped
from store.db.queries import Connection
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


class PooledAccess:
    """Access that opens each transaction on a connection of the pool, in the worker's role."""

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


class OpenTransactionAccess:
    """Access that does everything in one open transaction of the caller, such as one that is rolled back for a preview."""

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

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[Connection]:
        yield self._connection
