"""Tokens from the local dev key, for commands without a token. Loaded only when needed, because it imports server code."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from sidecar.cli.shared.failures import TokenMissing
from sidecar.rpc.auth.devkey import DEV_KEY_FILE, mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from sidecar.runtime import settings
from sidecar.runtime.errors import DevTokensOff


def minting(environ: Mapping[str, str]) -> IdentitySettings:
    """Return the identity settings needed for minting. Raises SettingInvalid."""
    read = settings.read(environ)
    return IdentitySettings(
        data_dir=read.data_dir,
        audience=read.token_audience,
        key_files=tuple(Path(name) for name in read.token_keys),
        jwks_url=read.jwks_url,
        uuid5_issuers=frozenset(read.uuid5_issuers),
    )


def dev_token(environ: Mapping[str, str], *, tenant: str, now_s: float, token_id: str) -> str:
    """Return an admin token of the tenant, valid for an hour, signed with the dev key that this machine's sidecar trusts.

    No key is created here, because no server would trust it yet. Raises TokenMissing, DevTokensOff, DevKeyUnsafe,
    SettingInvalid, InvalidArgument.
    """
    proofs = minting(environ)
    if proofs.has_signing_keys:
        raise DevTokensOff
    if not os.access(proofs.data_dir / DEV_KEY_FILE, os.R_OK):
        raise TokenMissing
    return mint(Grant(tenant, role=Role.ADMIN), proofs, now_s=now_s, token_id=token_id)
