"""Which PEM files of TLS are refused, and by which setting's name."""

from __future__ import annotations

from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from sidecar.rpc.transport.tls_files import check_pair, check_roots
from sidecar.runtime.errors import SettingInvalid
from tests.support.rpc.certificates import Authority


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    key, certificate = Authority().issue()
    (tmp_path / "key.pem").write_bytes(key)
    (tmp_path / "certificate.pem").write_bytes(certificate)
    return tmp_path / "certificate.pem"


def test_certificate_with_its_key_is_accepted(certificate: Path) -> None:
    check_pair(certificate, certificate.with_name("key.pem"))
    check_roots(certificate)


def _encrypted(key: bytes) -> bytes:
    secret = BestAvailableEncryption(b"a passphrase")
    return load_pem_private_key(key, None).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, secret)


@pytest.mark.parametrize("kind", ["empty", "text", "other", "encrypted"])
def test_unusable_pair_is_refused_by_name(certificate: Path, kind: str) -> None:
    key = certificate.with_name("key.pem")
    contents = {
        "empty": b"",
        "text": b"root:x:0:0\n",
        "other": Authority().issue()[0],
        "encrypted": _encrypted(key.read_bytes()),
    }
    key.write_bytes(contents[kind])
    with pytest.raises(SettingInvalid, match="SIDECAR_TLS_CERT"):
        check_pair(certificate, key)


@pytest.mark.parametrize("content", [b"", b"root:x:0:0\n"])
def test_file_without_authorities_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "ca.pem").write_bytes(content)
    with pytest.raises(SettingInvalid, match="SIDECAR_TLS_CLIENT_CA"):
        check_roots(tmp_path / "ca.pem")
