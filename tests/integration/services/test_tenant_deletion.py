"""A deleted tenant leaves its id, the revocation of its tokens, for an hour notes of the forgetting, and nothing else; another
tenant loses nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from sidecar.runtime.errors import FailedPrecondition
from sidecar.services.forgetting.targets import ForgottenOwner
from sidecar.services.forgetting.tenant_deletion import TenantDeletion
from sidecar.services.tenants import Tenants
from store.db.postgres import Pools, tenant_scoped
from store.db.queries import Connection
from store.scope import Scope, brain_of
from store.tenancy import tenant_deletion
from store.tenancy import tenants as stored
from tests.support.store.schema_rows import Table, fill, tenant_tables

MINE, THEIRS = UUID(int=1), UUID(int=2)
OWNERS = (UUID(int=11), UUID(int=12), brain_of(MINE).owner_id)
LEFT = {"tenants": 1, "forgotten_refs": 2 * len(OWNERS)}
REVOKED = datetime(2026, 5, 1, tzinfo=UTC)


class Clock:
    """A clock that stands still."""

    def __init__(self) -> None:
        self.time = REVOKED + timedelta(minutes=12)

    def __call__(self) -> datetime:
        return self.time


@pytest.fixture
async def tables(superuser: Connection) -> list[Table]:
    """Every tenant table, with rows of three owners in one tenant (one its Brain) and of one in another."""
    found = await tenant_tables(superuser)
    for place, owner_id in enumerate(OWNERS):
        filled = [table for table in found if place == 0 or table.has_owner]
        await fill(superuser, filled, _own(MINE, owner_id, place))
    await fill(superuser, found, _own(THEIRS, UUID(int=21), 9))
    await superuser.execute(
        "INSERT INTO compile_served (tenant_id, served_at) VALUES ($1, now()), ($2, now())", MINE, THEIRS
    )
    return found


def _own(tenant_id: UUID, owner_id: UUID, place: int) -> dict[str, str]:
    """Return the expressions of a tenant's or an owner's rows that refer to one another."""
    number = f"'{UUID(int=100 + place)}'::uuid"
    ids = ("turn", "page", "section", "link", "mention", "item", "job", "receipt", "from_page", "parent_page")
    shared = ("chunk_id", "base_id", "change_set_id", "documents.document_id", "chunks.document_id")
    return {
        **{f"{name}_id": number for name in ids},
        **dict.fromkeys(shared, number),
        "tenant_id": f"'{tenant_id}'::uuid",
        "owner_id": f"'{owner_id}'::uuid",
        "dedupe_key": f"'x{place}'",
        "tenants.tokens_not_before": f"timestamptz '{REVOKED.isoformat()}'",
    }


async def counts(superuser: Connection, tables: list[Table], tenant_id: UUID) -> dict[str, int]:
    names = [*(table.name for table in tables), "compile_ready", "compile_served"]
    found = {
        name: await superuser.fetchval(f"SELECT count(*) FROM {name} WHERE tenant_id = $1", tenant_id) for name in names
    }
    return {name: count for name, count in found.items() if count}


def deletion(pools: Pools, clock: Clock | None = None) -> TenantDeletion:
    return Tenants(pools, now=clock or Clock()).deletion


async def test_nothing_of_a_deleted_tenant_is_left_and_another_loses_nothing(
    pools: Pools, superuser: Connection, tables: list[Table]
) -> None:
    before = await counts(superuser, tables, THEIRS)
    assert before.keys() >= {table.name for table in tables}
    assert (await counts(superuser, tables, MINE)).keys() == before.keys()
    assert (await deletion(pools).delete(MINE)).is_complete
    assert await counts(superuser, tables, MINE) == LEFT
    assert await counts(superuser, tables, THEIRS) == before


async def test_notes_of_the_forgetting_are_deleted_an_hour_later(
    pools: Pools, superuser: Connection, tables: list[Table]
) -> None:
    """Also those that a killed forgetting left undated: the deletion dates them."""
    clock = Clock()
    await superuser.execute("UPDATE forgotten_refs SET forgotten_at = '9999-12-01 00:00:00+00'")
    assert (await deletion(pools, clock).delete(MINE)).is_complete
    clock.time += timedelta(minutes=59)
    assert (await deletion(pools, clock).delete(MINE)).row_counts == {}
    clock.time += timedelta(minutes=2)
    assert (await deletion(pools, clock).delete(MINE)).row_counts == {"forgotten_refs": LEFT["forgotten_refs"] + 1}
    assert await counts(superuser, tables, MINE) == {"tenants": 1}
    assert (await counts(superuser, tables, THEIRS))["forgotten_refs"] == 1


async def test_owner_with_rows_in_one_table_is_found_whichever_it_is(pools: Pools, superuser: Connection) -> None:
    """Of the tables that refer to the tenant itself; the rows of the others go with rows of these."""
    roots = await superuser.fetch(
        "SELECT k.conrelid::regclass::text AS name FROM pg_constraint k WHERE k.confrelid = 'tenants'::regclass AND NOT EXISTS ("
        " SELECT FROM pg_constraint c WHERE c.conrelid = k.conrelid AND c.contype = 'f' AND c.confdeltype = 'c')"
    )
    names = {row["name"] for row in roots}
    tables = [table for table in await tenant_tables(superuser) if table.has_owner and table.name in names]
    assert len(tables) > 20
    for place, table in enumerate(tables, 1):
        await fill(superuser, [table], _own(MINE, UUID(int=place), place))
    async with tenant_scoped(pools.background, MINE) as connection:
        found = await tenant_deletion.owners_after(connection, MINE, None, limit=100)
        last = await tenant_deletion.owners_after(connection, MINE, found[-3], limit=1)
        none = await tenant_deletion.owners_after(connection, THEIRS, None, limit=100)
    assert {tables[owner_id.int - 1].name for owner_id in found} == {table.name for table in tables}
    assert (last, none) == (found[-2:-1], [])


async def test_deleted_tenant_has_a_new_ones_settings_and_its_tokens_stay_revoked(
    pools: Pools, tables: list[Table]
) -> None:
    async with tenant_scoped(pools.background, MINE) as connection:
        await connection.execute("UPDATE tenants SET wiki_compile_enabled = false, wiki_unread_pause_s = 7")
    assert (await deletion(pools).delete(MINE)).is_complete
    async with tenant_scoped(pools.background, MINE) as connection:
        left = await stored.get(connection, MINE)
        flags = await stored.compile_flags(connection, MINE)
    assert left is not None
    assert left.tokens_not_before == REVOKED
    assert flags == stored.CompileFlags(is_compiled=True, aggregation=None, linking=None)


async def test_deletion_is_repeated_without_effect_and_an_unknown_tenant_is_complete(
    pools: Pools, tables: list[Table]
) -> None:
    assert (await deletion(pools).delete(MINE)).row_counts
    again = await deletion(pools).delete(MINE)
    assert (again.is_complete, again.row_counts) == (True, {})
    assert (await deletion(pools).delete(UUID(int=3))).is_complete
    async with tenant_scoped(pools.background, UUID(int=3)) as connection:
        assert await stored.get(connection, UUID(int=3)) is None


async def test_tenant_whose_tokens_are_not_revoked_is_refused(
    pools: Pools, superuser: Connection, tables: list[Table]
) -> None:
    await superuser.execute("UPDATE tenants SET tokens_not_before = NULL")
    before = await counts(superuser, tables, MINE)
    with pytest.raises(FailedPrecondition, match="tokens are not revoked"):
        await deletion(pools).delete(MINE)
    assert await counts(superuser, tables, MINE) == before


async def test_deletion_waits_for_calls_that_ran_at_the_revocation(
    pools: Pools, superuser: Connection, tables: list[Table]
) -> None:
    """A row that such a call writes after the first pass is deleted by a later one."""
    clock = Clock()
    clock.time = REVOKED + timedelta(seconds=599)
    assert not (await deletion(pools, clock).delete(MINE)).is_complete
    memories = [table for table in tables if table.name in ("memory_feeds", "memories", "profiles")]
    await fill(superuser, memories, _own(MINE, OWNERS[0], 0))
    clock.time = REVOKED + timedelta(seconds=600)
    done = await deletion(pools, clock).delete(MINE)
    assert done.is_complete
    assert done.row_counts == {"memory_feeds": 1, "memories": 1, "profiles": 1}
    assert await counts(superuser, tables, MINE) == LEFT


async def test_deletion_that_ends_early_is_continued_by_the_next_call(
    pools: Pools, superuser: Connection, tables: list[Table]
) -> None:
    clock, done = Clock(), list[Scope]()
    whole = Tenants(pools, now=clock)

    async def killed(scope: Scope, *, asks_services: bool) -> ForgottenOwner:
        if done:
            raise RuntimeError
        done.append(scope)
        return await whole.forget_owner(scope)

    with pytest.raises(RuntimeError):
        await TenantDeletion(pools, now=clock, forget_owner=killed).delete(MINE)
    assert len(done) == 1
    assert (await counts(superuser, tables, MINE))["memories"] == 2
    assert not (
        await TenantDeletion(pools, now=clock, forget_owner=whole.forget_owner, works_s=0).delete(MINE)
    ).is_complete
    assert (await whole.deletion.delete(MINE)).is_complete
    assert await counts(superuser, tables, MINE) == LEFT


async def test_next_call_begins_after_the_owners_of_the_last_one(pools: Pools, tables: list[Table]) -> None:
    """Else those about whom a service does not answer would take the time of every call."""
    asked = list[UUID]()

    async def waits(scope: Scope, *, asks_services: bool) -> ForgottenOwner:
        if len(asked) == 1:
            asked.append(MINE)
            raise RuntimeError
        asked.append(scope.owner_id)
        return ForgottenOwner({})

    deleting = TenantDeletion(pools, now=Clock(), forget_owner=waits)
    with pytest.raises(RuntimeError):
        await deleting.delete(MINE)
    first, second, last = sorted(OWNERS)
    assert asked == [first, MINE]
    assert not (await deleting.delete(MINE)).is_complete
    assert asked[2:] == [second, last, first]
    assert not (await deleting.delete(MINE)).is_complete
    assert asked[5:] == [first, second, last]


async def test_many_rows_are_deleted_in_pieces(pools: Pools, superuser: Connection, tables: list[Table]) -> None:
    many = [table for table in tables if table.name in ("documents", "audit_entries")]
    keys = {"documents.document_id": "md5('d' || n)::uuid", "entry_id": "md5('e' || n)::uuid"}
    await superuser.execute("DELETE FROM documents; DELETE FROM audit_entries")
    await fill(superuser, many, _own(MINE, OWNERS[0], 0) | keys, count="10001")
    done = await deletion(pools).delete(MINE)
    assert (done.row_counts["documents"], done.row_counts["audit_entries"], done.is_complete) == (10_001, 10_001, True)
    assert await counts(superuser, tables, MINE) == LEFT
