"""How a compile reaches the store: transactions of one scope, from a pool or all within one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from store.postgres import Pool, Role, scoped
from store.queries import Connection
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
        return scoped(self._pool, self._scope, role=Role.WORKER, read_only=True)

    def writing(self) -> AbstractAsyncContextManager[Connection]:
        """Return a transaction that is committed at the end."""
        return scoped(self._pool, self._scope, role=Role.WORKER)


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

    @asynccontextmanager
    async def _given(self) -> AsyncIterator[Connection]:
        yield self._connection
