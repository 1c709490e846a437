"""What a token may claim: no id that another name's could be, in whatever spelling."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

from sidecar.rpc.auth.authentication import Authenticator
from sidecar.rpc.auth.devkey import DEV_ISSUER, mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, identity_of
from sidecar.rpc.auth.tokens import Claims, TokenRules, read_claims
from sidecar.runtime.errors import InvalidArgument, SettingInvalid, TokenMalformed
from store.scope import owner_uuid, tenant_uuid

BOB = owner_uuid("bob")
RULES = TokenRules("context-sidecar", frozenset({"issuer", "minter"}), uuid5_issuers=frozenset({"minter"}))


def claims_of(**claims: Any) -> Claims:
    """Read a payload that could stand but for the given claims."""
    usual = {"iss": "issuer", "iat": 1, "exp": 2, "tenant": "acme", "agent": "planner"}
    owners = {} if "owner" in claims else {"owners": ["ann"]}
    return read_claims(usual | owners | claims, RULES)


def spellings(of: UUID) -> list[str]:
    """Return texts that UUID() reads as this id."""
    text = str(of)
    return [
        text, text.upper(), of.hex, of.hex.upper(), f"{{{text}}}", f"{{{of.hex}}}", f"urn:uuid:{text}", f"uuid:{text}",
        f"urn:uuid:{{{text}}}", "-".join(of.hex), f"}}{text}",
        of.hex.translate(str.maketrans("0123456789", "０１２３４５６７８９")),
    ]  # fmt: skip


@pytest.mark.parametrize("spelling", spellings(BOB))
@pytest.mark.parametrize("claim", ["owners", "owner", "tenant"])
def test_claim_that_could_be_the_id_of_another_name_is_refused_with_the_fix(claim: str, spelling: str) -> None:
    assert UUID(spelling) == BOB
    with pytest.raises(TokenMalformed, match=r"version-5 UUID.*SIDECAR_UUID5_ISSUERS"):
        claims_of(**{claim: ["ann", spelling] if claim == "owners" else spelling})


def test_short_spelling_of_such_an_id_is_refused_too() -> None:
    derived = next(one for one in map(owner_uuid, map(str, range(1000))) if one.hex.startswith("00"))
    digits = derived.hex[2:]
    for spelling in (f"0x{digits}", f"+0{digits}", f" 0{digits}", f"0{digits} ", f"0{digits[0]}_{digits[1:]}"):
        assert UUID(spelling) == derived
        with pytest.raises(InvalidArgument):
            identity_of(Grant("acme", (spelling,), "planner"))


@pytest.mark.parametrize("owner", [uuid4(), UUID(int=7), UUID("017f22e2-79b0-7cc3-98c4-dc0c0c07398f")])
def test_other_uuids_are_unchanged(owner: UUID) -> None:
    assert claims_of(owners=[str(owner).upper()]).identity.owner_ids == frozenset({owner})


def test_issuer_that_mints_version_5_uuids_may_claim_them() -> None:
    claims = claims_of(iss="minter", owners=[str(BOB)], tenant=str(tenant_uuid("acme")))
    assert claims.identity.owner_ids == frozenset({BOB})
    assert claims.identity.tenant_id == tenant_uuid("acme")


def test_name_that_only_looks_like_an_id_is_hashed() -> None:
    near = f"{BOB}0"
    assert claims_of(owners=[near]).identity.owner_ids == frozenset({owner_uuid(near)})


def test_dev_key_signs_no_such_claim_unless_its_issuer_is_listed(tmp_path: Path) -> None:
    grant = Grant("acme", (str(BOB),), "planner")
    with pytest.raises(InvalidArgument, match=r"owners: .*version-5"):
        mint(grant, IdentitySettings(tmp_path), now_s=0, token_id="t")
    assert mint(grant, IdentitySettings(tmp_path, uuid5_issuers=frozenset({DEV_ISSUER})), now_s=0, token_id="t")


async def never(tenant_id: UUID) -> None:
    return None


def test_certificate_name_may_not_map_to_a_version_5_uuid(tmp_path: Path) -> None:
    registered = {"uri:spiffe://corp/a": Grant("acme", (f"urn:uuid:{BOB}",), "planner")}
    settings = IdentitySettings(tmp_path, certificates=registered, requires_client_certificates=True)
    with pytest.raises(SettingInvalid, match=r"owners.*version-5 UUID.*name"):
        Authenticator(settings, not_before=never)


def test_only_a_trusted_issuer_can_be_listed(tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match=r"SIDECAR_UUID5_ISSUERS.*typo"):
        Authenticator(IdentitySettings(tmp_path, uuid5_issuers=frozenset({"typo"})), not_before=never)


@pytest.mark.parametrize("claim", [["hr", "Größe 🏠"], ["*"], []])
def test_spaces_are_claimed_as_a_list(claim: list[str]) -> None:
    identity = claims_of(spaces=claim).identity
    assert identity.spaces == frozenset(claim)
    assert not identity.are_spaces_unclaimed


def test_missing_claim_of_spaces_grants_none() -> None:
    identity = claims_of().identity
    assert (identity.spaces, identity.are_spaces_unclaimed) == (frozenset(), True)


@pytest.mark.parametrize(
    "claim",
    ["hr", None, {"hr": 1}, [1], [None], [["hr"]], [""], [" "], ["a\0"], ["x" * 201], [str(n) for n in range(101)]],
)
def test_unusable_claim_of_spaces_is_refused_by_name(claim: object) -> None:
    with pytest.raises(TokenMalformed, match="spaces"):
        claims_of(spaces=claim)


def test_an_admin_holds_every_space_and_claims_none() -> None:
    admin: dict[str, Any] = {"role": "admin", "owners": []}
    holding: tuple[dict[str, Any], ...] = ({}, {"spaces": ["*"]}, {"spaces": []})
    for given in holding:
        identity = claims_of(**admin, **given).identity
        assert (identity.spaces, identity.are_spaces_unclaimed) == (frozenset({"*"}), False)
    with pytest.raises(TokenMalformed, match="spaces"):
        claims_of(**admin, spaces=["hr"])
