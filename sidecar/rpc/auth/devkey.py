"""The local dev key, created once and readable only by its user, and the tokens signed with it.

With it, a new machine works with one command. If real signing keys are configured, it is neither trusted nor used.
"""

from __future__ import annotations

import os
import stat
import tempfile
from hashlib import sha256
from pathlib import Path

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role, identity_of
from sidecar.rpc.auth.keys import PublicKey, public_key
from sidecar.rpc.auth.tokens import MAX_LIFETIME_S
from sidecar.runtime.errors import DevKeyUnsafe, DevTokensOff, InvalidArgument

DEV_ISSUER = "context-sidecar-dev"
DEV_KEY_FILE = "dev_signing_key.pem"


def mint(
    grant: Grant, settings: IdentitySettings, *, now_s: float, token_id: str, lifetime_s: int = MAX_LIFETIME_S
) -> str:
    """Return a token for the grant, signed with the local dev key, which is created if needed.

    Raises DevTokensOff if real signing keys are configured, InvalidArgument for the grant or a lifetime outside
    1..3600 seconds, DevKeyUnsafe.
    """
    if settings.has_signing_keys:
        raise DevTokensOff
    if not 1 <= lifetime_s <= MAX_LIFETIME_S:
        raise InvalidArgument("lifetime_s", f"is {lifetime_s}", f"send 1 to {MAX_LIFETIME_S} seconds")
    identity_of(grant, may_claim_uuid5=DEV_ISSUER in settings.uuid5_issuers)
    key = dev_key(settings.data_dir)
    issued_s = int(now_s)
    payload = {
        "iss": DEV_ISSUER,
        "aud": settings.audience,
        "iat": issued_s,
        "exp": issued_s + lifetime_s,
        "jti": token_id,
        "tenant": grant.tenant,
        "role": grant.role.value,
        "agent": grant.agent,
    }
    if grant.role is not Role.ADMIN:
        payload["owners"] = list(grant.owners)
    if grant.spaces is not None:
        payload["spaces"] = list(grant.spaces)
    return jwt.encode(payload, key, algorithm="EdDSA", headers={"kid": _kid(key)})


def dev_key(data_dir: Path) -> Ed25519PrivateKey:
    """Return the directory's dev key; processes that create it concurrently get the same key. Raises DevKeyUnsafe."""
    path = data_dir / DEV_KEY_FILE
    try:
        if not path.exists():
            _create(path)
    except OSError as error:
        fix = "set SIDECAR_DATA_DIR to a directory that this user can write, or SIDECAR_TOKEN_KEYS to keys of your own"
        raise DevKeyUnsafe(str(path), f"cannot be created ({error.strerror})", fix) from error
    try:
        return _read_private(path)
    except OSError as error:
        raise DevKeyUnsafe(str(path), f"cannot be read ({error.strerror})") from error


def read_dev_key(path: Path) -> list[PublicKey]:
    """Return the public half of the dev key in that file. Raises DevKeyUnsafe or OSError."""
    key = _read_private(path)
    return [public_key(_kid(key), key.public_key())]


def _create(path: Path) -> None:
    """Write a new key to a temporary file and link it to the path, so that the path never holds a partial key."""
    # As root, the account that runs Postgres must be able to pass the data directory.
    path.parent.mkdir(mode=0o755 if os.geteuid() == 0 else 0o700, parents=True, exist_ok=True)
    pem = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=".dev_key")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        return
    finally:
        Path(draft).unlink()


def _read_private(path: Path) -> Ed25519PrivateKey:
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise DevKeyUnsafe(str(path), "is readable by other users")
        text = file.read(4096)
    try:
        key = load_pem_private_key(text, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise DevKeyUnsafe(str(path), "is not a readable private key") from error
    if not isinstance(key, Ed25519PrivateKey):
        raise DevKeyUnsafe(str(path), "is not an Ed25519 key")
    return key


def _kid(key: Ed25519PrivateKey) -> str:
    raw = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    return f"dev-{sha256(raw).hexdigest()[:16]}"
