"""The paths of the embedded server: inside its data directory, and its socket.

Two processes that name the same directory by different paths get the same layout.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from store.embedded.binaries import Account
from store.errors import DataDirectoryUnusable

PORT = 5432  # part of the socket file's name; the server opens no TCP port
_SOCKET_PATH_BYTES = 107  # sockaddr_un.sun_path without its closing NUL
_SOCKET_FILE_BYTES = len(f"/.s.PGSQL.{PORT}")
_UNFINISHED = "pgdata.unfinished-"
_PLAIN_PATH = re.compile(r"[A-Za-z0-9/._+-]+")  # Postgres and asyncpg both read commas and quotes in a socket path
_FALLBACK_PARENT = Path("/tmp")  # noqa: S108  # checked before use: the folder must be ours and private


@dataclass(frozen=True, slots=True)
class Layout:
    """The paths of one embedded server; `root` is the caller's data directory, resolved."""

    root: Path
    socket_dir: Path

    @classmethod
    def of(cls, data_dir: Path) -> Layout:
        """Return the layout for a data directory, which need not exist. Raises DataDirectoryUnusable."""
        try:
            root = data_dir.expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise DataDirectoryUnusable(f"{data_dir!r}: {error}") from error
        return cls(root, _socket_dir(root))

    def __str__(self) -> str:
        return str(self.root)

    @property
    def pgdata(self) -> Path:
        """The cluster; complete or missing."""
        return self.root / "pgdata"

    def unfinished(self) -> list[Path]:
        """Return the folders left by interrupted attempts to create a cluster. Each attempt has its own folder, because
        initdb survives a kill -9 of its parent and must not write into the next attempt."""
        return list(self.root.glob(f"{_UNFINISHED}*"))

    def new_unfinished(self) -> Path:
        """Return a new private folder to create a cluster in."""
        return Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=self.root))

    @property
    def copies(self) -> Path:
        """Copies of programs that the server's account cannot access."""
        return self.root / "binaries"

    @property
    def log(self) -> Path:
        """The server's log."""
        return self.root / "postgres.log"

    @property
    def socket(self) -> Path:
        """The socket of the running server."""
        return self.socket_dir / f".s.PGSQL.{PORT}"

    @property
    def start_lock(self) -> Path:
        """Locked exclusively by a process that starts or stops the server."""
        return self.root / "start.lock"

    @property
    def users_lock(self) -> Path:
        """Locked shared by every process that uses the server."""
        return self.root / "users.lock"

    @property
    def dsn(self) -> str:
        """The server's DSN."""
        return f"postgresql://postgres@/sidecar?host={quote(str(self.socket_dir))}&port={PORT}"

    def make_root(self) -> None:
        """Create the data directory if it is missing. Raises DataDirectoryUnusable."""
        try:
            missing = [path for path in (self.root, *self.root.parents) if not path.exists()]
            for path in reversed(missing):
                path.mkdir(mode=0o700, exist_ok=True)
                if os.geteuid() == 0:
                    path.chmod(0o755)  # the server's account needs access; private files inside have modes of their own
            if not os.access(self.root, os.W_OK | os.X_OK):
                raise PermissionError(f"no right to write in {self.root}")
        except OSError as error:
            raise DataDirectoryUnusable(str(error)) from error

    def make_socket_dir(self, account: Account) -> None:
        """Create the socket's folder, private to the account. Raises DataDirectoryUnusable if another user owns it."""
        try:
            self.socket_dir.mkdir(mode=0o700)
            os.chown(self.socket_dir, account.uid, account.gid)
        except FileExistsError:
            self._check_socket_dir(account)
        except OSError as error:
            raise DataDirectoryUnusable(str(error)) from error

    def _check_socket_dir(self, account: Account) -> None:
        found = self.socket_dir.lstat()
        if not self.socket_dir.is_dir() or self.socket_dir.is_symlink() or found.st_uid not in {account.uid, 0}:
            raise DataDirectoryUnusable(f"{self.socket_dir} is not a folder of {account.name}; remove it")
        os.chown(self.socket_dir, account.uid, account.gid)
        self.socket_dir.chmod(0o700)


def _socket_dir(root: Path) -> Path:
    """Return the folder for the socket: inside the data directory, or a short path if that one is unfit for a socket."""
    inside = root / "run"
    path = str(inside)
    if _PLAIN_PATH.fullmatch(path) and len(path) + _SOCKET_FILE_BYTES <= _SOCKET_PATH_BYTES:
        return inside
    return _FALLBACK_PARENT / f"context-sidecar-{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}"
