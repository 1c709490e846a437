"""Connection pools, and the transactions that every query of the store runs in.

A transaction opens in one round trip that also sets its role and scope, local to the transaction. Nothing is set for the
session, so any connection can serve any tenant next, also behind PgBouncer in transaction mode. Where tables are spread over
servers, the scope is set in a second round trip, which reaches those servers too. The settings are built
from UUID values, never from a caller's text. Driver errors are converted here to a StoreError.
"""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

import asyncpg
import orjson

from store.db import queries
from store.db.queries import Connection, Json
from store.errors import (
    DRIVER_ERRORS,
    DatabaseBusy,
    DatabaseRefused,
    DatabaseUnavailable,
    QueryTimeout,
    RoleNotGranted,
    SchemaOutdated,
    TransactionAborted,
    driver_errors,
    from_driver,
)
from store.scope import Scope

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

PooledConnection: TypeAlias = "PoolConnectionProxy[asyncpg.Record]"
_sql = queries.load(__file__)

_RECOVERY_DEADLINE_S = 2.0
_CLOSE_DEADLINE_S = 5.0
_REFUSED_PAUSE_S = 0.05  # each attempt costs the server a process
_IDLE_S = 3600.0  # a new connection doubles a turn's time: its query plans must be made again
_REACHING = " SET LOCAL citus.propagate_set_commands = 'local';"
_JSONB_VERSION = b"\x01"  # the first byte of a jsonb value on the wire


class DatabaseRole(enum.StrEnum):
    """The database role of a transaction; row security applies to both."""

    APP = "sidecar_app"
    WORKER = "sidecar_worker"


@dataclass(frozen=True, slots=True)
class PoolsConfig:
    """Pool sizes and deadlines. `statement_cache_size=0` is for a PgBouncer without support for prepared statements.

    If every connection is in use, a turn queues for one, `turn_wait_s` at most; the turn has its own deadline as well. If a
    connection still has to be opened, it waits `turn_acquire_deadline_s`.
    """

    turn_connections: int = 16
    background_connections: int = 8
    turn_wait_s: float = 30.0
    turn_acquire_deadline_s: float = 5.0
    background_acquire_deadline_s: float = 10.0
    connect_deadline_s: float = 5.0
    query_deadline_s: float = 30.0
    statement_cache_size: int = 512


@dataclass(frozen=True, slots=True)
class Pools:
    """One pool for turns and one for everything else, so that background work cannot starve turns."""

    turn: Pool
    background: Pool

    async def close(self) -> None:
        """Close both pools; queries still running after 5 s are aborted."""
        await asyncio.gather(self.turn.close(), self.background.close())


class Pool:
    """A connection pool with its acquire deadlines (in seconds: when all are in use, and when one is to be opened), and the
    running clean-ups of broken transactions. `is_spread` says that the tables may lie on other servers too.
    """

    __slots__ = ("_acquire_deadline_s", "_connections", "_recoveries", "_wait_s", "is_spread")

    def __init__(
        self, connections: asyncpg.Pool[asyncpg.Record], deadlines_s: tuple[float, float], *, is_spread: bool
    ) -> None:
        self._connections = connections
        self.is_spread = is_spread
        self._wait_s, self._acquire_deadline_s = deadlines_s
        self._recoveries: set[asyncio.Task[None]] = set()

    async def acquire(self) -> PooledConnection:
        """Return a connection for exclusive use. Raises DatabaseBusy, DatabaseUnavailable, DatabaseRefused."""
        deadline_s = self._wait_s if self._is_taken() else self._acquire_deadline_s
        with driver_errors():
            try:
                return await self._acquire(deadline_s)
            except TimeoutError as error:
                kind = DatabaseBusy if self._is_taken() else DatabaseUnavailable
                raise kind(f"no connection within {deadline_s:g} s") from error

    async def _acquire(self, deadline_s: float) -> PooledConnection:
        """Return a connection; while the server refuses further ones, wait for one that the pool has."""
        give_up_at = time.monotonic() + self._wait_s
        while True:
            try:
                return await self._connections.acquire(timeout=deadline_s)
            except asyncpg.TooManyConnectionsError:
                if not self._connections.get_size() or time.monotonic() >= give_up_at:
                    raise
            await asyncio.sleep(_REFUSED_PAUSE_S)

    def _is_taken(self) -> bool:
        """Return whether every connection up to the limit is in use. One that is still being opened does not count."""
        connections = self._connections
        return connections.get_size() >= connections.get_max_size() and not connections.get_idle_size()

    async def release(self, connection: PooledConnection) -> None:
        """Return a connection to the pool. It must be outside any transaction."""
        with driver_errors():
            await self._connections.release(connection)

    def recover(self, connection: PooledConnection) -> asyncio.Task[None]:
        """Return the task that rolls back a connection and returns it to the pool, or closes it if it does not answer."""
        task = asyncio.create_task(self._recover(connection))
        self._recoveries.add(task)
        task.add_done_callback(self._recoveries.discard)
        return task

    async def close(self) -> None:
        """Close every connection once it is returned; after 5 s, those still in use are terminated."""
        try:
            async with asyncio.timeout(_CLOSE_DEADLINE_S):
                await asyncio.gather(*self._recoveries)
                await self._connections.close()
        except TimeoutError:
            self._connections.terminate()

    async def _recover(self, connection: PooledConnection) -> None:
        try:
            async with asyncio.timeout(_RECOVERY_DEADLINE_S):
                await connection.execute("ROLLBACK")
                await connection.reset()
        except (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError):
            with suppress(asyncpg.InterfaceError):  # already closed and back in the pool
                connection.terminate()
        await self._connections.release(connection)


class Transaction:
    """A transaction on a pooled connection, which the body receives; committed at its end, rolled back if it raises.

    Cancelling the body never waits for the server: the query is cancelled there, and the connection cleaned up in the
    background. Raises the errors of `Pool.acquire`, TransactionAborted, and driver errors as a StoreError. It begins with the
    SQL of `opening` and `scope`.
    """

    __slots__ = ("_connection", "_pool", "opening", "scope")

    def __init__(self, pool: Pool, opening: str, scope: str = "") -> None:
        self._pool = pool
        self.opening = opening
        self.scope = scope
        self._connection: PooledConnection | None = None

    async def __aenter__(self) -> Connection:
        connection = await self._pool.acquire()
        is_open = False
        try:
            with driver_errors():
                await self._open(connection)
            is_open = True
        finally:
            if not is_open:
                self._pool.recover(connection)
        self._connection = connection
        return connection

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        connection, self._connection = self._connection, None
        assert connection is not None, "a transaction is entered before it is left"
        if error is None:
            await self._commit(connection)
            return
        recovery = self._pool.recover(connection)
        if not isinstance(error, (asyncio.CancelledError, GeneratorExit, TimeoutError)):
            await asyncio.shield(recovery)
        if isinstance(error, DRIVER_ERRORS):
            raise from_driver(error) from error

    async def _open(self, connection: PooledConnection) -> None:
        try:
            if not self._pool.is_spread:
                await connection.execute(self.opening + self.scope)
                return
            # Apart: the text that sets the scope is sent to the other servers whole, and there the role is in force already.
            await connection.execute(self.opening + _REACHING)
            if self.scope:
                await connection.execute(self.scope.strip())
        except asyncpg.InvalidParameterValueError as error:
            raise SchemaOutdated("the role is missing") from error
        except asyncpg.InsufficientPrivilegeError as error:
            raise RoleNotGranted from error

    async def _commit(self, connection: PooledConnection) -> None:
        status = ""
        try:
            with driver_errors():
                status = await connection.execute("COMMIT")
        finally:
            if status != "COMMIT":
                self._pool.recover(connection)
        if status != "COMMIT":  # Postgres answers ROLLBACK, and no error, to the COMMIT of a failed transaction
            raise TransactionAborted
        await self._pool.release(connection)


def scoped(pool: Pool, scope: Scope, *, role: DatabaseRole = DatabaseRole.APP, read_only: bool = False) -> Transaction:
    """Return a transaction with access to this owner's rows: `async with scoped(pool, scope) as connection`."""
    settings = _set_uuid("app.tenant_id", scope.tenant_id) + _set_uuid("app.owner_id", scope.owner_id)
    return Transaction(pool, _begin(role, read_only), settings)


@asynccontextmanager
async def within(connection: Connection, scope: Scope, *, of: Scope) -> AsyncIterator[Connection]:
    """Yield the connection of an open transaction of `of` with access to another owner's rows instead, of the same tenant.

    Afterwards the transaction has access to the rows of `of` again. An error must end the transaction.
    """
    assert scope.tenant_id == of.tenant_id, "a transaction stays inside its tenant"
    with driver_errors():
        await connection.execute(_set_uuid("app.owner_id", scope.owner_id))
    yield connection
    with driver_errors():
        await connection.execute(_set_uuid("app.owner_id", of.owner_id))


def tenant_scoped(
    pool: Pool, tenant_id: UUID, *, role: DatabaseRole = DatabaseRole.APP, read_only: bool = False
) -> Transaction:
    """Return a transaction with access to a tenant's rows, but not to those of single owners."""
    return Transaction(pool, _begin(role, read_only), _set_uuid("app.tenant_id", tenant_id))


async def enter_owner(connection: Connection, owner_id: UUID) -> None:
    """Give a tenant's transaction access to the rows of one of its owners, in the place of any before, until it ends."""
    await connection.execute(_set_uuid("app.owner_id", owner_id).strip())


def installation(pool: Pool, *, role: DatabaseRole = DatabaseRole.APP, read_only: bool = False) -> Transaction:
    """Return a transaction with access to the installation's tables, but not to any tenant's rows."""
    return Transaction(pool, _begin(role, read_only))


async def open_pools(dsn: str, config: PoolsConfig) -> Pools:
    """Return the pools, each with one open connection. Raises DatabaseUnavailable, DatabaseRefused."""
    async with AsyncExitStack() as opened:
        turn = await _open_pool(dsn, config, config.turn_connections)
        opened.push_async_callback(turn.close)
        background = await _open_pool(dsn, config, config.background_connections)
        opened.push_async_callback(background.close)
        is_spread = await _is_spread(turn)
        opened.pop_all()
    return Pools(
        Pool(turn, (config.turn_wait_s, config.turn_acquire_deadline_s), is_spread=is_spread),
        Pool(background, (config.background_acquire_deadline_s,) * 2, is_spread=is_spread),
    )


async def _is_spread(pool: asyncpg.Pool[asyncpg.Record]) -> bool:
    with driver_errors():
        async with pool.acquire() as connection:
            return await has_citus(connection)


@asynccontextmanager
async def direct(dsn: str, *, connect_deadline_s: float = 5.0) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """Yield a connection outside the pools, closed at the end; driver errors in the body are not converted.

    Raises DatabaseUnavailable, DatabaseRefused.
    """
    with _connecting():
        connection = await asyncpg.connect(dsn, timeout=connect_deadline_s)
    try:
        yield connection
    finally:
        connection.terminate() if connection.is_in_transaction() else await _close(connection)


async def has_citus(connection: Connection) -> bool:
    """Return whether the database has the extension that spreads tables over servers."""
    return bool(await _sql.has_citus(connection))


async def _open_pool(dsn: str, config: PoolsConfig, size: int) -> asyncpg.Pool[asyncpg.Record]:
    with _connecting():
        return await asyncpg.create_pool(
            dsn,
            init_size=1,
            min_size=0,
            max_size=size,
            init=_set_codecs,
            reset=_leave_session,
            timeout=config.connect_deadline_s,
            command_timeout=config.query_deadline_s,
            statement_cache_size=config.statement_cache_size,
            max_inactive_connection_lifetime=_IDLE_S,
            server_settings={"application_name": "context-sidecar"},
        )


@contextmanager
def _connecting() -> Iterator[None]:
    try:
        with driver_errors():
            yield
    except QueryTimeout as error:
        raise DatabaseUnavailable("no answer to a connection") from error
    except ValueError as error:
        raise DatabaseRefused("the DSN cannot be read") from error


async def _close(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    try:
        await connection.close(timeout=_CLOSE_DEADLINE_S)
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
        connection.terminate()


async def _set_codecs(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    for name, encode, decode in (("json", _dump_json, orjson.loads), ("jsonb", _dump_jsonb, _load_jsonb)):
        await connection.set_type_codec(name, schema="pg_catalog", encoder=encode, decoder=decode, format="binary")


def _dump_json(value: object) -> bytes:
    return orjson.dumps(value.value if isinstance(value, Json) else value)


def _dump_jsonb(value: object) -> bytes:
    return _JSONB_VERSION + _dump_json(value)


def _load_jsonb(value: bytes) -> Any:
    return orjson.loads(memoryview(value)[1:])


async def _leave_session(connection: Connection) -> None:
    """Skip asyncpg's reset, which costs a round trip: transactions leave the session unchanged."""


def _begin(role: DatabaseRole, read_only: bool) -> str:
    return f"BEGIN{' READ ONLY' if read_only else ''}; SET LOCAL ROLE {DatabaseRole(role).value};"


def _set_uuid(setting: str, value: UUID) -> str:
    if not isinstance(value, UUID):
        raise TypeError(f"{setting} takes a UUID, not {type(value).__name__}")
    return f" SET LOCAL {setting} = '{UUID(int=value.int)}';"  # rebuilt from the integer, because a subclass could override str()
