"""Where the server may listen, and who may reach its unix socket."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sidecar.rpc.transport.listen import check_listen_address, prepare_socket_directory
from sidecar.runtime.errors import PlainTextRefused, SettingInvalid, SocketDirectoryUnsafe


@pytest.mark.parametrize(
    "address", ["127.0.0.1:50051", "127.8.8.8:0", "localhost:50051", "[::1]:50051", "unix:/run/sidecar/sidecar.sock"]
)
def test_plain_text_is_served_on_loopback_and_unix_sockets(address: str) -> None:
    assert check_listen_address(address, is_tls=False).target == address


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0:50051",
        "[::]:50051",
        "10.0.0.7:50051",
        "[2001:db8::1]:1",
        "[::ffff:127.0.0.1]:1",
        "example.com:443",
        "127.0.0.1.example.com:1",
        "localhost.example.com:1",
        "127.1:1",
        "2130706433:1",
        "*:1",
    ],
)
def test_plain_text_anywhere_else_is_refused_and_tls_is_accepted(address: str) -> None:
    with pytest.raises(PlainTextRefused, match="TLS"):
        check_listen_address(address, is_tls=False)
    assert check_listen_address(address, is_tls=True).target == address


@pytest.mark.parametrize(
    "address",
    [
        "",
        ":",
        ":50051",
        "127.0.0.1",
        "127.0.0.1:",
        "127.0.0.1:x",
        "127.0.0.1:65536",
        "127.0.0.1:-1",
        "127.0.0.1:٣",
        "::1:50051",
        "ipv4:127.0.0.1:1,0.0.0.0:2",
        "dns:///localhost:1",
        "127.0.0.1\0:1",
        "unix:",
        "unix:relative.sock",
        "unix:/run/a\nb.sock",
        "unix-abstract:sidecar",
        "unix:/" + "x" * 107,
    ],
)
@pytest.mark.parametrize("is_tls", [True, False])
def test_text_that_is_no_listen_address_is_a_clear_error(address: str, is_tls: bool) -> None:
    with pytest.raises(SettingInvalid, match="SIDECAR_LISTEN"):
        check_listen_address(address, is_tls=is_tls)


def test_a_unix_address_gives_the_path_of_its_socket() -> None:
    listen = check_listen_address("unix:///run/sidecar/sidecar.sock", is_tls=False)
    assert listen.socket_path == Path("/run/sidecar/sidecar.sock")
    assert listen.target == "unix:/run/sidecar/sidecar.sock"


def test_socket_directory_is_private_to_its_user(tmp_path: Path) -> None:
    directory = tmp_path / "run" / "sidecar"
    prepare_socket_directory(directory)
    assert directory.stat().st_mode & 0o777 == 0o700
    prepare_socket_directory(directory)


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o777, 0o1770])
def test_socket_directory_with_wider_permissions_is_refused_and_unchanged(tmp_path: Path, mode: int) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    directory.chmod(mode)
    with pytest.raises(SocketDirectoryUnsafe, match="0700"):
        prepare_socket_directory(directory)
    assert directory.stat().st_mode & 0o7777 == mode


def test_link_or_file_is_refused_as_socket_directory(tmp_path: Path) -> None:
    prepare_socket_directory(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    (tmp_path / "file").write_bytes(b"")
    for name in ("link", "file", "file/below"):
        with pytest.raises(SocketDirectoryUnsafe):
            prepare_socket_directory(tmp_path / name)


def test_another_users_directory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    directory = tmp_path / "run"
    prepare_socket_directory(directory)
    somebody_else = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody_else)
    with pytest.raises(SocketDirectoryUnsafe, match="another user"):
        prepare_socket_directory(directory)
