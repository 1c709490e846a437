"""What a token must say to be believed, under every key kind, at every edge of its life, and against forgery."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given, settings
from hypothesis import strategies as st

from sidecar.errors import (
    KeyUnknown,
    SidecarError,
    TokenExpired,
    TokenMalformed,
    TokenNotYetValid,
    TokenUntrusted,
    Unauthenticated,
)
from sidecar.rpc.identity import Role
from sidecar.rpc.keys import PublicKey, public_key
from sidecar.rpc.tokens import MAX_TOKEN_CHARS, Claims, TokenRules, TokenVerifier
from store.scope import owner_uuid, tenant_uuid

NOW = 1_800_000_000.0
ED = ed25519.Ed25519PrivateKey.generate()
EC = ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65537, 2048)
PRIVATE: dict[str, Any] = {"EdDSA": ED, "ES256": EC, "RS256": RSA, "PS256": RSA}
RULES = TokenRules("context-sidecar", frozenset({"https://issuer.example"}))


class Keys:
    """A key source that holds what the test puts in, and counts who asks."""

    def __init__(self, *keys: PublicKey) -> None:
        self.trusted = {key.kid: key for key in keys}
        self.asked: list[str] = []

    async def find(self, kid: str) -> PublicKey | None:
        self.asked.append(kid)
        return self.trusted.get(kid)

    async def stop(self) -> None:
        return


def keys() -> Keys:
    return Keys(
        public_key("ed", ED.public_key()), public_key("ec", EC.public_key()), public_key("rsa", RSA.public_key())
    )


def payload(**changes: Any) -> dict[str, Any]:
    """Return a good payload with some claims changed, or left out where the change is None."""
    good = {
        "iss": "https://issuer.example",
        "aud": "context-sidecar",
        "iat": int(NOW),
        "exp": int(NOW) + 600,
        "tenant": "acme",
        "owner": "ann",
        "agent": "planner",
        "role": "agent",
    }
    return {claim: value for claim, value in {**good, **changes}.items() if value is not None}


def sign(claims: Mapping[str, Any], *, algorithm: str = "EdDSA", kid: str | None = "ed", **header: Any) -> str:
    """Return a token over any claims at all; the library's own encoder would refuse some of them."""
    headers = {**header, **({"kid": kid} if kid is not None else {})}
    return jwt.PyJWS().encode(json.dumps(claims).encode(), PRIVATE[algorithm], algorithm=algorithm, headers=headers)


def raw(header: bytes, body: bytes = b"{}", signature: bytes = b"x") -> str:
    return b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in (header, body, signature)).decode()


async def verify(token: str, *, now_s: float = NOW, source: Keys | None = None) -> Claims:
    return await TokenVerifier(RULES, source or keys()).verify(token, now_s)


@pytest.mark.parametrize(("algorithm", "kid"), [("EdDSA", "ed"), ("ES256", "ec"), ("RS256", "rsa"), ("PS256", "rsa")])
async def test_a_good_token_of_each_allowed_algorithm_says_who_calls(algorithm: str, kid: str) -> None:
    token = sign(payload(sub="user-1", jti="t-1"), algorithm=algorithm, kid=kid)
    identity = (await verify(token)).identity
    assert identity.tenant_id == tenant_uuid("acme")
    assert identity.owner_ids == frozenset({owner_uuid("ann")})
    assert (identity.agent_id, identity.role, identity.subject, identity.token_id) == (
        "planner",
        Role.AGENT,
        "user-1",
        "t-1",
    )
    assert identity.expires_at is not None
    assert identity.expires_at.timestamp() == NOW + 600


async def test_an_admin_token_names_no_owner() -> None:
    identity = (await verify(sign(payload(role="admin", owner=None)))).identity
    assert identity.owner_ids is None
    with pytest.raises(TokenMalformed):
        await verify(sign(payload(role="admin")))


async def test_several_owners_stand_in_owners() -> None:
    identity = (await verify(sign(payload(owner=None, owners=["ann", "bob"])))).identity
    assert identity.owner_ids == frozenset({owner_uuid("ann"), owner_uuid("bob")})


@pytest.mark.parametrize("claim", ["iss", "aud", "exp", "iat", "tenant", "owner", "agent"])
async def test_a_token_without_a_needed_claim_is_malformed(claim: str) -> None:
    with pytest.raises(TokenMalformed):
        await verify(sign(payload(**{claim: None})))


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": "soon"},
        {"exp": True},
        {"exp": float("nan")},
        {"exp": float("inf")},
        {"exp": 10**30},
        {"iat": -1},
        {"iat": "1800000000"},
        {"nbf": []},
        {"nbf": True},
        {"nbf": "x"},
        {"role": "root"},
        {"role": ["admin"]},
        {"tenant": 7},
        {"tenant": "a\0b"},
        {"tenant": "x" * 201},
        {"owner": ["ann"]},
        {"owner": "\ud800"},
        {"owners": ["ann"]},
        {"owner": None, "owners": "ann"},
        {"owner": None, "owners": []},
        {"owner": None, "owners": [1]},
        {"owner": None, "owners": ["o"] * 101},
        {"sub": 7},
        {"sub": "\u202e"},
        {"jti": 7},
        {"agent": {}},
    ],
)
async def test_a_claim_of_the_wrong_kind_is_malformed(changes: dict[str, Any]) -> None:
    with pytest.raises(TokenMalformed):
        await verify(sign(payload(**changes)))


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"aud": "another"}, "audience"),
        ({"aud": ["a", "b"]}, "audience"),
        ({"iss": "https://evil.example"}, "issuer"),
        ({"iss": ["https://issuer.example"]}, "issuer"),
    ],
)
async def test_a_token_for_another_audience_or_issuer_is_not_trusted(changes: dict[str, Any], check: str) -> None:
    with pytest.raises(TokenUntrusted) as caught:
        await verify(sign(payload(**changes)))
    assert caught.value.check == check


async def test_an_audience_list_that_holds_ours_is_fine() -> None:
    assert await verify(sign(payload(aud=["other", "context-sidecar"])))


@pytest.mark.parametrize(
    ("after_s", "refusal"),
    [(-30.5, TokenNotYetValid), (-29.5, None), (0, None), (629.5, None), (630, TokenExpired), (10**6, TokenExpired)],
)
async def test_a_life_ends_and_begins_within_thirty_seconds_of_its_word(
    after_s: float, refusal: type[Exception] | None
) -> None:
    token = sign(payload())
    if refusal is None:
        assert await verify(token, now_s=NOW + after_s)
        return
    with pytest.raises(refusal):
        await verify(token, now_s=NOW + after_s)


async def test_a_token_is_not_believed_before_its_nbf() -> None:
    token = sign(payload(nbf=int(NOW) + 300))
    with pytest.raises(TokenNotYetValid):
        await verify(token)
    assert await verify(token, now_s=NOW + 300)


@pytest.mark.parametrize(("lifetime_s", "is_fine"), [(3600, True), (3601, False), (0, False), (-5, False)])
async def test_a_token_lives_an_hour_at_most_and_leeway_adds_nothing(lifetime_s: int, is_fine: bool) -> None:
    token = sign(payload(exp=int(NOW) + lifetime_s))
    if is_fine:
        assert await verify(token)
        return
    with pytest.raises(TokenMalformed):
        await verify(token)


async def test_a_token_without_a_signature_is_never_trusted() -> None:
    token = jwt.encode(payload(), "", algorithm="none", headers={"kid": "ed"})
    with pytest.raises(TokenUntrusted):
        await verify(token)


@pytest.mark.filterwarnings("ignore::jwt.InsecureKeyLengthWarning")
async def test_a_public_key_never_serves_as_a_shared_secret() -> None:
    secret = base64.b64encode(ED.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw))
    token = jwt.encode(payload(), secret, algorithm="HS256", headers={"kid": "ed"})
    source = keys()
    with pytest.raises(TokenUntrusted):
        await verify(token, source=source)
    assert source.asked == []


@pytest.mark.parametrize(("algorithm", "kid"), [("ES256", "ed"), ("RS256", "ec"), ("EdDSA", "rsa")])
async def test_a_key_checks_only_algorithms_of_its_own_kind(algorithm: str, kid: str) -> None:
    with pytest.raises(TokenUntrusted) as caught:
        await verify(sign(payload(), algorithm=algorithm, kid=kid))
    assert caught.value.check == "algorithm"


async def test_a_strangers_signature_is_not_trusted() -> None:
    token = jwt.encode(payload(), ed25519.Ed25519PrivateKey.generate(), algorithm="EdDSA", headers={"kid": "ed"})
    with pytest.raises(TokenUntrusted) as caught:
        await verify(token)
    assert caught.value.check == "signature"


async def test_a_key_brought_along_in_the_header_is_not_used() -> None:
    own = ed25519.Ed25519PrivateKey.generate()
    jwk = json.loads(jwt.algorithms.OKPAlgorithm.to_jwk(own.public_key()))
    header = {"kid": "mine", "jwk": jwk, "jku": "https://evil.example/jwks", "x5u": "https://evil.example/x5u"}
    source = keys()
    with pytest.raises(KeyUnknown):
        await verify(jwt.encode(payload(), own, algorithm="EdDSA", headers=header), source=source)
    assert source.asked == ["mine"]


@pytest.mark.parametrize("kid", [None, "", "k" * 201])
async def test_a_token_names_its_key(kid: str | None) -> None:
    with pytest.raises(TokenMalformed):
        await verify(sign(payload(), kid=kid))


@pytest.mark.parametrize(
    "token",
    [
        "",
        "x",
        "a.b.c",
        "....",
        "é.é.é",
        "\0",
        raw(b"[]"),
        raw(b"{}"),
        raw(b'{"alg":["EdDSA"],"kid":"ed"}'),
        raw(b'{"alg":"EdDSA","kid":7}'),
        raw(b'{"alg":"EdDSA","kid":"ed","crit":["exp"],"exp":1}'),
        raw(b"[" * 5000),
        raw(b'{"alg":"EdDSA","kid":"ed","b64":false,"crit":["b64"]}', b""),
        "a" * (MAX_TOKEN_CHARS + 1),
    ],
)
async def test_garbage_is_refused_without_a_crash(token: str) -> None:
    with pytest.raises(Unauthenticated):
        await verify(token)


@pytest.mark.parametrize("body", [b"[]", b"7", b"\xff\xfe", b"{", b"[" * 5000, b'{"exp":1e999}'])
async def test_a_signed_payload_that_is_no_claims_is_refused(body: bytes) -> None:
    token = jwt.PyJWS().encode(body, ED, algorithm="EdDSA", headers={"kid": "ed"})
    with pytest.raises(TokenMalformed):
        await verify(token)


@settings(max_examples=200)
@given(position=st.integers(min_value=0), replacement=st.sampled_from("AZaz09-_."))
async def test_no_changed_letter_leaves_a_token_valid(position: int, replacement: str) -> None:
    token = sign(payload())
    position %= len(token)
    changed = token[:position] + replacement + token[position + 1 :]
    if changed == token:
        return
    with pytest.raises(Unauthenticated):
        await verify(changed)


@given(st.text(max_size=300))
async def test_any_text_at_all_is_answered_by_one_of_our_errors(text: str) -> None:
    with pytest.raises(SidecarError):
        await verify(text)


async def test_a_token_seen_before_is_judged_again_by_time_and_key_but_not_by_signature() -> None:
    source = keys()
    verifier = TokenVerifier(RULES, source)
    token = sign(payload())
    first = await verifier.verify(token, NOW)
    assert await verifier.verify(token, NOW + 1) is first
    with pytest.raises(TokenExpired):
        await verifier.verify(token, NOW + 700)


async def test_a_remembered_token_falls_with_its_key() -> None:
    source = keys()
    verifier = TokenVerifier(RULES, source)
    token = sign(payload())
    await verifier.verify(token, NOW)
    source.trusted["ed"] = public_key("ed", ed25519.Ed25519PrivateKey.generate().public_key())
    with pytest.raises(TokenUntrusted):
        await verifier.verify(token, NOW)
    del source.trusted["ed"]
    with pytest.raises(KeyUnknown):
        await verifier.verify(token, NOW)
