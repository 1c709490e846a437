"""The embedded Postgres server: real Postgres programs from a wheel, started when no external server is configured.

Every process that uses a data directory holds a shared lock on it. A process that starts or stops the server holds the
start lock, and the last user stops it. Liveness is checked by connecting. A process number is used only to send a signal,
and only after verifying that the process serves this directory: after a kill -9 the number may belong to an unreaped zombie
or to another program.
"""

from __future__ import annotations

import asyncio
import enum
import logging
import math
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn, Self

import asyncpg

from store.db import queries
from store.embedded import disk, postmaster
from store.embedded.binaries import Programs, find_programs, server_account
from store.embedded.layout import Layout
from store.embedded.locks import FileLock
from store.errors import DataDirectoryUnusable, PostgresDidNotStart, driver_errors

log = logging.getLogger(__name__)
_sql = queries.load(__file__)

_START_DEADLINE_S = 60.0
_CONNECT_DEADLINE_S = 5.0
_WATCH_S = 0.5
_SOCKET_DEADLINE_S = 3.0  # a server creates its socket right after its start and removes it last
_STOPPING_DEADLINE_S = 20.0  # longer than calls take to drain, as everything is stopped when the machine is shut down


class _State(enum.Enum):
    """The result of a connection attempt."""

    ABSENT = enum.auto()
    BUSY = enum.auto()  # starting, recovering or shutting down
    EMPTY = enum.auto()  # answers, but its first start was interrupted before the database was created
    READY = enum.auto()


class EmbeddedPostgres:
    """One use of the server in a data directory: the first use starts it, the last one stops it.

    `settings` are passed to the server if this use starts it. A server that was asked to stop gets `stopping_most_s` for its
    clients to leave, and is then replaced.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        bin_dir: Path | None = None,
        settings: Mapping[str, str] | None = None,
        stopping_most_s: float = _STOPPING_DEADLINE_S,
    ) -> None:
        self._layout = Layout.of(data_dir)
        self._bin_dir = bin_dir
        self._settings = dict(settings or {})
        self._stopping_most_s = stopping_most_s
        self._start_lock = FileLock(self._layout.start_lock)
        self._users_lock = FileLock(self._layout.users_lock)

    @property
    def dsn(self) -> str:
        """The server's DSN, for asyncpg and libpq, valid while it is in use."""
        return self._layout.dsn

    @property
    def socket_dir(self) -> Path:
        """The directory of its socket, which Postgres' own programs take as the host."""
        return self._layout.socket_dir

    @property
    def pgdata(self) -> Path:
        """The server's own directory."""
        return self._layout.pgdata

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> str:
        """Create and start the server if needed, and return its DSN. Idempotent.

        Raises BinariesUnusable, DataDirectoryUnusable, PostgresDidNotStart.
        """
        was_user = is_user = self._users_lock.is_held
        if was_user and not self._layout.pgdata.exists():  # a volume was unmounted, or the directory moved
            raise DataDirectoryUnusable(
                f"{self._layout.pgdata} is gone; put it back, or restart to begin with an empty database"
            )
        self._layout.make_root()
        try:
            async with self._start_lock.exclusive(_START_DEADLINE_S):
                # Only a holder of the start lock locks this one exclusively, so a shared lock never fails here.
                if not was_user and not self._users_lock.try_shared():
                    raise DataDirectoryUnusable(f"{self._layout.users_lock} is locked by another program")
                await self._bring_up()
                is_user = True
        except TimeoutError as error:
            raise PostgresDidNotStart("another process has been starting it all this time") from error
        except OSError as error:
            is_full = disk.is_full(self._layout.root, str(error))
            raise (disk.full_disk(self._layout.root) if is_full else DataDirectoryUnusable(str(error))) from error
        finally:
            if not is_user:
                self._users_lock.release()
        return self.dsn

    async def stop(self) -> None:
        """End this use of the server, and stop it if there is no other user. Idempotent."""
        if not self._users_lock.is_held:
            return
        try:
            async with self._start_lock.exclusive(_START_DEADLINE_S):
                self._users_lock.release()
                if self._users_lock.try_exclusive():
                    await postmaster.shut_down(self._layout.pgdata)
        except TimeoutError:
            log.warning("embedded_postgres_left_to_others", extra={"data_dir": str(self._layout.root)})
        finally:
            self._users_lock.release()

    async def keep_running(self) -> NoReturn:
        """Watch the server, restart it whenever it or its socket is gone or it takes no more connections, and keep its log short.

        Runs until cancelled or failed. Raises the same errors as `start`.
        """
        while True:
            await asyncio.sleep(_WATCH_S)
            is_running = postmaster.serving_pid(self._layout.pgdata) is not None
            is_whole = is_running and self._layout.socket.exists() and not postmaster.is_stopping(self._layout.pgdata)
            if not is_whole and await self._probe() is not _State.READY:
                log.warning("embedded_postgres_lost", extra={"data_dir": str(self._layout.root)})
                await self.start()
            if postmaster.is_log_full(self._layout):
                await self._rotate_log()

    async def _rotate_log(self) -> None:
        """Rotate the log, unless another process that uses the server has done so."""
        try:
            async with self._start_lock.exclusive(_START_DEADLINE_S):
                if postmaster.is_log_full(self._layout):
                    await asyncio.to_thread(postmaster.rotate_running, self._layout)
        except (TimeoutError, OSError) as error:
            log.warning("embedded_postgres_log_not_rotated", extra={"error": type(error).__name__})

    async def _bring_up(self) -> None:
        """Wait until the server answers and has its database."""
        give_up_at = time.monotonic() + _START_DEADLINE_S
        launch: postmaster.Launch | None = None
        deaf_since, slowness = math.inf, 1
        for pause_s in postmaster.pauses():
            if (state := await self._probe()) is _State.READY:
                return
            if time.monotonic() >= give_up_at:
                raise PostgresDidNotStart(launch.last_words() if launch else f"it does not answer in {self._layout}")
            is_running = postmaster.serving_pid(self._layout.pgdata) is not None
            deaf_most_s = self._patience_s(state) if is_running else math.inf
            deaf_since = min(deaf_since, time.monotonic()) if deaf_most_s < math.inf else math.inf
            if state is _State.EMPTY:
                await self._create_database()
            elif state is _State.ABSENT and not is_running:
                launch = await self._launch(launch)
            elif time.monotonic() - deaf_since >= slowness * deaf_most_s:
                self._log_deaf(state)
                await postmaster.shut_down(self._layout.pgdata)
                launch, slowness = None, 2 * slowness  # the machine is slow: give the next launch more time
                give_up_at = time.monotonic() + _START_DEADLINE_S
            await asyncio.sleep(pause_s)

    def _patience_s(self, state: _State) -> float:
        """Return how long a running server may stay in that state before it is replaced; infinity for a state that passes.

        A server that was asked to stop refuses connections, but runs until its last client leaves.
        """
        if state is _State.BUSY and postmaster.is_stopping(self._layout.pgdata):
            return self._stopping_most_s
        return _SOCKET_DEADLINE_S if state is _State.ABSENT else math.inf

    def _log_deaf(self, state: _State) -> None:
        if state is _State.ABSENT:
            log.warning("embedded_postgres_without_socket", extra={"data_dir": str(self._layout.root)})
        else:
            log.warning("embedded_postgres_stopping", extra={"data_dir": str(self._layout.root)})

    async def _launch(self, earlier: postmaster.Launch | None) -> postmaster.Launch:
        """Return the current launch, or a new one if there is none or its failure was transient."""
        if earlier and not earlier.has_ended():
            return earlier
        account = server_account(self._layout.pgdata)
        if earlier and not earlier.is_worth_repeating():
            raise postmaster.failure(self._layout.pgdata, account, earlier.last_words())
        programs = await asyncio.to_thread(find_programs, self._bin_dir, account=account, copies=self._layout.copies)
        self._layout.make_socket_dir(account)
        if not self._layout.pgdata.exists():
            await postmaster.initialise(self._layout, programs, account)
        self._check_data_version(programs)
        return postmaster.launch(self._layout, programs, account, settings=self._settings)

    def _check_data_version(self, programs: Programs) -> None:
        made_by = (self._layout.pgdata / "PG_VERSION").read_text(encoding="ascii").strip()
        if made_by != str(programs.major):
            raise DataDirectoryUnusable(
                f"{self._layout.pgdata} was made by PostgreSQL {made_by}, the programs are {programs.major};"
                " use pg_upgrade, or programs of that version"
            )

    async def _probe(self) -> _State:
        """Try to connect, and return the state found."""
        try:
            connection = await asyncpg.connect(self.dsn, timeout=_CONNECT_DEADLINE_S)
        except (FileNotFoundError, ConnectionRefusedError):
            return _State.ABSENT
        except PermissionError as error:
            raise DataDirectoryUnusable(f"no access to {self._layout.socket_dir}; run as its owner") from error
        except asyncpg.InvalidCatalogNameError:
            return _State.EMPTY
        except asyncpg.DiskFullError as error:
            raise disk.full_disk(self._layout.root) from error
        except (asyncpg.PostgresError, OSError):
            return _State.BUSY
        await connection.close()
        return _State.READY

    async def _create_database(self) -> None:
        with driver_errors():
            connection = await asyncpg.connect(self.dsn, database="postgres", timeout=_CONNECT_DEADLINE_S)
            try:
                await _sql.create_database(connection)
            finally:
                await connection.close()


def default_data_dir(environ: Mapping[str, str]) -> Path:
    """Return the default data directory: a system folder for root, else one in the user's home.

    Raises DataDirectoryUnusable if the user has no home.
    """
    if os.geteuid() == 0:
        return Path("/var/lib/context-sidecar")
    data_home = environ.get("XDG_DATA_HOME", "")
    if Path(data_home).is_absolute():  # the XDG specification ignores relative ones
        return Path(data_home) / "context-sidecar"
    try:
        home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    except RuntimeError as error:
        raise DataDirectoryUnusable("this user has no home; set SIDECAR_DATA_DIR") from error
    return home / ".local" / "share" / "context-sidecar"
