"""Client certificates as identity: reads a verified certificate's names, and the file that maps names to callers.

gRPC truncates a name at its first NUL, so names are read from the certificate itself. A connection can outlive its
certificate, so the expiry is returned with the names.
"""

from __future__ import annotations

import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography import x509

from sidecar.rpc.auth.identity import Grant, Identity, Role, identity_of
from sidecar.runtime.errors import CertificateExpired, InvalidArgument, SettingInvalid

log = logging.getLogger(__name__)

AuthContext = Mapping[str, Iterable[bytes]]

SETTING = "SIDECAR_CLIENT_NAMES"
MAX_FILE_BYTES = 4 * 1024 * 1024

_KEYS = ("tenant", "owners", "agent", "role", "spaces")
_RECHECK_S = 1.0
_MOST_READ = 1_000
_NEVER = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A verified certificate: its valid names as `uri:…` and `dns:…`, and its expiry."""

    names: tuple[str, ...]
    expires_at: datetime


class Callers:
    """Maps certificate names to callers, from the settings or from a file that is reloaded within a second of a change.

    An invalid change is logged once and tried again; until then the last good callers stay in force.
    """

    def __init__(
        self, registered: Mapping[str, Grant], path: Path | None = None, *, monotonic_s: Callable[[], float]
    ) -> None:
        """Read the callers. Raises SettingInvalid naming an invalid one."""
        self._path = path
        self._monotonic_s = monotonic_s
        self._mark = _mark_of(path)
        self._by_name = registrations(registered if path is None else read_client_names(path))
        self._checked_s = monotonic_s()
        self._problem = ""
        self._read: OrderedDict[bytes, Certificate] = OrderedDict()

    def presented(self, auth_context: AuthContext, *, now_s: float) -> list[Identity] | None:
        """Return the callers of the peer's certificate; None without a certificate or names in it.

        Raises CertificateExpired.
        """
        certificate = self._certificate(auth_context) if self._by_name or self._path else None
        if certificate is None or not certificate.names:
            return None
        if certificate.expires_at.timestamp() <= now_s:
            raise CertificateExpired
        self._reload()
        return [self._by_name[name] for name in certificate.names if name in self._by_name]

    def _certificate(self, auth_context: AuthContext) -> Certificate | None:
        """Return the peer's certificate, which gRPC provides only if it verified it against the client CA."""
        texts = list(auth_context.get("x509_pem_cert", ()))
        if list(auth_context.get("transport_security_type", ())) != [b"ssl"] or len(texts) != 1:
            return None
        certificate = self._read.get(texts[0])
        if certificate is None:
            certificate = self._read[texts[0]] = read_certificate(texts[0])
            if len(self._read) > _MOST_READ:
                self._read.popitem(last=False)
        return certificate

    def _reload(self) -> None:
        if self._path is None or self._monotonic_s() - self._checked_s < _RECHECK_S:
            return
        self._checked_s = self._monotonic_s()
        if (mark := _mark_of(self._path)) == self._mark and not self._problem:
            return
        self._mark = mark
        try:
            self._by_name = registrations(read_client_names(self._path))
        except SettingInvalid as error:
            if str(error) != self._problem:
                log.error("client_names_kept", extra={"problem": str(error)})
            self._problem = str(error)
        else:
            self._problem = ""
            log.info("client_names_read", extra={"names": len(self._by_name)})


def read_certificate(pem: bytes) -> Certificate:
    """Parse a certificate. If its names cannot be read, the result has none."""
    try:
        certificate = x509.load_pem_x509_certificate(pem)
        expires_at = certificate.not_valid_after_utc
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return Certificate((), _NEVER)
    uris = [f"uri:{name}" for name in names.get_values_for_type(x509.UniformResourceIdentifier)]
    hosts = [f"dns:{name.lower()}" for name in names.get_values_for_type(x509.DNSName) if name.isascii()]
    return Certificate(tuple(name for name in (*uris, *hosts) if _is_plain(name)), expires_at)


def registrations(grants: Mapping[str, Grant]) -> dict[str, Identity]:
    """Return the callers by certificate name, host names in lower case. Raises SettingInvalid naming an invalid one."""
    callers: dict[str, Identity] = {}
    for name, grant in grants.items():
        kind, _, value = name.partition(":")
        if kind not in {"uri", "dns"} or not value or "*" in value or not _is_plain(name):
            raise _refused(name, "is not a certificate name", "write uri:NAME or dns:NAME")
        folded = name.lower() if kind == "dns" else name
        if folded in callers:
            raise _refused(name, "is listed twice", "name each caller once; the case of host names is ignored")
        try:
            callers[folded] = identity_of(grant, subject=value[:200])
        except InvalidArgument as error:
            raise _refused(name, f"{error.field} {error.problem}", error.fix) from error
    return callers


def read_client_names(path: Path) -> dict[str, Grant]:
    """Return the grants of a JSON file by certificate name: an object of {tenant, owners, agent, role, spaces}.

    Raises SettingInvalid for invalid, repeated and unknown keys: a typo must not widen a grant.
    """
    try:
        with path.open("rb") as file:
            text = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise SettingInvalid(SETTING, f"{path} cannot be read ({error.strerror})", "name a readable file") from error
    if len(text) > MAX_FILE_BYTES:
        raise SettingInvalid(SETTING, f"{path} is larger than {MAX_FILE_BYTES} bytes", "name fewer callers")
    try:
        entries = json.loads(text, object_pairs_hook=_once_each)
    except (ValueError, RecursionError) as error:
        raise SettingInvalid(SETTING, f"{path} is not JSON ({error})", _EXAMPLE) from error
    if not isinstance(entries, dict):
        raise SettingInvalid(SETTING, f"{path} is not a JSON object", _EXAMPLE)
    return {name: _grant(name, entry) for name, entry in entries.items()}


_EXAMPLE = 'write {"uri:NAME": {"tenant": …, "owners": […], "agent": …}}'


def _grant(name: str, entry: Any) -> Grant:
    if not isinstance(entry, dict):
        raise _refused(name, "does not map to a JSON object", _EXAMPLE)
    if unknown := sorted(entry.keys() - set(_KEYS)):
        raise _refused(name, f"has the unknown key {unknown[0]!r}", f"use {', '.join(_KEYS)}")
    role = _text(name, entry, "role", default=Role.AGENT.value)
    if role not in set(Role):
        raise _refused(name, f"has the role {role!r}", "use agent or admin")
    return Grant(
        tenant=_text(name, entry, "tenant"),
        owners=_texts(name, entry, "owners"),
        agent=_text(name, entry, "agent"),
        role=Role(role),
        spaces=_texts(name, entry, "spaces") if "spaces" in entry else None,
    )


def _text(name: str, entry: Mapping[str, Any], key: str, *, default: str = "") -> str:
    value = entry.get(key, default)
    if not isinstance(value, str):
        raise _refused(name, f"has a {key} that is not a text", "write it in quotation marks")
    return value


def _texts(name: str, entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    values = entry.get(key, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise _refused(name, f"has {key} that are not a list of texts", 'write ["NAME", …]')
    return tuple(values)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it repeats {next(name for name in names if names.count(name) > 1)!r}")
    return entries


def _is_plain(name: str) -> bool:
    return name.isascii() and name.isprintable()


def _mark_of(path: Path | None) -> tuple[int, int, int] | None:
    """Return a fingerprint that changes when the file is written or replaced; None if it does not exist."""
    if path is None:
        return None
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_mtime_ns, stat.st_size, stat.st_ino


def _refused(name: str, problem: str, fix: str) -> SettingInvalid:
    return SettingInvalid(f"certificate {name[:200]!r}", problem, fix)
