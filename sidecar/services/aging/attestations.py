"""Attestations: an operator's Ed25519 signature that a model may write summaries with a prompt, until it expires or is revoked.

The signature is verified when an attestation is added and at each use, with the keys that the settings name at that time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

import orjson
from cryptography.exceptions import InvalidSignature as SignatureWrong
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from compiler.decay.model_summary import PROMPT_HASH
from compiler.errors import CompressionRefused
from sidecar.runtime import language_models
from sidecar.runtime.errors import InvalidArgument, NotFound, SettingInvalid
from sidecar.runtime.settings import Settings
from store.compile import attestations
from store.compile.attestations import Attestation
from store.db.postgres import DatabaseRole, Pool, scoped, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants

MAX_ENVELOPE_BYTES = 10_000

_ATTESTATIONS = UUID("6f0c7c1e-6d0b-5d0c-9a3e-0d5b7d1f8a07")
_FIELDS = ("expire_time", "issue_time", "model_id", "prompt_hash", "tenant_id")

OperatorKeys = Mapping[str, Ed25519PublicKey]
"""Public keys by their id."""


class Attestations:
    """Adds, checks, revokes and lists attestations. `model_id` is the model that would write summaries, empty for none."""

    def __init__(
        self,
        pool: Pool,
        *,
        now: Callable[[], datetime],
        keys: OperatorKeys,
        model_id: str,
        role: DatabaseRole = DatabaseRole.APP,
    ) -> None:
        self._pool = pool
        self._now = now
        self._keys = keys
        self._model_id = model_id
        self._role = role

    @classmethod
    def of_settings(
        cls, settings: Settings, pool: Pool, *, now: Callable[[], datetime], role: DatabaseRole = DatabaseRole.APP
    ) -> Attestations:
        """Return the service with the keys and the model of the settings. Raises SettingInvalid."""
        language_models.check("SIDECAR_DECAY_SUMMARIES", settings.decay_summaries)
        is_without = settings.decay_summaries == language_models.EXTRACTIVE
        model_id = "" if is_without else settings.bedrock_model_id
        return cls(
            pool, now=now, keys=read_operator_keys(settings.decay_attestation_keys), model_id=model_id, role=role
        )

    async def check(self, scope: Scope) -> None:
        """Raise CompressionRefused, with the reason, unless an attestation allows the model to write summaries now."""
        if not self._model_id:
            raise CompressionRefused("no model is set that could write the summary (SIDECAR_DECAY_SUMMARIES)")
        async with scoped(self._pool, scope, read_only=True, role=self._role) as connection:
            known = await attestations.of_prompt(connection, scope.tenant_id, self._model_id, PROMPT_HASH)
        reasons = [self._refusal(scope.tenant_id, one) for one in known]
        if "" not in reasons:
            why = reasons[0] if reasons else "none was added for this model and prompt (sidecar decay attest)"
            raise CompressionRefused(f"llm_summary needs an operator's attestation: {why}")

    async def add(self, tenant_id: UUID, envelope: bytes, signature: bytes) -> Attestation:
        """Add a signed attestation, and return it. Raises InvalidArgument for one that is not valid now."""
        if len(envelope) > MAX_ENVELOPE_BYTES:
            raise InvalidArgument("envelope", f"has {len(envelope)} bytes", f"send at most {MAX_ENVELOPE_BYTES}")
        payload = _read(envelope)
        if payload["tenant_id"] != str(tenant_id):
            raise InvalidArgument("envelope", f"names the tenant {payload['tenant_id']}", f"sign one for {tenant_id}")
        key_id = next((one for one, key in self._keys.items() if _is_signed(key, envelope, signature)), "")
        if not key_id:
            problem = "matches none of the operators' keys"
            raise InvalidArgument("signature", problem, "name the key's public half in SIDECAR_DECAY_ATTESTATION_KEYS")
        now = self._now()
        attestation = Attestation(
            uuid5(_ATTESTATIONS, hashlib.sha256(envelope).hexdigest()),
            payload["model_id"],
            payload["prompt_hash"],
            key_id,
            envelope,
            signature,
            _instant("issue_time", payload),
            _instant("expire_time", payload),
            created_at=now,
        )
        if attestation.expires_at <= now:
            raise InvalidArgument("envelope", f"expired at {attestation.expires_at:%Y-%m-%d %H:%M} UTC", "sign another")
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            await attestations.insert(connection, tenant_id, attestation)
        return await self._get(tenant_id, attestation.attestation_id)

    async def revoke(self, tenant_id: UUID, attestation_id: UUID) -> Attestation:
        """Revoke an attestation for good, and return it. Raises NotFound."""
        async with tenant_scoped(self._pool, tenant_id) as connection:
            await attestations.revoke(connection, tenant_id, attestation_id, now=self._now())
        return await self._get(tenant_id, attestation_id)

    async def of_tenant(self, tenant_id: UUID) -> list[Attestation]:
        """Return a tenant's newest 100 attestations, newest first."""
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            return await attestations.of_tenant(connection, tenant_id)

    async def _get(self, tenant_id: UUID, attestation_id: UUID) -> Attestation:
        async with tenant_scoped(self._pool, tenant_id, read_only=True) as connection:
            known = await attestations.get(connection, tenant_id, attestation_id)
        if known is None:
            raise NotFound("attestation")
        return known

    def _refusal(self, tenant_id: UUID, attestation: Attestation) -> str:
        """Return the reason why an attestation is not valid now; empty if it is valid."""
        now, key = self._now(), self._keys.get(attestation.key_id)
        if attestation.revoked_at is not None:
            return f"{attestation.attestation_id} was revoked at {attestation.revoked_at:%Y-%m-%d %H:%M} UTC"
        if attestation.expires_at <= now:
            return f"{attestation.attestation_id} expired at {attestation.expires_at:%Y-%m-%d %H:%M} UTC"
        if attestation.issued_at > now:
            return f"{attestation.attestation_id} holds from {attestation.issued_at:%Y-%m-%d %H:%M} UTC on"
        if key is None or not _is_signed(key, attestation.envelope, attestation.signature):
            return f"the signature of {attestation.attestation_id} matches none of the operators' keys"
        pinned = _read(attestation.envelope)
        signed = (pinned["tenant_id"], pinned["model_id"], pinned["prompt_hash"], _instant("expire_time", pinned))
        stored = (str(tenant_id), attestation.model_id, attestation.prompt_hash, attestation.expires_at)
        return "" if signed == stored else f"{attestation.attestation_id} differs from the signed text"


def read_operator_keys(files: tuple[str, ...]) -> dict[str, Ed25519PublicKey]:
    """Return the Ed25519 public keys of PEM files, by the SHA-256 of their bytes. Raises SettingInvalid."""
    keys: dict[str, Ed25519PublicKey] = {}
    for file in files:
        try:
            key = load_pem_public_key(Path(file).read_bytes())
        except (OSError, ValueError, UnsupportedAlgorithm) as error:
            problem = f"{file} cannot be read as a public key ({type(error).__name__})"
            raise SettingInvalid("SIDECAR_DECAY_ATTESTATION_KEYS", problem, "name PEM files of public keys") from error
        if not isinstance(key, Ed25519PublicKey):
            raise SettingInvalid(
                "SIDECAR_DECAY_ATTESTATION_KEYS", f"{file} is not an Ed25519 key", "name an Ed25519 key"
            )
        keys[hashlib.sha256(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).hexdigest()] = key
    return keys


def attestation_envelope(
    tenant_id: str, model_id: str, prompt_hash: str, *, issued_at: datetime, expires_at: datetime
) -> bytes:
    """Return the bytes that an operator signs: JSON with sorted keys."""
    named = {"tenant_id": tenant_id, "model_id": model_id, "prompt_hash": prompt_hash}
    times = {"issue_time": issued_at.isoformat(), "expire_time": expires_at.isoformat()}
    return orjson.dumps({**named, **times}, option=orjson.OPT_SORT_KEYS)


def _is_signed(key: Ed25519PublicKey, envelope: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, envelope)
    except SignatureWrong:
        return False
    return True


def _read(envelope: bytes) -> dict[str, str]:
    try:
        payload: Any = orjson.loads(envelope)
    except ValueError:
        payload = None
    if not isinstance(payload, dict) or sorted(payload) != sorted(_FIELDS) or not all(map(_is_text, payload.values())):
        raise InvalidArgument("envelope", f"is not JSON with exactly {', '.join(_FIELDS)}", "make it with decay attest")
    return payload


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= 200


def _instant(name: str, payload: Mapping[str, str]) -> datetime:
    try:
        instant = datetime.fromisoformat(payload[name])
    except ValueError:
        instant = None
    if instant is None or instant.tzinfo is None:
        raise InvalidArgument("envelope", f"{name} is not a time with a time zone", "make it with decay attest")
    return instant
