"""Forgetting takes the proposals of a scan that rest on nothing else, whoever owns the memories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from sidecar.services.ontology.drafting import new_item
from store.content.memories import NewMemory
from store.db.postgres import Pools, scoped, tenant_scoped
from store.ontology import change_sets, evidence
from store.ontology.change_sets import ChangeAction, ChangeItem, ChangeOrigin, ChangeSet, ChangeSetStatus
from store.ontology.evidence import Example
from store.ontology.terms import EntityType
from store.scope import Scope
from store.tenancy import owners
from tests.support.compiler.compiling import NOW, SCOPE, write


def proposal(name: str) -> ChangeItem:
    return new_item(ChangeAction.CREATE, EntityType(slug=name, name=name, broad_type="place"), None, ChangeOrigin.SCAN)


async def propose(pools: Pools, owned: Mapping[str, Mapping[Scope, str]]) -> dict[str, ChangeItem]:
    """Write proposals of a scan; return them by name. Each rests on owners' memories."""
    items = {name: replace(proposal(name), position=place) for place, name in enumerate(owned)}
    change_set = ChangeSet(
        UUID(int=77), ChangeOrigin.SCAN, "What the memories suggest", ChangeSetStatus.OPEN, 1, "scan", NOW
    )
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        await change_sets.insert(connection, SCOPE.tenant_id, change_set)
        await change_sets.add_items(connection, SCOPE.tenant_id, change_set.change_set_id, list(items.values()))
    for name, places in owned.items():
        for place, (scope, memory_id) in enumerate(places.items(), 1):
            about = (memory_id, "memory", name, "We met there.", NOW)
            async with scoped(pools.background, scope) as connection:
                example = Example(scope.owner_id, items[name].item_id, place, *about)
                await evidence.replace(connection, scope, [items[name].item_id], [example])
    return items


async def proposed(pools: Pools) -> set[str]:
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        return {one.value["slug"] for one in await change_sets.items(connection, SCOPE.tenant_id, UUID(int=77))}


async def test_forgetting_deletes_proposals_based_on_the_memories(pools: Pools) -> None:
    other = Scope(SCOPE.tenant_id, UUID(int=12))
    for scope in (SCOPE, other):
        await write(pools, [NewMemory("We met there.", one, NOW) for one in ("m1", "m2")], scope=scope)
    await propose(
        pools, {"bar": {SCOPE: "m1"}, "inn": {SCOPE: "m2"}, "pub": {SCOPE: "m1", other: "m2"}, "cafe": {other: "m1"}}
    )
    async with scoped(pools.background, SCOPE) as connection:
        await evidence.forget(connection, SCOPE, ["m1"])
    assert await proposed(pools) == {"inn", "pub", "cafe"}
    async with scoped(pools.background, SCOPE) as connection:
        await owners.forget(connection, SCOPE)
    assert await proposed(pools) == {"pub", "cafe"}
