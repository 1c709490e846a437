"""Public keys that verify token signatures, and the files they are read from.

A key is bound to the algorithms of its type when it is read, so a token cannot choose another. Symmetric and private keys
are always refused. `jwks` reads keys from a URL.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import jwt
import orjson
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from sidecar.runtime.errors import KeyFileInvalid, StartRefused

ALGORITHMS = frozenset({"EdDSA", "ES256", "RS256", "PS256"})
MIN_RSA_BITS = 2048
MAX_KEY_BYTES = 256 * 1024
MAX_KEYS = 100

_RECHECK_S = 1.0
_log = logging.getLogger(__name__)

Material = Ed25519PublicKey | EllipticCurvePublicKey | RSAPublicKey


@dataclass(frozen=True, slots=True, eq=False)
class PublicKey:
    """A verification key with its id and allowed algorithms. Compared by identity, so a key read again is a new one."""

    kid: str
    material: Material
    algorithms: frozenset[str]


KeySet = Mapping[str, PublicKey]


class KeySource(Protocol):
    """Looks up trusted keys by id."""

    async def find(self, kid: str) -> PublicKey | None:
        """Return the trusted key with this id, or None. Raises KeysUnavailable until there is a key set."""

    async def stop(self) -> None:
        """Stop background work."""


def public_key(kid: str, material: object, algorithm: str | None = None) -> PublicKey:
    """Return the key, restricted to `algorithm` if set.

    Raises ValueError for a kind other than Ed25519, P-256 or RSA of at least 2048 bits, and for an algorithm of another kind.
    """
    if isinstance(material, Ed25519PublicKey):
        allowed = frozenset({"EdDSA"})
    elif isinstance(material, EllipticCurvePublicKey) and isinstance(material.curve, SECP256R1):
        allowed = frozenset({"ES256"})
    elif isinstance(material, RSAPublicKey) and material.key_size >= MIN_RSA_BITS:
        allowed = frozenset({"RS256", "PS256"})
    else:
        raise ValueError("is not a public Ed25519, P-256 or RSA key of at least 2048 bits")
    if algorithm is not None and algorithm not in allowed:
        raise ValueError(f"names an algorithm that is not one of {', '.join(sorted(allowed))}")
    return PublicKey(kid, material, allowed if algorithm is None else frozenset({algorithm}))


def parse_pem(text: bytes, kid: str) -> PublicKey:
    """Return the PEM public key with that id. Raises ValueError with a description of the problem."""
    if b"PRIVATE KEY" in text:
        raise ValueError("is a private key; give its public half")
    try:
        material = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise ValueError("is not a readable PEM public key") from error
    return public_key(kid, material)


def parse_jwks(text: bytes) -> KeySet:
    """Return the usable signing keys of a JSON Web Key Set (RFC 7517), by kid.

    Keys for other uses, of other kinds or without a kid are left out, so that an issuer may publish them. Raises
    ValueError if the text is not a key set, a kid appears twice, or no usable key is left.
    """
    document = orjson.loads(text)
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list) or len(entries) > MAX_KEYS:
        raise ValueError(f'is not a key set: {{"keys": [...]}} with at most {MAX_KEYS} keys')
    keys = [key for entry in entries if (key := _jwk(entry)) is not None]
    if not keys:
        raise ValueError("contains no usable signing key with a kid")
    return by_kid(keys)


def by_kid(keys: Iterable[PublicKey]) -> KeySet:
    """Return the keys by id. Raises ValueError if two keys have the same id."""
    keys_by_id: dict[str, PublicKey] = {}
    for key in keys:
        if keys_by_id.setdefault(key.kid, key) is not key:
            raise ValueError(f"contains two keys with the kid {key.kid[:80]!r}")
    return keys_by_id


def _jwk(entry: Any) -> PublicKey | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str) or not entry["kid"]:
        return None
    is_for_verifying = entry.get("use", "sig") == "sig" and "verify" in (entry.get("key_ops") or ["verify"])
    algorithm = entry.get("alg")
    if not is_for_verifying or (algorithm is not None and algorithm not in ALGORITHMS):
        return None
    try:
        return public_key(entry["kid"], jwt.PyJWK(entry).key, algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, UnsupportedAlgorithm):
        _log.warning("signing_key_left_out", extra={"kid": entry["kid"][:80]})
        return None


def read_key_file(path: Path) -> list[PublicKey]:
    """Return the keys of one file: a PEM public key, whose kid is the file's stem, or a JWKS.

    Raises OSError, or ValueError with a description of the problem.
    """
    with path.open("rb") as file:
        text = file.read(MAX_KEY_BYTES + 1)
    if len(text) > MAX_KEY_BYTES:
        raise ValueError(f"is larger than {MAX_KEY_BYTES // 1024} KiB")
    if text.lstrip().startswith(b"-----BEGIN"):
        return [parse_pem(text, path.stem)]
    return list(parse_jwks(text).values())


class FileKeys:
    """Trusted keys from files, or from every .pem and .json of a directory; read again within a second of a change.

    An unreadable change is logged once and tried again; until then the last good set stays in force. A file removed from a
    directory is no longer trusted. The constructor raises KeyFileInvalid for files that cannot be read or contain no key.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        monotonic_s: Callable[[], float],
        read: Callable[[Path], list[PublicKey]] = read_key_file,
    ) -> None:
        self._paths = tuple(paths)
        self._monotonic_s = monotonic_s
        self._read = read
        self._seen = self._fingerprint()
        self._keys = self._load()
        if not self._keys:
            raise KeyFileInvalid(", ".join(map(str, self._paths)), "contains no key")
        self._checked_s = monotonic_s()
        self._problem = ""

    async def find(self, kid: str) -> PublicKey | None:
        """Return the trusted key of that id, or None."""
        if self._monotonic_s() - self._checked_s >= _RECHECK_S:
            self._checked_s = self._monotonic_s()
            self._reload()
        return self._keys.get(kid)

    async def stop(self) -> None:
        """Do nothing: there is no background work."""

    def _reload(self) -> None:
        fingerprint = self._fingerprint()
        if fingerprint == self._seen and not self._problem:
            return
        self._seen = fingerprint
        try:
            self._keys = self._load()
        except StartRefused as error:
            if str(error) != self._problem:
                _log.error("key_files_kept", extra={"problem": str(error)})
            self._problem = str(error)
        else:
            self._problem = ""
            _log.info("key_files_read", extra={"keys": len(self._keys)})

    def _load(self) -> KeySet:
        keys: list[PublicKey] = []
        path = self._paths[0]
        try:
            for path in self._files():
                keys.extend(self._read(path))
            return by_kid(keys)
        except (OSError, ValueError) as error:
            problem = str(error.strerror) if isinstance(error, OSError) else str(error)
            raise KeyFileInvalid(str(path), problem) from error

    def _files(self) -> list[Path]:
        return [file for path in self._paths for file in (_key_files_in(path) if path.is_dir() else [path])]

    def _fingerprint(self) -> list[tuple[str, int, int, int]]:
        """Return a fingerprint that changes when a file is written, replaced, added or removed."""
        try:
            return [_mark(path) for path in self._files()]
        except OSError:
            return []


def _mark(path: Path) -> tuple[str, int, int, int]:
    stat = path.stat()
    return str(path), stat.st_mtime_ns, stat.st_size, stat.st_ino


def _key_files_in(directory: Path) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.suffix in {".pem", ".json"})
