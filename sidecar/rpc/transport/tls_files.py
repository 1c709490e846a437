"""Checks the PEM files of TLS. gRPC reports an unusable one like a port in use, and accepts an empty list of authorities."""

from __future__ import annotations

import ssl
from pathlib import Path

from sidecar.runtime.errors import SettingInvalid


def check_pair(certificate: Path, key: Path) -> None:
    """Raise SettingInvalid unless the files hold a certificate and its key, without a passphrase."""
    try:
        # A passphrase would be asked for at the terminal.
        _context().load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError as error:
        problem = f"{certificate} and SIDECAR_TLS_KEY {key} are not a certificate and its key"
        fix = "set PEM files that belong together, the key without a passphrase"
        raise SettingInvalid("SIDECAR_TLS_CERT", problem, fix) from error


def check_roots(certificates: Path) -> None:
    """Raise SettingInvalid unless the file holds certificates."""
    try:
        _context().load_verify_locations(certificates)
    except ssl.SSLError as error:
        problem = f"{certificates} holds no certificate"
        raise SettingInvalid("SIDECAR_TLS_CLIENT_CA", problem, "set a PEM file of certificates") from error


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # gRPC accepts short keys
    return context
