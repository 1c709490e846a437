"""A deleted tenant leaves no word in any table, also after a kill; another tenant keeps everything."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from uuid import uuid4

import asyncpg
import grpc
import pytest

from sidecar.cli.root import run
from sidecar.cli.shared.dev_tokens import dev_token
from sidecar.cli.shared.failures import OK, REFUSED, USAGE
from sidecar.client import NewMemory, Sidecar, SidecarCallError, Stance
from sidecar.v1 import admin_pb2
from store.scope import tenant_uuid
from tests.support.served.command_line import START_S, migrated, serving
from tests.support.served.commands import said, told
from tests.support.served.site import Site
from tests.support.served.turns import QUESTION, asking, assembled, explained, fill, refusal
from tests.support.served.wiki_site import retain_journal, worked
from tests.support.store.schema_rows import tenant_tables
from tests.support.waiting import until_blocking, until_equal

WORDS = ("Calypso", "Empanada", QUESTION, "caulked", "Boats", "handbook")
OWNERS = 40


async def rows_of(dsn: str, tenant: str) -> dict[str, int]:
    """Return the number of the tenant's rows by table; tables without any are left out."""
    connection = await asyncpg.connect(dsn)
    try:
        names = [*(table.name for table in await tenant_tables(connection)), "compile_ready", "compile_served"]
        statement = "SELECT count(*) FROM {} WHERE tenant_id = $1"
        counts = {name: await connection.fetchval(statement.format(name), tenant_uuid(tenant)) for name in names}
        return {name: count for name, count in counts.items() if count}
    finally:
        await connection.close()


async def tables_left(dsn: str, tenant: str) -> set[str]:
    """Return the tables with rows of the tenant, without the notes of what was forgotten, which are hashes."""
    return (await rows_of(dsn, tenant)).keys() - {"forgotten_refs"}


async def tables_with_words(dsn: str, tenant: str) -> set[str]:
    """Return the tables in which a row of the tenant holds one of the words."""
    connection = await asyncpg.connect(dsn)
    try:
        statement = "SELECT count(*) FROM {} AS t WHERE tenant_id = $1 AND t::text ILIKE ANY ($2)"
        patterns = [f"%{word}%" for word in WORDS]
        names = await rows_of(dsn, tenant)
        return {one for one in names if await connection.fetchval(statement.format(one), tenant_uuid(tenant), patterns)}
    finally:
        await connection.close()


def revoke_long_ago(client: Sidecar) -> None:
    """Revoke as if twelve minutes ago, so that no call of that time runs any more."""
    client.revoke_tokens(not_before_time=datetime.now(UTC) - timedelta(minutes=12))


async def test_no_word_of_a_deleted_tenant_is_left_and_its_neighbour_keeps_everything(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    dsn = site.app.database.dsn
    agent, neighbour = await fill(site), await fill(site, tenant="other")
    await fill(site, owner="noor")
    await retain_journal(agent)
    await worked(site)
    receipt_id = (await neighbour.AssembleContext(asking())).assembly.receipt_id
    whole = await explained(neighbour, receipt_id)
    await explained(agent, (await agent.AssembleContext(asking())).assembly.receipt_id)
    theirs = await rows_of(dsn, "other")
    assert await tables_with_words(dsn, "acme") >= {"turns", "memories", "wiki_pages", "chunks", "receipt_texts"}
    with Sidecar(site.app.addresses[0], site.token(admin=True)) as client:
        await asyncio.to_thread(revoke_long_ago, client)
    done = await told(site, capsys, "tenant", "delete", "--tenant", "acme", "--confirm", "acme", admin=True)
    assert done["complete"]
    assert done["row_counts"].keys() >= {"turns", "documents", "knowledge_bases", "audit_entries"}
    await until_equal(partial(tables_left, dsn, "acme"), {"tenants", "audit_entries"})
    entries = (await site.caller(admin=True).ListAuditEntries(admin_pb2.ListAuditEntriesRequest())).entries
    # One, or those of two calls, as they are written after the calls.
    assert {(one.method, one.outcome) for one in entries} == {("sidecar.v1.AdminService/DeleteTenant", "OK")}
    assert await tables_with_words(dsn, "acme") == set()
    assert await rows_of(dsn, "other") == theirs
    assert await explained(neighbour, receipt_id) == whole
    assert not (await assembled(agent)).items, "the caches of knowledge bases and pages are dropped"


async def test_deletion_needs_an_admin_the_name_again_and_revoked_tokens(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = await fill(site)
    request = admin_pb2.DeleteTenantRequest(tenant_id="acme")
    assert (await refusal(agent.DeleteTenant(request)))[1] == "ADMIN_REQUIRED"
    assert (await refusal(site.caller("other", admin=True).DeleteTenant(request)))[
        0
    ] is grpc.StatusCode.PERMISSION_DENIED
    admin = site.caller(admin=True)
    assert (await refusal(admin.DeleteTenant(admin_pb2.DeleteTenantRequest())))[0] is grpc.StatusCode.INVALID_ARGUMENT
    assert (await refusal(admin.DeleteTenant(request)))[0] is grpc.StatusCode.FAILED_PRECONDITION
    for arguments, code in (
        (["--tenant", "acme", "--confirm", "other"], USAGE),
        (["--confirm", "acme"], USAGE),
        (["--tenant", "other", "--confirm", "other"], REFUSED),
    ):
        assert (await said(site, capsys, "tenant", "delete", *arguments, admin=True))[0] == code
    assert (await rows_of(site.app.database.dsn, "acme"))["turns"] > 10


async def test_tenant_is_shown_and_its_tokens_are_revoked(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    await fill(site)
    assert (await told(site, capsys, "tenant", "show", admin=True))["tokens_not_before_time"] is None
    token = site.token(admin=True)
    arguments = ["--address", site.app.addresses[0], "--token", token]
    assert await asyncio.to_thread(run, ["tenant", "revoke", *arguments]) == OK
    assert await asyncio.to_thread(run, ["tenant", "show", *arguments]) == REFUSED


@contextmanager
def killed_at_the_end(environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    """A service that is killed instead of stopped."""
    process = subprocess.Popen(
        [sys.executable, "-m", "sidecar", "serve"], env={**os.environ, **environment}, stderr=subprocess.DEVNULL
    )
    try:
        with Sidecar(environment["SIDECAR_LISTEN"], "") as client:
            assert client.health(deadline_s=START_S, waits=True) == "SERVING"
        yield process
    finally:
        process.kill()
        process.wait()


def test_deletion_is_completed_after_the_service_was_killed_half_way(migrated_template: str, tmp_path: Path) -> None:
    with migrated(migrated_template, tmp_path) as environment:
        dsn = environment["SIDECAR_DATABASE_URL"]

        def acting() -> Sidecar:
            token = dev_token(environment, tenant="acme", now_s=time.time(), token_id=uuid4().hex)
            return Sidecar(environment["SIDECAR_LISTEN"], token, stance=Stance(tenant_id="acme"))

        async def owners_left() -> int:
            connection = await asyncpg.connect(dsn)
            try:
                return int(await connection.fetchval("SELECT count(*) FROM memory_feeds"))
            finally:
                await connection.close()

        with killed_at_the_end(environment) as process, acting() as client:
            for place in range(OWNERS):
                owner = client.taking(Stance(tenant_id="acme", owner_id=f"owner {place}"))
                owner.retain(memories=[NewMemory(text=f"Number {place}.")])
            revoke_long_ago(client)

            def delete() -> None:
                with suppress(SidecarCallError):
                    client.delete_tenant()

            running = threading.Thread(target=delete)
            running.start()
            until_blocking(lambda: asyncio.run(owners_left()) < OWNERS)
            process.kill()
            running.join()
        assert asyncio.run(rows_of(dsn, "acme"))["tenants"] == 1
        with serving(environment, tmp_path / "serve.log"), acting() as client:
            done = client.delete_tenant()
            assert done.complete
            # The worker, which starts meanwhile, may write a hint of a job that is deleted; it follows and deletes it.
            until_blocking(lambda: "compile_ready" not in asyncio.run(rows_of(dsn, "acme")))
        left = asyncio.run(rows_of(dsn, "acme"))
        assert left.keys() <= {"tenants", "forgotten_refs", "audit_entries"}
        assert left["tenants"] == 1
