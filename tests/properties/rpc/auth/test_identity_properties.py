"""Generated and hostile input for what `tests/unit/rpc/auth/test_identity.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sidecar.rpc.auth.identity import resolve_scope
from sidecar.runtime.errors import InvalidArgument, PermissionDenied
from store.scope import owner_uuid, tenant_uuid
from tests.unit.rpc.auth.test_identity import agent

ids = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=30)


@given(own=st.lists(ids, min_size=1, max_size=4), tenant=ids, asked_tenant=ids | st.just(""), asked=ids | st.just(""))
def test_no_request_reaches_outside_its_identity(own: list[str], tenant: str, asked_tenant: str, asked: str) -> None:
    identity = agent(*own, tenant=tenant)
    try:
        scope = resolve_scope(identity, asked_tenant, asked)
    except (PermissionDenied, InvalidArgument):
        return
    assert scope.tenant_id == tenant_uuid(tenant)
    assert scope.owner_id in {owner_uuid(name) for name in own}
