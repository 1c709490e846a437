"""Tokens of the local dev key, for commands that were given none. Loaded when needed: it loads the server's side."""

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
    """Return as much of how callers prove themselves as minting asks for. Raises SettingInvalid."""
    read = settings.read(environ)
    return IdentitySettings(
        data_dir=read.data_dir,
        audience=read.token_audience,
        key_files=tuple(Path(name) for name in read.token_keys),
        jwks_url=read.jwks_url,
        uuid5_issuers=frozenset(read.uuid5_issuers),
    )


def dev_token(environ: Mapping[str, str], *, tenant: str, now_s: float, token_id: str) -> str:
    """Return an hour's admin token of the tenant, signed with the dev key that this machine's sidecar trusts.

    No key is made here: one that no server has read proves nothing. Raises TokenMissing, DevTokensOff, DevKeyUnsafe,
    SettingInvalid, InvalidArgument.
    """
    proofs = minting(environ)
    if proofs.has_signing_keys:
        raise DevTokensOff
    if not os.access(proofs.data_dir / DEV_KEY_FILE, os.R_OK):
        raise TokenMissing
    return mint(Grant(tenant, role=Role.ADMIN), proofs, now_s=now_s, token_id=token_id)
