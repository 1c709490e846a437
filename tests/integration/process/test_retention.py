"""Receipts and accounts of turns are kept for so many days, and no longer."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest

from sidecar.process.retention import Retention, prune, retention_of
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from store.accounting import receipts
from store.accounting.receipts import NewReceipt, ReportedUsage
from store.accounting.retention import deletion_time
from store.db.postgres import Pools, installation, scoped, tenant_scoped
from store.db.server_checks import server_time
from store.scope import Scope
from store.tenancy import tenants
from tests.support.store.notes import as_admin

MARA, NOOR = Scope(UUID(int=1), UUID(int=11)), Scope(UUID(int=1), UUID(int=12))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
COUNTS = """SELECT (SELECT count(*) FROM receipts)::int, (SELECT count(*) FROM usage_reports)::int,
    (SELECT count(*) FROM turn_accounts)::int"""


@pytest.fixture(autouse=True)
async def world(pools: Pools) -> None:
    async with tenant_scoped(pools.background, MARA.tenant_id) as connection:
        await tenants.ensure_tenant(connection, MARA.tenant_id, now=NOW)


async def assembled(pools: Pools, *ages_days: int, scope: Scope = MARA) -> None:
    """Write a receipt of each age, with its account and a report."""
    for age in ages_days:
        at = NOW - timedelta(days=age)
        one = NewReceipt(scope, uuid4(), "planner", "t", "gpt-4o", False, 1.5, {"said": "x"}, {}, at)
        async with scoped(pools.background, scope) as connection:
            await receipts.insert(connection, [one])
            await receipts.report_usage(connection, scope, one.receipt_id, ReportedUsage(1, 1, 0, 0, ()), now=at)
            await connection.execute(
                """INSERT INTO turn_accounts (tenant_id, owner_id, receipt_id, agent_id, thread_id, model_id, is_degraded,
                    duration_ms, failed_sources, prompt_tokens, frame_tokens, thread_tokens, knowledge_tokens, memory_tokens,
                    wiki_tokens, workspace_tokens, tools_tokens, created_at)
                VALUES ($1, $2, $3, '', '', '', false, 1, '{}', 0, 0, 0, 0, 0, 0, 0, 0, $4)""",
                *(scope.tenant_id, scope.owner_id, one.receipt_id, at),
            )


async def counts(database: str) -> tuple[int, ...]:
    return tuple(await as_admin(database, f"SELECT ARRAY[{COUNTS.partition('SELECT ')[2]}]"))


@pytest.mark.parametrize(
    ("kept", "left"),
    [
        (Retention(30, 100, 0, 0), (2, 2, 4)),
        (Retention(0, 100, 0, 0), (6, 6, 4)),
        (Retention(30, 0, 0, 0), (2, 2, 6)),
        (Retention(0, 0, 0, 0), (6, 6, 6)),
    ],
)
async def test_each_kind_is_deleted_after_its_own_days_and_0_keeps_it(
    pools: Pools, database: str, kept: Retention, left: tuple[int, ...]
) -> None:
    await assembled(pools, 1, 50, 200)
    await assembled(pools, 1, 50, 200, scope=NOOR)
    await prune(pools.background, kept.since(NOW))
    assert await counts(database) == left
    assert await prune(pools.background, kept.since(NOW)) == 0


async def test_process_whose_clock_is_ahead_deletes_nothing_too_early(pools: Pools) -> None:
    async with installation(pools.background) as connection:
        before = await server_time(connection)
        for ahead in (timedelta(hours=1), timedelta(days=365)):
            until = await deletion_time(connection, before + ahead)
            assert before <= until < before + ahead
        behind = before - timedelta(days=1)
        assert await deletion_time(connection, behind) == behind


async def test_many_old_receipts_go_in_pieces(pools: Pools, database: str) -> None:
    async with scoped(pools.background, MARA) as connection:
        old = [
            NewReceipt(
                MARA, uuid4(), "planner", "t", "gpt-4o", False, 1.5, {}, {}, NOW - timedelta(days=90, minutes=number)
            )
            for number in range(1_100)
        ]
        await receipts.insert(connection, old)
    await assembled(pools, 1)
    assert await prune(pools.background, Retention(30, 0, 0, 0).since(NOW)) == 1_100
    assert await counts(database) == (1, 1, 1)


async def test_receipts_that_are_still_to_be_read_may_not_be_pruned() -> None:
    settings = Settings(Path("data"))
    assert retention_of(settings) == Retention(365, 1100, 365, 90)
    for unusable in (
        replace(settings, receipt_days=20),
        replace(settings, receipt_days=3, decay_read_days=2, receipt_text_days=7),
    ):
        with pytest.raises(SettingInvalid, match="SIDECAR_RECEIPT_DAYS"):
            retention_of(unusable)
    assert retention_of(replace(settings, receipt_days=0)).since(NOW).receipts is None
