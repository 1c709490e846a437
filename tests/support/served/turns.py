"""A small world for turns: a boat that winters somewhere, told in a thread, a document, two memories and a page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import asyncpg
import grpc
import pytest
from google.protobuf.json_format import MessageToDict
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure
from grpc_status import rpc_status

from models.tokens.meters import Meter, meter_for
from sidecar.turn.fitting.history import MESSAGE_TOKENS, message_text
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2, knowledge_pb2, memory_pb2, profile_pb2
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection
from tests.support.served.site import Caller, Site
from tests.support.waiting import until, until_equal

THREAD, QUESTION, MODEL = "harbour", "Where does the boat winter?", "gpt-4o"
ACTIVE = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
SOURCE_DEADLINE_S = 25
WAITING = f"{ACTIVE} AND wait_event_type = 'Lock'"
LOCAL = (items_pb2.SOURCE_THREAD, items_pb2.SOURCE_KNOWLEDGE, items_pb2.SOURCE_MEMORY, items_pb2.SOURCE_WIKI)
BOAT = "The boat Calypso winters in the old dock."
HANDBOOK = b"# Boats\n\n## Winter\n\nA boat that winters ashore stands on blocks from November.\n"
PAGE = NewPage(
    type="entity",
    slug="calypso",
    title="Calypso",
    summary="The family's boat, a wooden sloop.",
    sections=(NewSection("winter", "Winter", "The boat spends the winter under a green cover.", ("boat-paint",)),),
    aliases=("the boat",),
)
EXCHANGES = (
    ("Our boat leaked all winter.", "Then have the boat caulked."),
    *((f"Remind me of errand {number}.", f"Errand {number} is to buy rope.") for number in range(12)),
    ("Is the cover paid?", "It was paid in March."),
)


async def fill(site: Site, *, tenant: str = "", owner: str = "mara") -> Caller:
    """Store the world for one owner, and return a caller that acts for it."""
    agent, admin = site.caller(tenant, owner), site.caller(tenant, admin=True)
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id=THREAD, turns=said(*EXCHANGES)))
    memories = [
        memory_pb2.NewMemory(memory_id="boat-dock", text=BOAT),
        memory_pb2.NewMemory(memory_id="boat-paint", text="Mara paints the boat before each winter."),
    ]
    await agent.Retain(memory_pb2.RetainRequest(memories=memories))
    await admin.CreateBase(knowledge_pb2.CreateBaseRequest(name="handbook"))
    await admin.Ingest(knowledge_pb2.IngestRequest(base="handbook", path="boats.md", content=HANDBOOK))
    template = knowledge_pb2.ASSIGNEE_LEVEL_TEMPLATE
    await admin.AssignBase(knowledge_pb2.AssignBaseRequest(base="handbook", level=template, ref="default"))
    await put_page(site, PAGE, tenant=tenant, owner=owner)
    return agent


async def put_page(site: Site, page: NewPage, *, tenant: str = "", owner: str = "mara") -> None:
    """Write a wiki page, which no call does yet."""
    scope = Scope(tenant_uuid(tenant or site.tenant), owner_uuid(owner))
    async with scoped(site.app.pools.background, scope) as connection:
        await pages.put_page(connection, scope, page, now=datetime(2026, 5, 1, tzinfo=UTC))


def said(*exchanges: tuple[str, str], start: int = 0) -> list[pb.NewTurn]:
    """Return exchanges as turns with ids u0, a0, u1, a1 and so on."""
    return [
        pb.NewTurn(client_turn_id=f"{role[0]}{number}", role=role, text=text)
        for number, exchange in enumerate(exchanges, start)
        for role, text in zip(("user", "assistant"), exchange, strict=True)
    ]


def asking(message: str = QUESTION, **fields: Any) -> pb.AssembleContextRequest:
    """Return the question, in the thread unless another is named.

    A source that the overrides give no deadline gets one that even a busy machine keeps.
    """
    request = asking_in_haste(message, **fields)
    named = {knobs.source: knobs for knobs in request.overrides.sources}
    for number in LOCAL:
        own = named.get(number) or request.overrides.sources.add(source=number)
        if not own.HasField("deadline_ms"):
            own.deadline_ms = SOURCE_DEADLINE_S * 1000
    return request


def asking_in_haste(message: str = QUESTION, **fields: Any) -> pb.AssembleContextRequest:
    """Return the question under the profile's own deadlines."""
    return pb.AssembleContextRequest(**{"thread_id": THREAD, "message": message, "model_id": MODEL} | fields)


async def assembled(caller: Caller, request: pb.AssembleContextRequest | None = None, **call: Any) -> pb.Assembly:
    """Return what an agent gets for the question."""
    response = await caller.AssembleContext(request or asking(), **call)
    assert isinstance(response, pb.AssembleContextResponse)
    return response.assembly


def knobs(source: items_pb2.Source.ValueType, **values: Any) -> profile_pb2.Profile:
    """Return a profile that sets one source's knobs."""
    return profile_pb2.Profile(sources=[profile_pb2.SourceKnobs(source=source, **values)])


def report(assembly: pb.Assembly, source: items_pb2.Source.ValueType) -> items_pb2.SourceReport:
    """Return a source's account."""
    return next(one for one in assembly.sources if one.source == source)


def statuses(assembly: pb.Assembly) -> dict[str, str]:
    """Return each source's status, both by their short names."""
    return {
        items_pb2.Source.Name(one.source).removeprefix("SOURCE_"): items_pb2.SourceStatus.Name(one.status).removeprefix(
            "SOURCE_STATUS_"
        )
        for one in assembly.sources
    }


def recount(assembly: pb.Assembly, meter: Meter | None = None) -> int:
    """Return the tokens of what the assembly would send, counted anew on the returned texts."""
    meter = meter or meter_for(MODEL)
    blocks = meter.count([block.text for block in assembly.system_blocks])
    messages = meter.count([message_text(message.text, plain_parts(message.parts)) for message in assembly.messages])
    return sum(blocks) + sum(messages) + MESSAGE_TOKENS * len(messages)


def plain_parts(parts: Iterable[items_pb2.MessagePart]) -> list[dict[str, Any]]:
    """Return tool calls and results as they are stored and counted."""
    return [
        {
            "type": "tool_call",
            "id": part.tool_call.id,
            "name": part.tool_call.name,
            "arguments": MessageToDict(part.tool_call.arguments),
        }
        if part.HasField("tool_call")
        else {"type": "tool_result", "id": part.tool_result.call_id, "content": part.tool_result.content}
        for part in parts
    ]


async def as_superuser(site: Site, statement: str, *arguments: object) -> Any:
    """Run a statement past every row policy and return its first value."""
    connection = await asyncpg.connect(site.settings.database_url)
    try:
        return await connection.fetchval(statement, *arguments)
    finally:
        await connection.close()


async def explained(caller: Caller, receipt_id: str) -> pb.Receipt:
    """Return the receipt of an assembly."""
    response = await caller.ExplainAssembly(pb.ExplainAssemblyRequest(receipt_id=receipt_id))
    assert isinstance(response, pb.ExplainAssemblyResponse)
    return response.receipt


async def refusal(call: Awaitable[Any]) -> tuple[grpc.StatusCode, str, str]:
    """Return how the call was refused: its status, its reason, and the field or subject that it names."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return (caught.value.code(), *detailed(caught.value))


def detailed(error: grpc.aio.AioRpcError) -> tuple[str, str]:
    """Return what a refusal's details say: the reason, and the field or subject."""
    status = rpc_status.from_call(error)
    assert status is not None, f"every refusal carries its details: {error!r}"
    reason, named = "", ""
    for detail in status.details:
        if detail.Is(ErrorInfo.DESCRIPTOR):
            info = ErrorInfo()
            detail.Unpack(info)
            reason = info.reason
        elif detail.Is(BadRequest.DESCRIPTOR):
            bad = BadRequest()
            detail.Unpack(bad)
            named = bad.field_violations[0].field
        elif detail.Is(PreconditionFailure.DESCRIPTOR):
            failed = PreconditionFailure()
            detail.Unpack(failed)
            named = failed.violations[0].subject
    return reason, named


@asynccontextmanager
async def locked(site: Site, table: str) -> AsyncIterator[None]:
    """Lock a table, so that every read and write of it waits."""
    locker = await asyncpg.connect(site.settings.database_url)
    try:
        async with locker.transaction():
            await locker.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
            yield
    finally:
        await locker.close()


async def until_count(site: Site, counting: str, wanted: int) -> None:
    """Wait until a query returns the number, for less time than a query may run uncancelled."""
    await until_equal(lambda: as_superuser(site, counting), wanted, SOURCE_DEADLINE_S)


async def until_as_few_tasks_as(count: int) -> None:
    """Wait until no more tasks run than then."""
    await until(lambda: len(asyncio.all_tasks()) <= count)  # a task's end sends no event
