"""Reads and changes of admins are recorded, for admins of the tenant to list."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from sidecar.runtime.settings import Settings
from sidecar.v1 import admin_pb2, memory_pb2
from sidecar.v1 import context_pb2 as pb
from store.scope import owner_uuid
from tests.support.served.commands import told
from tests.support.served.console_browser import browser
from tests.support.served.site import Site, served
from tests.support.served.turns import as_superuser, fill, locked, refusal, until_count
from tests.support.waiting import until

SET_UP = 3  # entries that `fill` leaves
FORGET = admin_pb2.ForgetOwnerRequest(owner_id="mara")


@pytest.fixture
async def desk(settings: Settings) -> AsyncIterator[Site]:
    """A served sidecar with its console."""
    async with served(replace(settings, console_listen="127.0.0.1:0")) as site:
        yield site


async def entries(site: Site, least: int = 0, *, tenant: str = "acme", owner: str = "") -> list[tuple[str, ...]]:
    """Return the method, owner, object and outcome of each entry but of listing them, once so many are written."""
    await until_noted(site, least)
    request = admin_pb2.ListAuditEntriesRequest(owner_id=owner, page_size=1000)
    answer = await site.caller(tenant, admin=True).ListAuditEntries(request)
    return [
        (one.method.rpartition("/")[2] if one.via == "rpc" else one.method, one.owner_id, one.object, one.outcome)
        for one in answer.entries
        if not one.method.endswith("ListAuditEntries")
    ]


async def until_noted(site: Site, least: int) -> None:
    """Wait until so many entries are written, those of listing them left out."""
    count = "SELECT count(*) FROM audit_entries WHERE method NOT LIKE '%ListAuditEntries'"
    await until(lambda: as_superuser(site, f"{count} HAVING count(*) >= {least}"))


async def test_admins_calls_are_logged_with_owner_object_and_outcome(site: Site) -> None:
    agent, admin = site.caller(), site.caller(admin=True)
    await agent.Retain(memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(memory_id="m1", text="Zwitscherklang")]))
    mara = str(owner_uuid("mara"))
    await admin.GetMemory(memory_pb2.GetMemoryRequest(owner_id="mara", memory_id="m1"))
    await refusal(admin.GetMemory(memory_pb2.GetMemoryRequest(owner_id="mara", memory_id="m2")))
    await admin.ListTurns(pb.ListTurnsRequest(owner_id="noor", thread_id="t1"))
    await admin.GetTenant(admin_pb2.GetTenantRequest())
    noted = await entries(site, 4)
    assert noted == [
        ("GetTenant", "", "", "OK"),
        ("ListTurns", str(owner_uuid("noor")), "thread_id=t1", "OK"),
        ("GetMemory", mara, "memory_id=m2", "NOT_FOUND"),
        ("GetMemory", mara, "memory_id=m1", "OK"),
    ]
    assert await entries(site, owner="mara") == noted[2:]
    answer = await admin.ListAuditEntries(admin_pb2.ListAuditEntriesRequest(page_size=1))
    assert answer.next_page_token
    (newest,) = answer.entries
    assert (newest.role, newest.subject, newest.via) == ("admin", "admin", "rpc")
    assert newest.token_id
    assert not await entries(site, tenant="other")
    assert (await refusal(agent.ListAuditEntries(admin_pb2.ListAuditEntriesRequest())))[1] == "ADMIN_REQUIRED"


async def test_forgetting_an_owner_is_logged_and_removes_its_ids_from_the_log(site: Site) -> None:
    await fill(site)
    admin, mara = site.caller(admin=True), str(owner_uuid("mara"))
    await admin.GetMemory(memory_pb2.GetMemoryRequest(owner_id="mara", memory_id="boat-dock"))
    before = await entries(site, SET_UP + 1)
    assert ("GetMemory", mara, "memory_id=boat-dock", "OK") in before
    await admin.ForgetOwner(FORGET)
    assert (await entries(site, len(before) + 1, owner="mara"))[:2] == [
        ("ForgetOwner", mara, "", "OK"),
        ("GetMemory", mara, "", "OK"),
    ]


async def test_unstorable_id_removes_no_entry_from_the_log(site: Site) -> None:
    admin = site.caller(admin=True)
    await admin.PutAgent(admin_pb2.PutAgentRequest(agent_id="planner"))
    await refusal(admin.GetMemory(memory_pb2.GetMemoryRequest(owner_id="mara", memory_id="m\0\n1")))
    assert await entries(site, 2) == [
        ("GetMemory", str(owner_uuid("mara")), "memory_id=m\ufffd\ufffd1", "INVALID_ARGUMENT"),
        ("PutAgent", "", "agent_id=planner", "OK"),
    ]


async def test_call_does_not_wait_for_its_audit_entry(site: Site) -> None:
    admin = site.caller(admin=True)
    await fill(site)
    async with locked(site, "audit_entries"):
        for _ in range(50):
            await admin.GetTenant(admin_pb2.GetTenantRequest())
    assert len(await entries(site, SET_UP + 50)) == SET_UP + 50


async def test_console_audits_an_admins_reads_and_none_of_an_agents(desk: Site) -> None:
    await fill(desk)
    async with browser(desk) as client:
        await client.get("/turns")
    async with browser(desk, admin=True) as client:
        await client.get("/sources")
    noted = await entries(desk, SET_UP + 3)
    assert ("GET /sources", str(owner_uuid("mara")), "", "OK") in noted
    assert not [one for one in noted if one[0] == "GET /turns"]


async def test_audit_command_lists_entries(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    await site.caller(admin=True).PutAgent(admin_pb2.PutAgentRequest(agent_id="planner"))
    await until_noted(site, 1)
    rows = await told(site, capsys, "audit", "--days", "1", admin=True)
    found = [(row["method"], row["object"]) for row in rows if not row["method"].endswith("ListAuditEntries")]
    assert found == [("sidecar.v1.AdminService/PutAgent", "agent_id=planner")]


async def test_old_entries_are_deleted_and_none_are_written_if_retention_is_zero(settings: Settings) -> None:
    async with served(settings) as site:
        await site.caller(admin=True).PutAgent(admin_pb2.PutAgentRequest(agent_id="planner"))
    assert await as_superuser(site, "SELECT count(*) FROM audit_entries") == 1, "it is written before the process ends"
    await as_superuser(site, "UPDATE audit_entries SET called_at = $1", datetime.now(UTC) - timedelta(days=91))
    async with served(settings) as site:
        await until_count(site, "SELECT count(*) FROM audit_entries", 0)
    async with served(replace(settings, audit_days=0)) as site:
        await site.caller(admin=True).PutAgent(admin_pb2.PutAgentRequest(agent_id="planner"))
    assert await as_superuser(site, "SELECT count(*) FROM audit_entries") == 0
