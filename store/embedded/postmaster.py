"""Runs the Postgres programs: creates a cluster, launches its server process, stops it.

Whether a server should run is decided in `server.py`, under its locks.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from store.embedded import disk
from store.embedded.binaries import ENVIRONMENT, Account, Programs, blocking_directory
from store.embedded.layout import PORT, Layout
from store.errors import DataDirectoryUnusable, EmbeddedPostgresError, PostgresDidNotStart

log = logging.getLogger(__name__)

POLL_S = 0.01
_LONGEST_POLL_S = 0.5
_FAST_STOP_S = 30.0  # aborts open transactions and waits for the shutdown checkpoint
_IMMEDIATE_STOP_S = 5.0  # without checkpoint; the next start recovers
_HEALS_WITHIN_S = 10.0  # backends survive a killed postmaster until their query ends
_LOG_KEPT_BYTES = 5_000_000
_LAST_WORDS_BYTES = 2_000
_HEALING = ("pre-existing shared memory block", "lock file")

# Sized for one developer on two cores. No parallel workers: their shared memory fails in containers with a small /dev/shm.
_SETTINGS = {
    "listen_addresses": "",
    "port": str(PORT),
    "fsync": "on",
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_parallel_workers_per_gather": "0",
    "jit": "off",
    "autovacuum_naptime": "5s",  # search plans depend on statistics, which a large import makes stale
    "client_connection_check_interval": "1s",  # cancels a query when its client process ends
    "wal_recycle": "off",  # a reused file of the log would keep its old contents
    "timezone": "UTC",
    "log_timezone": "UTC",
}


@dataclass(frozen=True, slots=True)
class Launch:
    """One attempt to run the server process."""

    process: subprocess.Popen[bytes]
    log: Path
    log_start: int
    began_at: float

    def has_ended(self) -> bool:
        """Return whether the process has ended and was reaped."""
        return self.process.poll() is not None

    def is_worth_repeating(self) -> bool:
        """Return whether it failed for a transient reason: backends of a killed server that have not ended yet."""
        young, words = time.monotonic() - self.began_at < _HEALS_WITHIN_S, self.last_words()
        return young and any(sign in words for sign in _HEALING) and not disk.is_full(self.log.parent, words)

    def last_words(self) -> str:
        """Return the tail of the server's log since this launch."""
        with self.log.open("rb") as file:
            end = file.seek(0, os.SEEK_END)
            start = self.log_start if self.log_start <= end else 0  # it was rotated since
            file.seek(max(start, end - _LAST_WORDS_BYTES))
            return file.read().decode(errors="replace").strip()


def pauses() -> Iterator[float]:
    """Yield endlessly the seconds to wait between probes of a starting server: 0.01 at first, rising to 0.5.

    The wait rises because Postgres logs a line for each connection it refuses.
    """
    pause_s = POLL_S
    while True:
        yield pause_s
        pause_s = min(1.5 * pause_s, _LONGEST_POLL_S)


async def initialise(layout: Layout, programs: Programs, account: Account) -> None:
    """Create the cluster atomically. Raises DataDirectoryUnusable, PostgresDidNotStart."""
    for leftover in layout.unfinished():
        await asyncio.to_thread(shutil.rmtree, leftover, ignore_errors=True)
    unfinished = layout.new_unfinished()
    os.chown(unfinished, account.uid, account.gid)
    await _run_initdb(unfinished, programs, account)
    unfinished.rename(layout.pgdata)
    _sync_directory(layout.root)
    log.info("embedded_postgres_initialised", extra={"data_dir": str(layout.root), "major": programs.major})


def launch(layout: Layout, programs: Programs, account: Account, *, settings: Mapping[str, str]) -> Launch:
    """Start the server process and return at once.

    It runs in its own session, so that Ctrl-C in a terminal reaches only us; a thread waits for it, so that it is reaped
    as soon as it ends.
    """
    _clear_stale_locks(layout)
    _rotate(layout.log)
    _make_private(layout.log, layout.log.with_suffix(".log.1"))
    options = {**_SETTINGS, "unix_socket_directories": str(layout.socket_dir), **settings}
    command = [str(programs.bin_dir / "postgres"), "-D", str(layout.pgdata)]
    command += [part for name, value in options.items() for part in ("-c", f"{name}={value}")]
    with os.fdopen(os.open(layout.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as output:
        log_start = output.tell()
        process = subprocess.Popen(  # noqa: S603  # our own program, no shell
            account.command(*command), stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd="/",
            env=ENVIRONMENT, start_new_session=True,
        )  # fmt: skip
    threading.Thread(target=process.wait, name="postgres-reaper", daemon=True).start()
    log.debug("embedded_postgres_launched", extra={"data_dir": str(layout.root), "pid": process.pid})
    return Launch(process, layout.log, log_start, time.monotonic())


def failure(pgdata: Path, account: Account, last_words: str) -> EmbeddedPostgresError:
    """Return the error to raise for a failed program: it names the inaccessible folder or the full disk if that is the cause,
    else it has the program's output."""
    if blocked := blocking_directory(pgdata, account):
        return DataDirectoryUnusable(
            f"the user {account.name}, which runs Postgres for root, may not pass {blocked};"
            " chmod o+x it or choose another directory"
        )
    if disk.is_full(pgdata.parent, last_words):
        return disk.full_disk(pgdata.parent)
    return PostgresDidNotStart(last_words or "it logged none")


def is_log_full(layout: Layout) -> bool:
    """Return whether the log of a running server is due to be rotated."""
    return layout.log.exists() and layout.log.stat().st_size > _LOG_KEPT_BYTES


def rotate_running(layout: Layout) -> None:
    """Copy the log of a running server aside and empty it: the server appends to the open file. Lines of that moment are lost."""
    aside = layout.log.with_suffix(".log.1")
    aside.touch(mode=0o600)
    shutil.copyfile(layout.log, aside)
    os.truncate(layout.log, 0)
    _make_private(aside)


async def shut_down(pgdata: Path) -> None:
    """Stop the server of this directory, if one runs, and wait until it has ended."""
    for stop_signal, patience_s in ((signal.SIGINT, _FAST_STOP_S), (signal.SIGQUIT, _IMMEDIATE_STOP_S)):
        pid = serving_pid(pgdata)
        if pid is None:
            return
        os.kill(pid, stop_signal)
        give_up_at = time.monotonic() + patience_s
        while serving_pid(pgdata) is not None and time.monotonic() < give_up_at:  # noqa: ASYNC110  # another process
            await asyncio.sleep(POLL_S)
    if serving_pid(pgdata) is not None:
        log.warning("embedded_postgres_does_not_stop", extra={"pgdata": str(pgdata)})


def serving_pid(pgdata: Path) -> int | None:
    """Return the process that serves this directory; None if the recorded one is gone, a zombie or another program.

    Judged by the process's command line, which is empty for a zombie and readable by every user.
    """
    try:
        pid = int((pgdata / "postmaster.pid").read_bytes().split(b"\n", 1)[0])
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if os.fsencode(pgdata) in arguments else None


def is_stopping(pgdata: Path) -> bool:
    """Return whether the server of this directory has recorded that it is stopping."""
    try:
        return (pgdata / "postmaster.pid").read_bytes().rstrip().endswith(b"\nstopping")
    except OSError:
        return False


def _clear_stale_locks(layout: Layout) -> None:
    """Make Postgres treat a dead server's lock files as stale, even if its process number is in use again.

    Call it under the start lock while no server runs. The file in pgdata is kept, but with our process number, because it also
    names the shared memory: Postgres ignores its parent's number, but still refuses to start while old backends are attached.
    """
    (layout.socket_dir / f".s.PGSQL.{PORT}.lock").unlink(missing_ok=True)
    record = layout.pgdata / "postmaster.pid"
    try:
        first, _, rest = record.read_bytes().partition(b"\n")
    except FileNotFoundError:
        return
    if first.strip().isdigit() and rest:
        record.write_bytes(b"%d\n%b" % (os.getpid(), rest))
    else:
        record.unlink()  # truncated before it recorded anything


async def _run_initdb(pgdata: Path, programs: Programs, account: Account) -> None:
    with _initdb(pgdata, programs, account) as process:
        try:
            while process.poll() is None:  # noqa: ASYNC110  # a process has no event
                await asyncio.sleep(POLL_S)
        except asyncio.CancelledError:
            process.kill()
            raise
        output = process.stdout.read() if process.stdout else b""
    if process.returncode != 0:
        raise failure(pgdata, account, output.decode(errors="replace")[-_LAST_WORDS_BYTES:].strip())


def _initdb(pgdata: Path, programs: Programs, account: Account) -> subprocess.Popen[bytes]:
    """Start initdb and return its process."""
    # C.UTF-8 and not C: under C, non-ASCII letters have no case and are not part of trigrams.
    provider = ["--locale-provider=builtin"] if programs.major >= 17 else []
    return subprocess.Popen(  # noqa: S603  # our own program, no shell
        account.command(
            str(programs.bin_dir / "initdb"), "-D", str(pgdata), "-U", "postgres", "--auth=trust", "--encoding=UTF8",
            "--locale=C.UTF-8", *provider,
        ),
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd="/", env=ENVIRONMENT,
        start_new_session=True,
    )  # fmt: skip


def _rotate(log_file: Path) -> None:
    if log_file.exists() and log_file.stat().st_size > _LOG_KEPT_BYTES:
        log_file.replace(log_file.with_suffix(".log.1"))


def _make_private(*paths: Path) -> None:
    """Make the logs private: an earlier release wrote them world-readable, and they contain queries."""
    for path in paths:
        if path.exists():
            path.chmod(0o600)


def _sync_directory(directory: Path) -> None:
    """Make a rename durable across a power failure."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
