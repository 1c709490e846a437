"""What the store makes of the driver's errors."""

from __future__ import annotations

import asyncpg
import pytest

from store.errors import (
    DatabaseFaulty,
    DatabaseFull,
    DatabaseReadOnly,
    DatabaseUnavailable,
    TransactionConflict,
    UnexpectedDatabaseError,
    from_driver,
)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (
            asyncpg.InternalClientError("cannot switch to state 15; another operation (2) is in progress"),
            DatabaseUnavailable,
        ),
        (asyncpg.InterfaceError("connection is closed"), DatabaseUnavailable),
        (ConnectionResetError(), DatabaseUnavailable),
        (asyncpg.InternalServerError("failure on connection marked as essential: 10.0.0.2:5432"), DatabaseUnavailable),
        (asyncpg.InternalServerError("cache lookup failed"), UnexpectedDatabaseError),
        (asyncpg.OutdatedSchemaCacheError("the schema"), TransactionConflict),
        (asyncpg.InvalidCachedStatementError("cached plan must not change result type"), TransactionConflict),
        (asyncpg.FeatureNotSupportedError("cannot do that"), UnexpectedDatabaseError),
        (asyncpg.InternalClientError("something else"), UnexpectedDatabaseError),
        (asyncpg.DiskFullError('could not extend file "base/5/1": No space left on device'), DatabaseFull),
        (asyncpg.DiskFullError("could not resize shared memory segment: No space left"), DatabaseUnavailable),
        (asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT in a read-only transaction"), DatabaseReadOnly),
        (asyncpg.IdleInTransactionSessionTimeoutError("terminating connection"), DatabaseUnavailable),
        (asyncpg.PostgresIOError("could not read blocks 1..1"), DatabaseFaulty),
        (asyncpg.DataCorruptedError("invalid page in block 1"), DatabaseFaulty),
    ],
)
def test_broken_connection_is_distinguished_from_a_broken_query(error: Exception, kind: type[Exception]) -> None:
    assert type(from_driver(error)) is kind
