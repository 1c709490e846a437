"""The embedded Postgres' directory and account: odd paths, closed folders, other programs, root and others."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.embedded import postmaster
from store.embedded.binaries import server_account
from store.embedded.layout import Layout
from store.embedded.server import EmbeddedPostgres, default_data_dir
from store.errors import BinariesUnusable, DataDirectoryUnusable
from tests.support.store.server_use import (
    IS_ROOT,
    NewDir,
    NewUser,
    cluster_fixture,
    copy_packages,
    data_dir_fixture,
    fetch,
    moved,
    new_dir_fixture,
    new_user_fixture,
    serving_pid,
)

FIXTURES = (
    new_user_fixture,
    new_dir_fixture,
    cluster_fixture,
    data_dir_fixture,
)  # found by pytest in the names of this module
DEBIAN_15 = Path("/usr/lib/postgresql/15/bin")


async def test_unsuitable_socket_path_is_replaced_by_a_private_one(new_user: NewUser, data_dir: Path) -> None:
    odd = data_dir.with_name("sidecar-embedded-dé, 'x' \"y\" " + "long" * 30)
    socket_dir = Layout.of(odd).socket_dir
    with moved(data_dir, odd):
        async with EmbeddedPostgres(odd) as postgres:
            other = new_user(odd / "nowhere" / "..")
            assert other.wait_started() == postgres.dsn
            assert socket_dir.parent == Path("/tmp")
            assert socket_dir.stat().st_mode & 0o777 == 0o700
            assert await fetch(postgres.dsn, "SELECT 1") == 1
            assert other.leave() == 0
    shutil.rmtree(socket_dir)


async def test_server_log_is_readable_by_its_user_alone_even_if_it_was_not_before(new_dir: NewDir) -> None:
    layout = Layout.of(new_dir())
    layout.make_root()
    layout.log.write_bytes(b"x" * 6_000_000)
    layout.log.chmod(0o644)
    async with EmbeddedPostgres(layout.root) as postgres:
        assert await fetch(postgres.dsn, "SELECT 1") == 1
        logs = sorted(layout.root.glob("postgres.log*"))
        assert [(path.name, path.stat().st_mode & 0o777) for path in logs] == [
            ("postgres.log", 0o600),
            ("postgres.log.1", 0o600),
        ]


async def test_socket_folder_made_by_another_user_is_not_used(new_dir: NewDir) -> None:
    directory = Path("/tmp") / ("sidecar-embedded-" + "long" * 30)
    socket_dir = Layout.of(directory).socket_dir
    socket_dir.symlink_to(new_dir())
    try:
        with pytest.raises(DataDirectoryUnusable, match=str(socket_dir)):
            await EmbeddedPostgres(directory).start()
    finally:
        socket_dir.unlink()
        shutil.rmtree(directory)


@pytest.mark.parametrize("bin_dir", [DEBIAN_15] if DEBIAN_15.is_dir() else [None])
async def test_programs_of_another_postgres_can_be_used(new_dir: NewDir, bin_dir: Path | None) -> None:
    async with EmbeddedPostgres(new_dir(), bin_dir=bin_dir) as postgres:
        assert await fetch(postgres.dsn, "SELECT lower('É')") == "é"


async def test_folder_without_programs_is_refused_by_name(new_dir: NewDir) -> None:
    with pytest.raises(BinariesUnusable, match="no postgres in /usr/share"):
        await EmbeddedPostgres(new_dir(), bin_dir=Path("/usr/share")).start()


async def test_a_cluster_of_another_major_version_is_refused(data_dir: Path) -> None:
    version = data_dir / "pgdata" / "PG_VERSION"
    made_by = version.read_text()
    version.write_text("9\n")
    with pytest.raises(DataDirectoryUnusable, match="made by PostgreSQL 9"):
        await EmbeddedPostgres(data_dir).start()
    version.write_text(made_by)


@pytest.mark.parametrize("path", ["/proc/sidecar", "/dev/null/sidecar", "/tmp/nul\0"])
async def test_unusable_data_directory_is_refused(path: str) -> None:
    with pytest.raises(DataDirectoryUnusable):
        await EmbeddedPostgres(Path(path)).start()


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """Mount a small disk at the folder; skip the test where mounting is not allowed."""
    if (
        not IS_ROOT
        or subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "none", folder], check=False).returncode
    ):
        pytest.skip("only root may mount a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def fill_with_copy(data_dir: Path, folder: Path) -> None:
    """Copy the cluster to the folder, with owners, and fill the rest of its disk."""
    subprocess.run(["cp", "-a", f"{data_dir}/pgdata", folder], check=True)
    Path(folder, "filler").write_bytes(bytes(shutil.disk_usage(folder).free))


@pytest.mark.parametrize("is_new", [True, False])
async def test_full_disk_is_named_as_the_cause(data_dir: Path, new_dir: NewDir, is_new: bool) -> None:
    directory = new_dir()
    directory.mkdir(mode=0o755)
    with small_disk(directory, "16m" if is_new else "256m"):
        if not is_new:
            fill_with_copy(data_dir, directory)
        with pytest.raises(DataDirectoryUnusable, match=f"the disk that holds {directory} is full"):
            await EmbeddedPostgres(directory).start()


async def test_running_server_without_room_for_a_connection_has_a_full_disk(data_dir: Path, new_dir: NewDir) -> None:
    directory = new_dir()
    directory.mkdir(mode=0o755)
    with small_disk(directory, "256m"):
        fill_with_copy(data_dir, directory)
        Path(directory, "filler").unlink()
        async with EmbeddedPostgres(directory):
            for cache in Path(directory, "pgdata").rglob("pg_internal.init"):
                cache.unlink()  # the next connection writes it
            Path(directory, "filler").write_bytes(bytes(shutil.disk_usage(directory).free))
            with pytest.raises(DataDirectoryUnusable, match=f"the disk that holds {directory} is full"):
                await EmbeddedPostgres(directory).start()
            Path(directory, "filler").unlink()


@pytest.mark.parametrize("is_new", [True, False])
async def test_inaccessible_parent_folder_is_named_and_stays_closed(
    data_dir: Path, new_dir: NewDir, is_new: bool
) -> None:
    closed = new_dir()
    closed.mkdir(mode=0o700)
    directory = closed / "data"
    expected = pytest.raises(DataDirectoryUnusable, match=f"{closed};") if IS_ROOT else contextlib.nullcontext()
    with contextlib.nullcontext() if is_new else moved(data_dir, directory), expected:
        async with EmbeddedPostgres(directory):
            pass
    assert closed.stat().st_mode & 0o777 == 0o700


def test_inaccessible_programs_are_copied_once_beside_the_data(new_user: NewUser, new_dir: NewDir) -> None:
    closed, directory = new_dir(), new_dir()
    copy_packages(closed)
    closed.chmod(0o700)
    for _ in range(2):
        user = new_user(directory, pythonpath=closed)
        assert user.wait_started()
        command = Path(f"/proc/{serving_pid(directory)}/cmdline").read_text()
        assert command.startswith(str(directory if IS_ROOT else closed))
        assert user.leave() == 0
    copies = list((directory / "binaries").glob("*"))
    assert len(copies) == (1 if IS_ROOT else 0)
    assert closed.stat().st_mode & 0o777 == 0o700


def test_normal_user_runs_the_server_as_itself(new_user: NewUser, new_dir: NewDir, data_dir: Path) -> None:
    packages, directory = new_dir(), new_dir()
    copy_packages(packages)
    nobody = pwd.getpwnam("nobody").pw_uid if IS_ROOT else os.geteuid()
    directory.mkdir(mode=0o700)
    os.chown(directory, nobody, nobody if IS_ROOT else -1)
    user = new_user(directory, pythonpath=packages, become=[str(data_dir), str(nobody)] if IS_ROOT else [])
    assert user.wait_started()
    assert Path(f"/proc/{serving_pid(directory)}").stat().st_uid == nobody
    assert user.leave() == 0
    assert postmaster.serving_pid(directory / "pgdata") is None
    assert not (directory / "binaries").exists()


def test_user_that_the_system_does_not_know_is_refused_by_its_number(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 3_999_999)
    with pytest.raises(DataDirectoryUnusable, match=r"3999999.*SIDECAR_DATABASE_URL"):
        server_account(tmp_path / "pgdata")


def test_default_directory_is_the_systems_for_root_and_the_users_otherwise() -> None:
    assert default_data_dir({"XDG_DATA_HOME": "/data", "HOME": "/home/ada"}) == (
        Path("/var/lib/context-sidecar") if IS_ROOT else Path("/data/context-sidecar")
    )
    assert default_data_dir({"XDG_DATA_HOME": "relative", "HOME": "/home/ada"}) == (
        Path("/var/lib/context-sidecar") if IS_ROOT else Path("/home/ada/.local/share/context-sidecar")
    )
