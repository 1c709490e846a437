"""Proof of identity for one call: a bearer token, or a client certificate registered for a caller.

The transport alone proves nothing: a unix socket or a loopback peer without a token is nobody. A token that is sent
decides, good or bad; a certificate speaks only where no token was sent, and never for another tenant than the token.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from sidecar.errors import (
    CertificateUnknown,
    CredentialsMissing,
    InvalidArgument,
    SettingInvalid,
    TokenMalformed,
    TokenRevoked,
    TokenUntrusted,
)
from sidecar.rpc.devkey import DEV_ISSUER, DEV_KEY_FILE, dev_key, read_dev_key
from sidecar.rpc.identity import EVERY_SPACE, Identity, IdentitySettings, identity_of
from sidecar.rpc.jwks import RemoteKeys, check_jwks_url
from sidecar.rpc.keys import FileKeys, KeySource
from sidecar.rpc.tokens import TokenRules, TokenVerifier

log = logging.getLogger(__name__)

_MOST_TOLD = 1_000

NotBefore = Callable[[UUID], Awaitable[datetime | None]]
Metadata = Sequence[tuple[str, str | bytes]]
AuthContext = Mapping[str, Iterable[bytes]]


class Authenticator:
    """Turns what a call carries into an identity, or refuses it."""

    def __init__(
        self,
        settings: IdentitySettings,
        *,
        not_before: NotBefore,
        now_s: Callable[[], float] = time.time,
        monotonic_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the settings' one key source. Raises a StartRefused naming the setting that cannot stand."""
        rules = _rules(settings)
        self._certificates = _registered(settings)
        self._keys = _key_source(settings, monotonic_s)
        self._verifier = TokenVerifier(rules, self._keys)
        self._not_before = not_before
        self._now_s = now_s
        self._unclaimed = UnclaimedSpaces(is_allowed=settings.lets_unclaimed_spaces)

    async def authenticate(self, metadata: Metadata, auth_context: AuthContext) -> Identity:
        """Return who is calling. Raises an Unauthenticated, KeysUnavailable, or what `not_before` raises."""
        token = bearer_token(metadata)
        registered = self._registered_callers(auth_context)
        if token is None:
            return self._unclaimed.settled(_only(registered))
        claims = await self._verifier.verify(token, self._now_s())
        not_before = await self._not_before(claims.identity.tenant_id)
        if not_before is not None and claims.issued_s < not_before.timestamp():
            raise TokenRevoked
        if any(caller.tenant_id != claims.identity.tenant_id for caller in registered or ()):
            raise TokenUntrusted("tenant")
        return self._unclaimed.settled(claims.identity)

    @property
    def unclaimed_count(self) -> int:
        """Return how many calls were given every space because their token or certificate name claims none."""
        return self._unclaimed.count

    async def stop(self) -> None:
        """End what the key source runs behind the calls."""
        await self._keys.stop()

    def _registered_callers(self, auth_context: AuthContext) -> list[Identity] | None:
        """Return the callers registered for the peer's certificate, or None where there is no certificate to ask."""
        names = certificate_names(auth_context) if self._certificates else []
        return [self._certificates[name] for name in names if name in self._certificates] if names else None


class UnclaimedSpaces:
    """What is made of a claim of spaces that was left out: none of them or, while that is allowed, all."""

    def __init__(self, *, is_allowed: bool) -> None:
        self._is_allowed = is_allowed
        self._told: set[tuple[UUID, str]] = set()
        self.count = 0

    def settled(self, identity: Identity) -> Identity:
        """Return the identity with the spaces that it holds. A caller that is given all is counted, and logged once."""
        if not (self._is_allowed and identity.are_spaces_unclaimed):
            return identity
        self.count += 1
        caller = (identity.tenant_id, identity.subject)
        if caller not in self._told and len(self._told) < _MOST_TOLD:
            self._told.add(caller)
            log.warning(
                "spaces_unclaimed",
                extra={"tenant_id": str(identity.tenant_id), "subject": identity.subject, "agent": identity.agent_id},
            )
        return replace(identity, spaces=frozenset({EVERY_SPACE}))


def _only(callers: list[Identity] | None) -> Identity:
    if callers is None:
        raise CredentialsMissing
    if not callers or any(caller != callers[0] for caller in callers):
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


def certificate_names(auth_context: AuthContext) -> list[str]:
    """Return the URI and DNS names of the peer's verified certificate, as `uri:…` and `dns:…`; none without TLS.

    gRPC gives these properties only for a certificate that it verified against the client CA.
    """
    if list(auth_context.get("transport_security_type", ())) != [b"ssl"]:
        return []
    names = [f"uri:{uri.decode(errors='replace')}" for uri in auth_context.get("peer_uri", ())]
    return names + [f"dns:{dns.decode(errors='replace').lower()}" for dns in auth_context.get("peer_dns", ())]


def _rules(settings: IdentitySettings) -> TokenRules:
    issuers = settings.issuers if settings.has_signing_keys else frozenset({DEV_ISSUER})
    if unknown := sorted(settings.uuid5_issuers - issuers):
        raise SettingInvalid(
            "SIDECAR_UUID5_ISSUERS", f"names {unknown[0]!r}, which is not trusted", "name an issuer that is"
        )
    return TokenRules(settings.audience, issuers, uuid5_issuers=settings.uuid5_issuers)


def _registered(settings: IdentitySettings) -> dict[str, Identity]:
    if settings.certificates and not settings.requires_client_certificates:
        raise SettingInvalid("certificates", "are registered but not required", "set the client CA, or remove them")
    return dict(_registration(name, settings) for name in settings.certificates)


def _registration(name: str, settings: IdentitySettings) -> tuple[str, Identity]:
    kind, _, value = name.partition(":")
    if kind not in {"uri", "dns"} or not value or "*" in value:
        raise SettingInvalid(f"certificate {name!r}", "is no certificate name", "write uri:NAME or dns:NAME")
    try:
        identity = identity_of(settings.certificates[name], subject=value[:200])
    except InvalidArgument as error:
        raise SettingInvalid(f"certificate {name!r}", f"{error.field} {error.problem}", error.fix) from error
    return (name.lower() if kind == "dns" else name), identity


def _key_source(settings: IdentitySettings, monotonic_s: Callable[[], float]) -> KeySource:
    if settings.key_files and settings.jwks_url:
        raise SettingInvalid("key files", "are set beside a JWKS URL", "keep one of the two")
    if settings.has_signing_keys and not settings.issuers:
        raise SettingInvalid("issuers", "are empty though signing keys are set", "name the issuers to trust")
    if settings.jwks_url:
        check_jwks_url(settings.jwks_url, is_http_allowed=settings.is_http_jwks_allowed)
        return RemoteKeys(settings.jwks_url, monotonic_s=monotonic_s)
    if settings.key_files:
        return FileKeys(settings.key_files, monotonic_s=monotonic_s)
    dev_key(settings.data_dir)
    return FileKeys([settings.data_dir / DEV_KEY_FILE], monotonic_s=monotonic_s, read=read_dev_key)
