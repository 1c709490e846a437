"""What memory services are told to forget: by the calls of their APIs, and what each of them leaves."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from sidecar.backends.agentcore import AgentCoreMemory, MemoryLocation
from sidecar.backends.aws import Clients, Where
from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.errors import BackendDenied, BackendMissing, BackendUnavailable
from sidecar.backends.hindsight import Banks, Hindsight
from sidecar.services.forgetting.agentcore_forgetting import AgentCoreForgetting
from sidecar.services.forgetting.hindsight_forgetting import HindsightForgetting
from sidecar.services.forgetting.targets import RemoteState, RemoteTarget
from tests.stand_ins import hindsight as stand_ins
from tests.stand_ins.aws import Aws, Fault, Reply
from tests.stand_ins.hindsight import FakeHindsight, Refusal

OWNER, OTHER = uuid4(), uuid4()
MEMORY = "acme_memory-ABCDEFGHIJ"
NOW = datetime(2026, 5, 1, tzinfo=UTC)
EVERYTHING = RemoteTarget("owner")


@pytest.fixture
def fake() -> Iterator[FakeHindsight]:
    with stand_ins.serving() as one:
        for owner in (OWNER, OTHER):
            told = [
                {"content": "Otto has a boat.", "document_id": "logbook"},
                {"content": "Otto sails.", "document_id": "logbook"},
            ]
            one.retain(str(owner), [*told, {"content": "Otto likes rum."}])
        yield one


@pytest.fixture
async def hindsight(fake: FakeHindsight) -> AsyncIterator[HindsightForgetting]:
    client = Hindsight("memories", Banks(fake.url), CallLimits(30.0))
    yield HindsightForgetting(client)
    await client.close()


def texts(fake: FakeHindsight, owner: UUID = OWNER) -> list[str]:
    return [unit["text"] for unit in fake.units.get(str(owner), [])]


async def test_hindsight_deletes_the_bank_of_a_forgotten_owner_alone(
    fake: FakeHindsight, hindsight: HindsightForgetting
) -> None:
    done = await hindsight.forget(OWNER, EVERYTHING)
    assert (done.state, done.count) == (RemoteState.DELETED, 3)
    assert str(OWNER) not in fake.units
    assert len(texts(fake, OTHER)) == 3
    assert (await hindsight.forget(OWNER, EVERYTHING)).state is RemoteState.NOTHING


@pytest.mark.parametrize("kind", ["document", "thread"])
async def test_hindsight_deletes_a_document_with_its_units(
    fake: FakeHindsight, hindsight: HindsightForgetting, kind: str
) -> None:
    done = await hindsight.forget(OWNER, RemoteTarget(kind, "logbook"))
    assert (done.state, done.count) == (RemoteState.DELETED, 2)
    assert texts(fake) == ["Otto likes rum."]
    assert (await hindsight.forget(OWNER, RemoteTarget(kind, "logbook"))).state is RemoteState.NOTHING
    assert (await hindsight.forget(uuid4(), RemoteTarget(kind, "logbook"))).state is RemoteState.NOTHING


@pytest.mark.parametrize("name", ["..", "."])
async def test_hindsight_document_named_by_dots_is_not_taken_for_the_bank(
    fake: FakeHindsight, hindsight: HindsightForgetting, name: str
) -> None:
    assert (await hindsight.forget(OWNER, RemoteTarget("document", name))).state is RemoteState.NOTHING
    assert len(texts(fake)) == 3
    fake.retain(str(OWNER), [{"content": "Otto swims.", "document_id": name}])
    done = await hindsight.forget(OWNER, RemoteTarget("document", name))
    assert (done.state, done.count) == (RemoteState.DELETED, 1)
    assert len(texts(fake)) == 3


async def test_single_unit_of_hindsight_is_withdrawn_and_the_outcome_says_so(
    fake: FakeHindsight, hindsight: HindsightForgetting
) -> None:
    named = next(unit["id"] for unit in fake.units[str(OWNER)] if unit["text"] == "Otto has a boat.")
    done = await hindsight.forget(OWNER, RemoteTarget("memory", named))
    assert (done.state, done.count) == (RemoteState.WITHDRAWN, 1)
    assert "keeps the text" in done.detail
    assert texts(fake) == ["Otto sails.", "Otto likes rum."]
    theirs = fake.units[str(OTHER)][0]["id"]
    assert (await hindsight.forget(OWNER, RemoteTarget("memory", theirs))).state is RemoteState.NOTHING
    assert len(texts(fake, OTHER)) == 3


async def test_hindsight_forgets_a_span_with_documents_that_lie_in_it_whole(
    fake: FakeHindsight, hindsight: HindsightForgetting
) -> None:
    for unit in fake.units[str(OWNER)]:
        unit["occurred_start"] = (NOW if unit["document_id"] else NOW - timedelta(days=9)).isoformat()
    done = await hindsight.forget(OWNER, RemoteTarget("span", since=NOW, until=NOW + timedelta(days=1)))
    assert (done.state, done.count) == (RemoteState.DELETED, 2)
    assert texts(fake) == ["Otto likes rum."]


async def test_observation_is_withdrawn_with_the_facts_it_was_drawn_from(
    fake: FakeHindsight, hindsight: HindsightForgetting
) -> None:
    [*_, fact] = fake.units[str(OWNER)]
    observation = {**fact, "id": "seen", "fact_type": "observation", "text": "Rum.", "source_memory_ids": [fact["id"]]}
    fake.units[str(OWNER)].append(observation)
    await hindsight.forget(OWNER, RemoteTarget("memory", "seen"))
    assert [unit["id"] for unit in fake.invalidated[str(OWNER)]] == [fact["id"]]


async def test_an_address_that_is_wrong_is_no_forgetting(fake: FakeHindsight, hindsight: HindsightForgetting) -> None:
    fake.refusals = [Refusal(404, b'{"detail": "Not Found"}')]
    with pytest.raises(BackendMissing):
        await hindsight.forget(OWNER, RemoteTarget("document", "logbook"))
    fake.refusals = [Refusal(403)]
    with pytest.raises(BackendDenied):
        await hindsight.forget(OWNER, EVERYTHING)


@pytest.fixture
def agentcore(aws: Aws) -> Iterator[AgentCoreForgetting]:
    clients = Clients()
    place = MemoryLocation(MEMORY, "/actors/{owner}", Where("eu-central-1", aws.url))
    memory = AgentCoreMemory("records", place, clients, CallLimits(30.0))
    yield AgentCoreForgetting(memory)
    memory.close()
    clients.close()


def record_id(number: int) -> str:
    return f"mem-{number:036d}"


def record(number: int, owner: UUID = OWNER, days: int = 0) -> dict[str, Any]:
    return {
        "memoryRecordId": record_id(number),
        "content": {"text": f"Fact {number}."},
        "memoryStrategyId": "semantic-1",
        "namespaces": [f"/actors/{owner}"],
        "createdAt": NOW + timedelta(days=days),
    }


def event(number: int, session: str = "harbour", days: int = 0) -> dict[str, Any]:
    return {
        "memoryId": MEMORY,
        "actorId": str(OWNER),
        "sessionId": session,
        "eventId": f"{number}#a{number}",
        "eventTimestamp": NOW + timedelta(days=days),
        "payload": [],
    }


def script(aws: Aws, *events: dict[str, Any]) -> None:
    records = [record(1), record(2, days=5), record(3, OTHER)]
    aws.script("ListMemoryRecords", Reply({"memoryRecordSummaries": records}))
    aws.script("BatchDeleteMemoryRecords", Reply({"successfulRecords": [], "failedRecords": []}))
    session = {"sessionId": "harbour", "actorId": str(OWNER), "createdAt": NOW}
    aws.script("ListSessions", Reply({"sessionSummaries": [session]}))
    aws.script("ListEvents", Reply({"events": list(events)}))
    aws.script("DeleteEvent", Reply({"eventId": "1#a1"}))


def deleted(aws: Aws) -> tuple[list[str], list[str]]:
    """Return the ids of the records and of the events whose deletion was asked for."""
    batches = aws.calls("BatchDeleteMemoryRecords")
    records = [one["memoryRecordId"] for call in batches for one in call.parameters["records"]]
    return records, [call.parameters["eventId"] for call in aws.calls("DeleteEvent")]


async def test_agentcore_deletes_the_records_and_events_of_a_forgotten_owner_alone(
    aws: Aws, agentcore: AgentCoreForgetting
) -> None:
    script(aws, event(1), event(2, "another"))
    done = await agentcore.forget(OWNER, EVERYTHING)
    assert (done.state, done.count) == (RemoteState.DELETED, 3)
    assert deleted(aws) == ([record_id(1), record_id(2)], ["1#a1"])


async def test_agentcore_deletes_a_record_by_id_only_in_the_owners_namespace(
    aws: Aws, agentcore: AgentCoreForgetting
) -> None:
    script(aws)
    assert (await agentcore.forget(OWNER, RemoteTarget("memory", record_id(3)))).state is RemoteState.NOTHING
    assert deleted(aws) == ([], [])
    assert (await agentcore.forget(OWNER, RemoteTarget("memory", record_id(2)))).count == 1
    assert deleted(aws) == ([record_id(2)], [])


async def test_agentcore_deletes_the_events_of_a_thread_and_says_that_its_records_stay(
    aws: Aws, agentcore: AgentCoreForgetting
) -> None:
    script(aws, event(1), event(2))
    done = await agentcore.forget(OWNER, RemoteTarget("thread", "harbour"))
    assert (done.state, done.count) == (RemoteState.DELETED, 2)
    assert "records drawn from these events stay" in done.detail
    assert deleted(aws) == ([], ["1#a1", "2#a2"])
    assert (await agentcore.forget(OWNER, RemoteTarget("thread", "no session!"))).state is RemoteState.NOTHING


async def test_agentcore_deletes_the_records_in_a_span(aws: Aws, agentcore: AgentCoreForgetting) -> None:
    script(aws, event(1), event(2, days=5))
    span = RemoteTarget("span", since=NOW + timedelta(days=5), until=NOW + timedelta(days=6))
    assert (await agentcore.forget(OWNER, span)).count == 2
    assert deleted(aws) == ([record_id(2)], ["2#a2"])


async def test_agentcore_has_no_documents(aws: Aws, agentcore: AgentCoreForgetting) -> None:
    assert (await agentcore.forget(OWNER, RemoteTarget("document", "logbook"))).state is RemoteState.NOTHING


async def test_records_that_agentcore_does_not_delete_are_a_failure(aws: Aws, agentcore: AgentCoreForgetting) -> None:
    script(aws)
    failed = {"memoryRecordId": record_id(1), "status": "FAILED", "errorCode": 500, "errorMessage": "no"}
    aws.script("BatchDeleteMemoryRecords", Reply({"successfulRecords": [], "failedRecords": [failed]}))
    with pytest.raises(BackendUnavailable):
        await agentcore.forget(OWNER, EVERYTHING)
    aws.script("ListMemoryRecords", Fault("AccessDeniedException", 403))
    with pytest.raises(BackendDenied):
        await agentcore.forget(OWNER, EVERYTHING)
