"""Verifies signed tokens and reads their claims.

PyJWT checks signature, audience and issuer with a trusted key and only that key's algorithms; this module checks times, with
the current time as an argument. A token can choose neither a key's location nor an algorithm.
"""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

import jwt

from sidecar.rpc.auth.identity import Grant, Identity, Role, identity_of
from sidecar.rpc.auth.keys import ALGORITHMS, KeySource, PublicKey
from sidecar.runtime.errors import (
    InvalidArgument,
    KeyUnknown,
    TokenExpired,
    TokenMalformed,
    TokenNotYetValid,
    TokenUntrusted,
)

MAX_TOKEN_CHARS = 8192
MAX_LIFETIME_S = 3600
MAX_REMEMBERED = 4096

_LAST_SECOND = 253_402_300_799  # the end of year 9999, the last that a datetime holds
_REQUIRED = ["aud", "iss", "exp", "iat"]
_OPTIONS: Any = {"require": _REQUIRED, "verify_exp": False, "verify_nbf": False, "verify_iat": False}


@dataclass(frozen=True, slots=True)
class TokenRules:
    """The required audience and trusted issuers of tokens; clocks may differ by `leeway_s` seconds.

    Only the `uuid5_issuers` may claim version-5 UUIDs.
    """

    audience: str
    issuers: frozenset[str]
    leeway_s: int = 30
    max_lifetime_s: int = MAX_LIFETIME_S
    uuid5_issuers: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Claims:
    """A verified token's identity and validity period, in seconds since 1970."""

    identity: Identity
    issued_s: float
    starts_s: float
    expires_s: float


@dataclass(frozen=True, slots=True)
class _Verified:
    key: PublicKey
    claims: Claims


class TokenVerifier:
    """Verifies tokens against one key source. Caches verified tokens while their key stays trusted."""

    def __init__(self, rules: TokenRules, keys: KeySource) -> None:
        self._rules = rules
        self._keys = keys
        self._seen: OrderedDict[bytes, _Verified] = OrderedDict()

    async def verify(self, token: str, now_s: float) -> Claims:
        """Return the token's claims at that time. Raises an Unauthenticated, or KeysUnavailable."""
        if len(token) > MAX_TOKEN_CHARS or not token.isascii():
            raise TokenMalformed(f"it is longer than {MAX_TOKEN_CHARS} characters or not ASCII")
        digest = sha256(token.encode()).digest()
        verified = self._seen.get(digest)
        key = await self._keys.find(verified.key.kid if verified else key_id(token))
        if key is None:
            raise KeyUnknown
        if verified is None or verified.key is not key:
            verified = _Verified(key, read_claims(decode(token, key, self._rules), self._rules))
        check_times(verified.claims, self._rules, now_s)
        self._remember(digest, verified)
        return verified.claims

    def _remember(self, digest: bytes, verified: _Verified) -> None:
        self._seen[digest] = verified
        self._seen.move_to_end(digest)
        if len(self._seen) > MAX_REMEMBERED:
            self._seen.popitem(last=False)


def key_id(token: str) -> str:
    """Return the kid of an unverified token. Raises TokenMalformed, or TokenUntrusted for its algorithm."""
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.PyJWTError, RecursionError) as error:
        raise TokenMalformed("it is not a signed JWT") from error
    kid, algorithm = header.get("kid"), header.get("alg")
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise TokenUntrusted("algorithm")
    if not isinstance(kid, str) or not 1 <= len(kid) <= 200:
        raise TokenMalformed("its header has no kid")
    return kid


def decode(token: str, key: PublicKey, rules: TokenRules) -> Mapping[str, Any]:
    """Verify signature, audience and issuer and return the payload; times are not checked.

    Raises TokenUntrusted, or TokenMalformed, also for repeated JSON names: parsers differ in which value counts.
    """
    try:
        payload: Mapping[str, Any] = jwt.decode(
            token,
            key.material,
            algorithms=sorted(key.algorithms),
            audience=rules.audience,
            issuer=rules.issuers,
            options=_OPTIONS,
        )
        for part in token.split(".")[:2]:
            json.loads(urlsafe_b64decode(part + "=="), object_pairs_hook=_without_repeats)
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise _refusal(error) from error
    return payload


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs of a JSON object as a dict. Raises TokenMalformed for a repeated name."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise TokenMalformed("its JSON repeats a name; send each claim once")
    return values


def _refusal(error: Exception) -> TokenMalformed | TokenUntrusted:
    checks = {
        jwt.InvalidSignatureError: "signature",
        jwt.InvalidAlgorithmError: "algorithm",
        jwt.InvalidAudienceError: "audience",
        jwt.InvalidIssuerError: "issuer",
    }
    for kind, check in checks.items():
        if isinstance(error, kind):
            return TokenUntrusted(check)
    if isinstance(error, jwt.MissingRequiredClaimError):
        return TokenMalformed(f"the claim {error.claim} is missing")
    return TokenMalformed("it is not a signed JWT with a JSON payload")


def read_claims(payload: Mapping[str, Any], rules: TokenRules) -> Claims:
    """Return the claims of a verified payload. Raises TokenMalformed naming the claim."""
    expires_s = _seconds(payload, "exp")
    issued_s = _seconds(payload, "iat")
    try:
        identity = identity_of(
            _grant(payload),
            subject=_text(payload, "sub"),
            token_id=_text(payload, "jti"),
            expires_at=datetime.fromtimestamp(expires_s, UTC),
            may_claim_uuid5=payload.get("iss") in rules.uuid5_issuers,
        )
    except InvalidArgument as error:
        raise TokenMalformed(f"the claim {error.field} {error.problem}; {error.fix}") from error
    starts_s = _seconds(payload, "nbf") if "nbf" in payload else issued_s
    return Claims(identity, issued_s, starts_s, expires_s)


def check_times(claims: Claims, rules: TokenRules, now_s: float) -> None:
    """Raise TokenExpired, TokenNotYetValid, or TokenMalformed for a lifetime longer than allowed.

    Leeway applies to differences between clocks (now against exp, iat and nbf), never to the lifetime.
    """
    if not 0 < claims.expires_s - claims.issued_s <= rules.max_lifetime_s:
        raise TokenMalformed(f"it must be valid for at most {rules.max_lifetime_s} s from iat to exp")
    if now_s >= claims.expires_s + rules.leeway_s:
        raise TokenExpired
    if now_s < max(claims.issued_s, claims.starts_s) - rules.leeway_s:
        raise TokenNotYetValid


def _grant(payload: Mapping[str, Any]) -> Grant:
    role = _text(payload, "role", default=Role.AGENT)
    if role not in set(Role):
        raise TokenMalformed("the claim role is neither agent nor admin")
    return Grant(
        tenant=_text(payload, "tenant"),
        owners=_owners(payload),
        agent=_text(payload, "agent"),
        role=Role(role),
        spaces=_texts(payload, "spaces") if "spaces" in payload else None,
    )


def _owners(payload: Mapping[str, Any]) -> tuple[str, ...]:
    if "owner" in payload and "owners" in payload:
        raise TokenMalformed("it has both claims owner and owners")
    if "owner" in payload:
        return (_text(payload, "owner"),)
    return _texts(payload, "owners")


def _texts(payload: Mapping[str, Any], claim: str) -> tuple[str, ...]:
    values = payload.get(claim, [])
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TokenMalformed(f"the claim {claim} is not a list of texts")
    return tuple(values)


def _text(payload: Mapping[str, Any], claim: str, *, default: str = "") -> str:
    value = payload.get(claim, default)
    if not isinstance(value, str):
        raise TokenMalformed(f"the claim {claim} is not a text")
    return value


def _seconds(payload: Mapping[str, Any], claim: str) -> float:
    value = payload.get(claim)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _LAST_SECOND:
        raise TokenMalformed(f"the claim {claim} is not a time in seconds")
    return value
