"""The PEM files of TLS: checked at the start, and read again once they were renewed.

gRPC reports an unusable file like a port in use, and accepts an empty list of authorities.
"""

from __future__ import annotations

import logging
import ssl
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from cryptography import x509

from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings

log = logging.getLogger(__name__)

_OWN_PAIR = "set SIDECAR_TLS_CERT and SIDECAR_TLS_KEY"


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The files of the server's certificate and its key, and of the authorities of callers' certificates if it requires these."""

    certificate: Path
    key: Path
    client_ca: Path | None = None

    @property
    def paths(self) -> Sequence[Path]:
        """All files."""
        return [path for path in (self.certificate, self.key, self.client_ca) if path is not None]

    def read(self) -> Any:
        """Return gRPC's configuration of the files' present content. Raises SettingInvalid naming the unusable one."""
        pair = (_read(self.key, "SIDECAR_TLS_KEY"), _read(self.certificate, "SIDECAR_TLS_CERT"))
        check_pair(self.certificate, self.key)
        roots = None
        if self.client_ca is not None:
            roots = _read(self.client_ca, "SIDECAR_TLS_CLIENT_CA")
            check_roots(self.client_ca)
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=roots)


def tls_files(settings: Settings) -> TlsFiles | None:
    """Return the files that the settings name, None for plain text. Raises SettingInvalid if one of a pair is missing."""
    if settings.tls_cert is None and settings.tls_key is None:
        if settings.tls_client_ca is not None:
            raise SettingInvalid("SIDECAR_TLS_CLIENT_CA", "is set without a server certificate", _OWN_PAIR)
        return None
    if settings.tls_cert is None or settings.tls_key is None:
        raise SettingInvalid("SIDECAR_TLS_CERT", "needs SIDECAR_TLS_KEY", "set both or neither")
    return TlsFiles(settings.tls_cert, settings.tls_key, settings.tls_client_ca)


def renewed_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return credentials that follow the files: each new connection gets their present content.

    If they cannot be used, as between the writes of a renewal, the last good ones stay in use; that is logged once. Raises
    SettingInvalid if they cannot be used now.
    """
    renewal = _Renewal(files)
    return grpc.dynamic_ssl_server_credentials(
        renewal.first, renewal.changed, require_client_authentication=files.client_ca is not None
    )


class _Renewal:
    """The last read state of the files. gRPC asks for changes in threads of its own, at each new connection."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._mark = _mark_of(files)
        self.first = files.read()
        _tell_expired(files.certificate)

    def changed(self) -> Any:
        """Return the configuration if the files have changed and can be used, else None: the last one stays."""
        with self._lock:
            if (mark := _mark_of(self._files)) == self._mark:
                return None
            self._mark = mark
            try:
                read = self._files.read()
            except SettingInvalid as error:
                log.error("tls_files_kept", extra={"problem": str(error)})
                return None
            log.info("tls_files_read", extra={"certificate": str(self._files.certificate)})
            _tell_expired(self._files.certificate)
            return read


def _mark_of(files: TlsFiles) -> list[tuple[int, int, int] | None]:
    """Return marks that differ once a file was changed or replaced; None for a file that cannot be found."""
    marks: list[tuple[int, int, int] | None] = []
    for path in files.paths:
        try:
            status = path.stat()
        except OSError:
            marks.append(None)
        else:
            marks.append((status.st_mtime_ns, status.st_size, status.st_ino))
    return marks


def _tell_expired(certificate: Path) -> None:
    """Log if the server's certificate is not valid now: callers refuse it, and nothing else would tell."""
    validity = valid_between(certificate)
    if validity and not validity[0] <= datetime.now(UTC) < validity[1]:
        begins_at, ends_at = validity
        log.error("tls_certificate_not_valid", extra={"from": begins_at.isoformat(), "until": ends_at.isoformat()})


def valid_between(certificate: Path) -> tuple[datetime, datetime] | None:
    """Return the times from which and until which the certificate is valid; None if it cannot be read here.

    Some can only be read by gRPC's library, and one may be replaced at this moment.
    """
    try:
        read = x509.load_pem_x509_certificate(certificate.read_bytes())
        return read.not_valid_before_utc, read.not_valid_after_utc
    except (ValueError, OSError):
        return None


def check_pair(certificate: Path, key: Path) -> None:
    """Raise SettingInvalid unless the files hold a certificate and its key, without a passphrase."""
    try:
        # A passphrase would be asked for at the terminal.
        _context().load_cert_chain(certificate, key, password=lambda: "")
    except OSError as error:
        problem = f"{certificate} and SIDECAR_TLS_KEY {key} are not a certificate and its key"
        fix = "set PEM files that belong together, the key without a passphrase"
        raise SettingInvalid("SIDECAR_TLS_CERT", problem, fix) from error


def check_roots(certificates: Path) -> None:
    """Raise SettingInvalid unless the file holds certificates."""
    try:
        _context().load_verify_locations(certificates)
    except OSError as error:
        problem = f"{certificates} holds no certificate"
        raise SettingInvalid("SIDECAR_TLS_CLIENT_CA", problem, "set a PEM file of certificates") from error


def _context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_ciphers("DEFAULT:@SECLEVEL=0")  # gRPC accepts short keys
    return context


def _read(path: Path, setting: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingInvalid(setting, f"{path} cannot be read ({error.strerror})", "name a readable file") from error
