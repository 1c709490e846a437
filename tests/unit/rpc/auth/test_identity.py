"""Who may act for whom: grants become identities, and no request reaches outside its identity."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from uuid import UUID

import pytest

from sidecar.rpc.auth.identity import (
    MAX_OWNERS,
    Grant,
    Identity,
    Role,
    identity_of,
    require_admin,
    resolve_scope,
    resolve_space,
)
from sidecar.runtime.errors import AdminRequired, InvalidArgument, ScopeForbidden, SpaceForbidden
from store.scope import Scope, brain_of, is_brain, owner_uuid, tenant_uuid

HOSTILE_IDS = [" ", "\t", "x" * 201, "a\0b", "a\nb", "\ud800", "\u202e", "\x7f"]


def agent(*owners: str, tenant: str = "acme") -> Identity:
    return identity_of(Grant(tenant, owners, "planner"))


def admin(tenant: str = "acme") -> Identity:
    return identity_of(Grant(tenant, role=Role.ADMIN))


def test_agent_with_one_owner_may_leave_both_fields_empty() -> None:
    assert resolve_scope(agent("ann"), "", "") == Scope(tenant_uuid("acme"), owner_uuid("ann"))


@pytest.mark.parametrize("tenant", ["acme", str(tenant_uuid("acme")), ""])
@pytest.mark.parametrize("owner", ["ann", str(owner_uuid("ann")), str(owner_uuid("ann")).upper()])
def test_an_agent_may_repeat_its_own_ids_in_either_form(tenant: str, owner: str) -> None:
    assert resolve_scope(agent("ann"), tenant, owner) == Scope(tenant_uuid("acme"), owner_uuid("ann"))


@pytest.mark.parametrize(("tenant", "owner"), [("", "bob"), ("acme", "bob"), ("globex", ""), ("globex", "ann")])
def test_an_agent_naming_another_owner_or_tenant_is_refused(tenant: str, owner: str) -> None:
    with pytest.raises(ScopeForbidden):
        resolve_scope(agent("ann"), tenant, owner)


def test_refusal_is_the_same_for_a_foreign_tenant_and_a_foreign_owner() -> None:
    messages = set()
    for tenant, owner in [("globex", "ann"), ("", "bob"), ("acme", str(UUID(int=7)))]:
        with pytest.raises(ScopeForbidden) as caught:
            resolve_scope(agent("ann"), tenant, owner)
        messages.add(str(caught.value))
    assert len(messages) == 1
    assert "bob" not in messages.pop()


def test_an_agent_with_several_owners_has_to_name_one_of_them() -> None:
    identity = agent("ann", "bob")
    with pytest.raises(InvalidArgument) as caught:
        resolve_scope(identity, "", "")
    assert caught.value.field == "owner_id"
    assert resolve_scope(identity, "", "bob").owner_id == owner_uuid("bob")
    with pytest.raises(ScopeForbidden):
        resolve_scope(identity, "", "cid")


def test_an_admin_has_to_name_the_owner_and_may_name_any_of_its_tenant() -> None:
    with pytest.raises(InvalidArgument) as caught:
        resolve_scope(admin(), "acme", "")
    assert caught.value.field == "owner_id"
    assert resolve_scope(admin(), "", "anyone") == Scope(tenant_uuid("acme"), owner_uuid("anyone"))


@pytest.mark.parametrize("owner", ["", "ann"])
def test_an_admin_of_one_tenant_is_refused_in_another(owner: str) -> None:
    with pytest.raises(ScopeForbidden):
        resolve_scope(admin("acme"), "globex", owner)


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
@pytest.mark.parametrize("field", ["tenant_id", "owner_id"])
def test_an_unusable_id_in_a_request_names_its_field(field: str, hostile: str) -> None:
    tenant, owner = (hostile, "ann") if field == "tenant_id" else ("", hostile)
    with pytest.raises(InvalidArgument) as caught:
        resolve_scope(agent("ann"), tenant, owner)
    assert caught.value.field == field


@pytest.mark.parametrize(("held", "space"), [(("hr",), "hr"), (("*",), "hr"), (("*", "ops"), "*"), ((), "")])
def test_held_space_is_used(held: tuple[str, ...], space: str) -> None:
    assert resolve_space(identity_of(Grant("acme", ("ann",), "planner", spaces=held)), space) == space
    assert resolve_space(admin(), space) == space


@pytest.mark.parametrize(("held", "space"), [((), "hr"), (None, "hr"), (("ops", "hr2"), "hr"), (("hr",), "*")])
def test_space_that_is_not_held_is_refused(held: tuple[str, ...] | None, space: str) -> None:
    with pytest.raises(SpaceForbidden):
        resolve_space(identity_of(Grant("acme", ("ann",), "planner", spaces=held)), space)


@pytest.mark.parametrize("hostile", HOSTILE_IDS)
def test_an_unusable_space_names_its_field(hostile: str) -> None:
    for caller in (admin(), identity_of(Grant("acme", ("ann",), "planner", spaces=("*",)))):
        with pytest.raises(InvalidArgument) as caught:
            resolve_space(caller, hostile)
        assert caught.value.field == "space_id"


def test_only_admins_pass_where_an_admin_is_required() -> None:
    require_admin(admin())
    with pytest.raises(AdminRequired):
        require_admin(agent("ann"))


@pytest.mark.parametrize(
    ("grant", "field"),
    [
        (Grant("", ("ann",), "planner"), "tenant"),
        (Grant("acme", (), "planner"), "owners"),
        (Grant("acme", tuple(map(str, range(MAX_OWNERS + 1))), "planner"), "owners"),
        (Grant("acme", ("ann", ""), "planner"), "owners"),
        (Grant("acme", ("ann",), ""), "agent"),
        (Grant("acme", ("ann",), "a\0"), "agent"),
        (Grant("acme", ("ann",), "planner", Role.ADMIN), "owners"),
        (Grant("acme", (), "\ud800", Role.ADMIN), "agent"),
    ],
)
def test_unusable_grant_names_its_problem(grant: Grant, field: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        identity_of(grant)
    assert caught.value.field == field


def test_an_identity_keeps_the_ids_as_they_were_given() -> None:
    identity = agent("auth0|42", "ann")
    assert identity.names[owner_uuid("auth0|42")] == "auth0|42"
    assert identity.names[tenant_uuid("acme")] == "acme"


def test_an_identity_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        agent("ann").tenant_id = UUID(int=1)  # type: ignore[misc]  # the point of the test


def test_burst_is_counted_for_the_only_owner_or_else_for_the_caller() -> None:
    assert agent("ann").queue_key == owner_uuid("ann")
    assert agent("ann", "bob").queue_key == "planner"
    assert admin().queue_key == "admin"


def _spellings(owner_id: UUID) -> list[str]:
    """Return ways to write an id that Python reads as the same UUID."""
    text = str(owner_id)
    wide = text.translate({ord(str(digit)): chr(0xFF10 + digit) for digit in range(10)})
    arabic = text.translate({ord(str(digit)): chr(0x0660 + digit) for digit in range(10)})
    return [text, text.upper(), owner_id.hex, f"{{{text}}}", owner_id.urn, wide, arabic, text.replace("-", "")]


@pytest.mark.parametrize("tenant", ["acme", "globex"])
def test_brain_of_no_tenant_can_be_named_or_claimed(tenant: str) -> None:
    reserved = brain_of(tenant_uuid(tenant)).owner_id
    assert is_brain(reserved)
    for spelling in _spellings(reserved):
        with pytest.raises(InvalidArgument) as named:
            resolve_scope(admin("acme"), "", spelling)
        assert named.value.field == "owner_id"
        for may_claim in (True, False):
            with pytest.raises(InvalidArgument) as claimed:
                identity_of(Grant("acme", ("ann", spelling), "planner"), may_claim_uuid5=may_claim)
            assert claimed.value.field == "owners"


def test_brains_of_tenants_differ_and_no_mapped_name_is_one() -> None:
    brains = {brain_of(tenant_uuid(f"tenant {number}")).owner_id for number in range(1_000)}
    assert len(brains) == 1_000
    assert all(one.version == 8 for one in brains)
    assert not any(is_brain(owner_uuid(f"owner {number}")) for number in range(1_000))
