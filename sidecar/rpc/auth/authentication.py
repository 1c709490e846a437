"""Authenticates a call by a bearer token, or by a client certificate registered for a caller.

The transport alone proves nothing: a unix socket or loopback peer without a token is unauthenticated. A token, valid or not,
takes precedence; a certificate counts only without a token, and never for another tenant than the token's.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from uuid import UUID

from sidecar.rpc.auth.certificates import AuthContext, Callers
from sidecar.rpc.auth.devkey import DEV_ISSUER, DEV_KEY_FILE, dev_key, read_dev_key
from sidecar.rpc.auth.identity import EVERY_SPACE, Identity, IdentitySettings
from sidecar.rpc.auth.jwks import RemoteKeys, check_jwks_url, fetch
from sidecar.rpc.auth.keys import FileKeys, KeySource
from sidecar.rpc.auth.tokens import TokenRules, TokenVerifier
from sidecar.runtime.errors import (
    CertificateUnknown,
    IdentityMissing,
    SettingInvalid,
    TokenMalformed,
    TokenRevoked,
    TokenUntrusted,
)

log = logging.getLogger(__name__)

_MOST_LOGGED = 1_000

NotBefore = Callable[[UUID], Awaitable[datetime | None]]
Metadata = Sequence[tuple[str, str | bytes]]


class Authenticator:
    """Turns a call's credentials into an identity, or refuses the call."""

    def __init__(
        self,
        settings: IdentitySettings,
        *,
        not_before: NotBefore,
        now_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the configured key source. Raises a StartRefused naming an invalid setting."""
        rules = _rules(settings)
        self._callers = _callers(settings, monotonic_s)
        self._keys = _key_source(settings, monotonic_s)
        self._verifier = TokenVerifier(rules, self._keys)
        self._not_before = not_before
        self._now_s = now_s
        self._unclaimed = UnclaimedSpaces(is_allowed=settings.lets_unclaimed_spaces)

    async def authenticate(self, metadata: Metadata, auth_context: AuthContext) -> Identity:
        """Return the caller's identity. Raises an Unauthenticated, KeysUnavailable, or an error of `not_before`."""
        token = bearer_token(metadata)
        now_s = self._now_s()
        registered = self._callers.presented(auth_context, now_s=now_s)
        if token is None:
            identity = self._unclaimed.settled(_only(registered))
            await self._not_before(
                identity.tenant_id
            )  # revocation does not apply to certificates, but this creates a new tenant
            return identity
        claims = await self._verifier.verify(token, now_s)
        not_before = await self._not_before(claims.identity.tenant_id)
        if not_before is not None and claims.issued_s < not_before.timestamp():
            raise TokenRevoked
        if any(caller.tenant_id != claims.identity.tenant_id for caller in registered or ()):
            raise TokenUntrusted("tenant")
        return self._unclaimed.settled(claims.identity)

    @property
    def unclaimed_count(self) -> int:
        """Return the number of calls that got every space because their token or certificate claims none."""
        return self._unclaimed.count

    async def stop(self) -> None:
        """Stop the key source's background work."""
        await self._keys.stop()


class UnclaimedSpaces:
    """Decides the spaces of a grant without a `spaces` claim: none, or all if that is allowed."""

    def __init__(self, *, is_allowed: bool) -> None:
        self._is_allowed = is_allowed
        self._logged: set[tuple[UUID, str]] = set()
        self.count = 0

    def settled(self, identity: Identity) -> Identity:
        """Return the identity with its spaces set. A caller that gets all spaces is counted, and logged once."""
        if not (self._is_allowed and identity.are_spaces_unclaimed):
            return identity
        self.count += 1
        caller = (identity.tenant_id, identity.subject)
        if caller not in self._logged and len(self._logged) < _MOST_LOGGED:
            self._logged.add(caller)
            log.warning(
                "spaces_unclaimed",
                extra={"tenant_id": str(identity.tenant_id), "subject": identity.subject, "agent": identity.agent_id},
            )
        return replace(identity, spaces=frozenset({EVERY_SPACE}))


def _only(callers: list[Identity] | None) -> Identity:
    if callers is None:
        raise IdentityMissing
    if not callers or any(replace(caller, subject=callers[0].subject) != callers[0] for caller in callers):
        raise CertificateUnknown
    return callers[0]


def bearer_token(metadata: Metadata) -> str | None:
    """Return the token of the one `authorization` entry, or None without one. Raises TokenMalformed."""
    values = [value for key, value in metadata if key == "authorization"]
    if not values:
        return None
    if len(values) > 1 or not isinstance(values[0], str):
        raise TokenMalformed("authorization is sent more than once or is not text")
    scheme, _, token = values[0].partition(" ")
    if scheme.lower() != "bearer" or not token.strip():
        raise TokenMalformed("authorization is not `Bearer TOKEN`")
    return token.strip()


def _rules(settings: IdentitySettings) -> TokenRules:
    issuers = settings.issuers if settings.has_signing_keys else frozenset({DEV_ISSUER})
    if unknown := sorted(settings.uuid5_issuers - issuers):
        raise SettingInvalid(
            "SIDECAR_UUID5_ISSUERS", f"names {unknown[0]!r}, which is not trusted", "name a trusted issuer"
        )
    return TokenRules(settings.audience, issuers, uuid5_issuers=settings.uuid5_issuers)


def _callers(settings: IdentitySettings, monotonic_s: Callable[[], float]) -> Callers:
    if (settings.certificates or settings.certificates_file) and not settings.requires_client_certificates:
        raise SettingInvalid(
            "SIDECAR_CLIENT_NAMES",
            "names certificates that are not required",
            "set SIDECAR_TLS_CLIENT_CA, or remove it",
        )
    return Callers(settings.certificates, settings.certificates_file, monotonic_s=monotonic_s)


def _key_source(settings: IdentitySettings, monotonic_s: Callable[[], float]) -> KeySource:
    if settings.key_files and settings.jwks_url:
        raise SettingInvalid("SIDECAR_TOKEN_KEYS", "is set beside SIDECAR_JWKS_URL", "keep one of the two")
    if settings.has_signing_keys and not settings.issuers:
        raise SettingInvalid(
            "SIDECAR_TOKEN_ISSUERS", "is empty though signing keys are set", "name the issuers to trust"
        )
    if settings.jwks_url:
        check_jwks_url(settings.jwks_url, is_http_allowed=settings.is_http_jwks_allowed)
        return RemoteKeys(
            settings.jwks_url, monotonic_s=monotonic_s, fetch=partial(fetch, timeout_s=settings.jwks_timeout_s)
        )
    if settings.key_files:
        return FileKeys(settings.key_files, monotonic_s=monotonic_s)
    dev_key(settings.data_dir)
    return FileKeys([settings.data_dir / DEV_KEY_FILE], monotonic_s=monotonic_s, read=read_dev_key)
