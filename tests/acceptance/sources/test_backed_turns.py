"""Turns over every backend at once, configured as documented: the items of each, and the rest when one fails."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import pytest_asyncio

from sidecar.v1 import admin_pb2, backends_pb2, cost_pb2, items_pb2, profile_pb2
from sidecar.v1 import context_pb2 as pb
from store.scope import tenant_uuid
from tests.stand_ins.aws import Fault, Reply
from tests.stand_ins.hindsight import Refusal
from tests.support.backends.aws_site import CANARY, use_credentials
from tests.support.databases import database_clone
from tests.support.served.backed import (
    EXAMPLES,
    SOURCE_DEADLINE_S,
    SOURCES,
    StandIns,
    at_stand_ins,
    standing_in,
    written,
)
from tests.support.served.site import Site, ready, served
from tests.support.served.turns import THREAD, asking, assembled, explained, fill, report, statuses

pytestmark = pytest.mark.asyncio(loop_scope="module")

OWNER, ACTOR, BANK = "ada", "user-4711", "ada-2024"
NOW = datetime(2026, 5, 1, 0, 30, tzinfo=UTC)
NAMESPACE = f"/strategies/semantic-1/actors/{ACTOR}"
MORE = """
[[bedrock_knowledge]]
name = "yard"
tenant = "acme"
knowledge_base_id = "YARDXXXXXX"
region = "eu-central-1"
assign = ["template:default"]

[[agentcore]]
name = "events"
tenant = "acme"
memory_id = "acme_events-ABCDEFGHIJ"
region = "eu-central-1"
actors = { ada = "user-4711" }
recall = false
events = true
"""
DENIED = Fault("AccessDeniedException", 403, f"{CANARY} may not")
ITEMS = {
    "handbook": ("KNOWLEDGE", "The handbook says that a boat winters on a cradle.", ("backend", "handbook")),
    "yard": ("KNOWLEDGE", "The yard says where a boat winters: in shed two.", ("backend", "yard")),
    "sessions": ("MEMORY", "Ada asked in March where the boat winters.", ("backend", "sessions")),
    "memories": ("MEMORY", "The boat winters under a blue tarpaulin.", ("backend", "memories")),
    "harbour": ("TOOLS", "Berth 12 is free. You asked: Where does the boat winter?", ("tool", "harbour/search")),
    "tickets": ("TOOLS", "no key is there", ("tool", "tickets/key")),
    "files": ("WORKSPACE", "The boat winters in the list of the yard.", ("file", "tenant/winter.md")),
    "local files": ("WORKSPACE", "A boat winters on this disk too.", ("file", "tenant/disk.md")),
}
"""By backend the source it stands beside, what it brings, and what the item says it came from."""


@pytest.fixture(scope="module", name="services")
def _services() -> Iterator[StandIns]:
    with pytest.MonkeyPatch.context() as patching, standing_in() as services:
        use_credentials(patching)
        for name in ("HINDSIGHT_KEY", "TICKETS_AUTHORIZATION"):
            patching.setenv(name, CANARY)
        yield services


@pytest_asyncio.fixture(scope="module", loop_scope="module", name="backed")
async def _backed(
    services: StandIns, migrated_template: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Site]:
    """A sidecar with every backend, the tools of two servers approved, and workspaces in S3 and on disk."""
    home = tmp_path_factory.mktemp("backed")
    (home / "harbour").write_text(CANARY)
    text = "\n".join([*EXAMPLES, MORE]).replace("/run/secrets/", f"{home}/")
    (home / "backends.toml").write_text(written(at_stand_ins(text, services)))
    folder = home / "workspaces" / str(tenant_uuid("acme")) / "shared"
    folder.mkdir(parents=True)
    (folder / "disk.md").write_text(ITEMS["local files"][1])
    async with database_clone(migrated_template) as dsn:
        settings = await ready(dsn, home, workspace_root=home / "workspaces", backends=home / "backends.toml")
        async with served(replace(settings, turn_pool_size=8)) as site:
            await fill(site, owner=OWNER)
            admin = site.caller(admin=True)
            tenant = admin_pb2.WORKSPACE_LEVEL_TENANT
            await admin.PutWorkspace(admin_pb2.PutWorkspaceRequest(level=tenant, location="shared"))
            for server, tool in (("harbour", "search"), ("tickets", "key")):
                approved = backends_pb2.ApproveToolRequest(backend=server, tool=tool)
                await admin.ApproveTool(approved, timeout=60)
            yield site


@pytest.fixture(name="well")
def _well(services: StandIns) -> StandIns:
    """Every service answers."""
    aws = services.aws
    aws.script("Retrieve", passages("handbook"))
    aws.script("Retrieve", passages("yard"), to="YARDXXXXXX")
    aws.script("Rerank", Reply({"results": [{"index": 1, "relevanceScore": 0.9}, {"index": 0, "relevanceScore": 0.2}]}))
    aws.script("RetrieveMemoryRecords", Reply({"memoryRecordSummaries": [record(ITEMS["sessions"][1], NAMESPACE)]}))
    aws.script("ListEvents", Reply({"events": EVENTS}))
    services.hindsight.refusals.clear()
    services.hindsight.units.clear()
    services.hindsight.retain(BANK, [{"content": ITEMS["memories"][1], "document_id": "log"}])
    services.s3.refusals.clear()
    services.s3.objects[("acme-agents", "workspaces/acme/shared/winter.md")] = ITEMS["files"][1].encode()
    return services


def passages(name: str) -> Reply:
    location = {"type": "S3", "s3Location": {"uri": f"s3://{name}/boats.md"}}
    content = {"type": "TEXT", "text": ITEMS[name][1]}
    return Reply({"retrievalResults": [{"content": content, "location": location, "score": 0.4}]})


def record(text: str, namespace: str) -> dict[str, Any]:
    return {
        "memoryRecordId": f"mem-{'1':>036}",
        "content": {"text": text},
        "memoryStrategyId": "semantic-1",
        "namespaces": [namespace],
        "createdAt": NOW,
    }


def event(number: int, role: str, *blocks: dict[str, Any]) -> dict[str, Any]:
    return {
        "memoryId": "acme_events-ABCDEFGHIJ",
        "actorId": ACTOR,
        "sessionId": THREAD,
        "eventId": f"{number:016d}#a{number}",
        "eventTimestamp": NOW + timedelta(seconds=number),
        "payload": [{"blob": {"role": role, "content": list(blocks)}}],
    }


EVENTS = [
    event(3, "user", {"toolResult": {"toolUseId": "t1", "content": [{"text": "low"}]}}),
    event(1, "user", {"text": "Is the tide low?"}),
    event(4, "assistant", {"text": "It is low."}),
    event(2, "assistant", {"toolUse": {"toolUseId": "t1", "name": "tide", "input": {"port": "Lisbon"}}}),
]


def patiently() -> pb.AssembleContextRequest:
    """Return the question with more time for every source than a busy machine needs, and room for whatever they bring."""
    sources = [getattr(items_pb2, f"SOURCE_{source.name}") for source in SOURCES]
    knobs = [{"source": one, "deadline_ms": SOURCE_DEADLINE_S * 1000} for one in sources]
    return asking(overrides={"sources": knobs, "spend": profile_pb2.SPEND_FULL})


async def asked(site: Site, owner: str = OWNER) -> tuple[pb.Assembly, pb.Receipt]:
    """Return a turn of the owner's, and its receipt."""
    agent = site.caller("acme", owner)
    assembly = await assembled(agent, patiently(), timeout=120)
    return assembly, await explained(agent, assembly.receipt_id)


def found(assembly: pb.Assembly, name: str) -> items_pb2.Item:
    """Return the item that a backend brought."""
    source, text, (kind, ref) = ITEMS[name]
    (item,) = [
        one
        for one in assembly.items
        if one.source == items_pb2.Source.Value(f"SOURCE_{source}")
        and one.text == text
        and any(came.kind == kind and came.ref.endswith(ref) for came in one.provenance)
    ]
    return item


async def test_every_backend_contributes_to_one_turn_and_nothing_is_missing(backed: Site, well: StandIns) -> None:
    assembly, receipt = await asked(backed)
    told = statuses(assembly)
    assert {source.name: told[source.name] for source in SOURCES} == {source.name: "OK" for source in SOURCES}
    assert not assembly.degraded
    assert not receipt.degraded
    decided = {one.item_id for one in receipt.decisions}
    for name in ITEMS:
        item = found(assembly, name)
        assert item.text in "".join(block.text for block in assembly.system_blocks)
        assert item.id in decided
    assert CANARY not in f"{assembly}{receipt}"


async def test_remote_memories_are_dated_in_the_users_time_zone(backed: Site, well: StandIns) -> None:
    request = patiently()
    request.time_zone = "America/Los_Angeles"
    assembly = await assembled(backed.caller("acme", OWNER), request, timeout=120)
    context = "".join(block.text for block in assembly.system_blocks)
    assert "Remembered, 2026-04-30" in context, "where it was not May yet"
    assert "Remembered, 2026-05-01" not in context


async def test_thread_is_the_sessions_events_in_order_with_tool_calls_beside_results(
    backed: Site, well: StandIns
) -> None:
    assembly, _ = await asked(backed)
    assert [message.text for message in assembly.messages] == ["Is the tide low?", "", "", "It is low."]
    call, result = assembly.messages[1].parts[0].tool_call, assembly.messages[2].parts[0].tool_result
    assert (call.id, call.name, result.call_id, result.content) == ("t1", "tide", "t1", "low")


async def test_turn_keeps_the_rerankers_order(backed: Site, well: StandIns) -> None:
    assembly, _ = await asked(backed)
    assert found(assembly, "yard").rank < found(assembly, "handbook").rank
    forwards = [{"index": place, "relevanceScore": 0.9 - place / 10} for place in (0, 1)]
    well.aws.script("Rerank", Reply({"results": forwards}))
    assembly, _ = await asked(backed)
    assert found(assembly, "handbook").rank < found(assembly, "yard").rank
    well.aws.script("Rerank", DENIED)
    assembly, _ = await asked(backed)
    first, second = sorted((found(assembly, name) for name in ("handbook", "yard")), key=lambda one: one.rank)
    assert first.score >= second.score
    assert "order: The service refuses our credentials" in report(assembly, items_pb2.SOURCE_KNOWLEDGE).reason
    assert not assembly.degraded


BROKEN = {
    "handbook": ("Retrieve", ""),
    "yard": ("Retrieve", "YARDXXXXXX"),
    "sessions": ("RetrieveMemoryRecords", ""),
}


@pytest.mark.parametrize("name", ["handbook", "yard", "sessions", "memories", "files"])
async def test_failing_backend_is_named_degrades_the_turn_and_hides_no_other(
    backed: Site, well: StandIns, name: str
) -> None:
    if name in BROKEN:
        operation, to = BROKEN[name]
        well.aws.script(operation, DENIED, to=to)
    well.hindsight.refusals = [Refusal(403, CANARY.encode())] * 9 if name == "memories" else []
    well.s3.refusals = [(403, "AccessDenied")] * 9 if name == "files" else []
    assembly, receipt = await asked(backed)
    source = items_pb2.Source.Value(f"SOURCE_{ITEMS[name][0]}")
    told = report(assembly, source)
    assert told.status == items_pb2.SOURCE_STATUS_OK
    assert f"{name}: The service refuses our credentials" in told.reason
    assert (assembly.degraded, receipt.degraded) == (True, True)
    rows: Any = receipt.details["sources"]
    (row,) = [one for one in rows if one["source"] == ITEMS[name][0].lower()]
    assert row["is_partial"]
    assert told.reason == row["reason"]
    for other in ITEMS.keys() - {name}:
        assert found(assembly, other).text
    assert CANARY not in f"{assembly}{receipt}"
    admin = backed.caller(admin=True)
    (account,) = (await admin.ListTurnCosts(cost_pb2.ListTurnCostsRequest(owner_id=OWNER, page_size=1))).turns
    assert (account.degraded, list(account.failed_sources)) == (True, [ITEMS[name][0].lower()])


FAULTS = [
    (DENIED, "ERROR"),
    (Fault("ExpiredTokenException", 403, CANARY), "ERROR"),
    (Fault("ResourceNotFoundException", 404), "ERROR"),
    (Fault("ThrottledException", 429, retry_after="600"), "SHED"),
    (Fault("ServiceQuotaExceededException", 402), "SHED"),
    (Fault("GatewayTimeout", 504), "TIMEOUT"),
]


@pytest.mark.parametrize(("fault", "status"), FAULTS, ids=[fault.code for fault, _ in FAULTS])
async def test_source_with_one_backend_has_that_backends_status(
    backed: Site, well: StandIns, fault: Fault, status: str
) -> None:
    well.aws.script("ListEvents", fault)
    request = patiently()
    next(one for one in request.overrides.sources if one.source == items_pb2.SOURCE_THREAD).required = False
    agent = backed.caller("acme", OWNER)
    assembly = await assembled(agent, request, timeout=120)
    receipt = await explained(agent, assembly.receipt_id)
    assert statuses(assembly)["THREAD"] == status
    assert "the conversation is missing: events: " in report(assembly, items_pb2.SOURCE_THREAD).reason
    assert assembly.degraded
    assert assembly.conversation_missing
    assert not assembly.messages
    assert CANARY not in f"{assembly}{receipt}"


async def test_unrequested_data_of_a_service_reaches_no_turn(backed: Site, well: StandIns) -> None:
    strangers = record("The stranger's boat winters in secret.", "/strategies/semantic-1/actors/user-4712")
    well.aws.script("RetrieveMemoryRecords", Reply({"memoryRecordSummaries": [strangers]}))
    well.aws.script("ListEvents", Reply({"events": [EVENTS[1] | {"actorId": "user-4712"}, EVENTS[2]]}))
    well.s3.objects[("acme-agents", "workspaces/rival/shared/secret.md")] = b"Where the boat winters is secret."
    well.s3.ignores_prefix = True
    assembly, _ = await asked(backed)
    well.s3.ignores_prefix = False
    assert [message.text for message in assembly.messages] == ["It is low."]
    assert found(assembly, "files").text
    assert "secret" not in str(assembly)


async def test_another_owner_is_requested_by_its_own_name_everywhere(backed: Site, well: StandIns) -> None:
    well.hindsight.seen.clear()
    well.aws.seen.clear()
    assembly, _ = await asked(backed, "bea")
    (recall,) = well.aws.calls("RetrieveMemoryRecords")
    (events,) = well.aws.calls("ListEvents")
    said = f"{recall.parameters}{events.parameters}{[seen[1] for seen in well.hindsight.seen]}"
    assert ACTOR not in said
    assert BANK not in said
    assert not any(item.text in {ITEMS["sessions"][1], ITEMS["memories"][1]} for item in assembly.items)


async def test_another_tenant_reaches_no_backend(backed: Site, well: StandIns) -> None:
    rival = await fill(backed, tenant="rival", owner=OWNER)
    calls = well.calls
    assembly = await assembled(rival, patiently(), timeout=120)
    assert well.calls == calls
    assert statuses(assembly)["TOOLS"] == "SKIPPED"
    assert not any(item.text == text for item in assembly.items for _, text, _ in ITEMS.values())
