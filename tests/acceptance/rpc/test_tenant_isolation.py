"""No call of one tenant or owner reads, counts, explains, replays or changes anything of another's.

Every method of every service is called by three strangers (another tenant's agent, another tenant's admin, another owner's
agent of the same tenant) with the victim's ids in every field that could hold one. What comes back must not hold a word of
the victim's, and must equal what comes back when the ids stand for nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

import sidecar.v1
from sidecar.v1 import (
    admin_pb2,
    backends_pb2,
    context_pb2,
    cost_pb2,
    decay_pb2,
    items_pb2,
    knowledge_pb2,
    memory_pb2,
    ontology_pb2,
    profile_pb2,
)
from store.scope import owner_uuid, tenant_uuid
from tests.acceptance.rpc import test_wiki_isolation
from tests.support.served.site import Caller, Site

CANARY = "Zwitscherklang"
FILES = (
    context_pb2,
    memory_pb2,
    decay_pb2,
    knowledge_pb2,
    profile_pb2,
    admin_pb2,
    cost_pb2,
    backends_pb2,
    ontology_pb2,
)
METHODS = tuple(
    method for file in FILES for service in file.DESCRIPTOR.services_by_name.values() for method in service.methods
)


@pytest.fixture
async def victims_ids(site: Site) -> dict[str, str]:
    """Fill the victim's tenant, each text with the canary in it, and return the ids that came of it."""
    admin, agent = site.caller("acme", admin=True), site.caller("acme", "mara")
    turns = [
        context_pb2.NewTurn(client_turn_id=f"{CANARY}-{n}", role=role, text=f"The {CANARY} gate code is 4417.")
        for n, role in enumerate(("user", "assistant"))
    ]
    appended = await agent.AppendTurns(
        context_pb2.AppendTurnsRequest(thread_id="trip", turns=turns, title=f"{CANARY} trip")
    )
    memory = memory_pb2.NewMemory(memory_id="memory-1", text=f"Mara calls the bird {CANARY}.")
    await agent.Retain(memory_pb2.RetainRequest(memories=[memory]))
    await admin.CreateBase(knowledge_pb2.CreateBaseRequest(name="handbook", description=CANARY))
    content = f"# {CANARY}\n\nThe {CANARY} handbook.".encode()
    ingested = await admin.Ingest(knowledge_pb2.IngestRequest(base="handbook", path="a.md", content=content))
    template = knowledge_pb2.ASSIGNEE_LEVEL_TEMPLATE
    await admin.AssignBase(knowledge_pb2.AssignBaseRequest(base="handbook", level=template, ref="default"))
    ask = context_pb2.AssembleContextRequest(
        thread_id="trip", message=f"What is {CANARY}?", model_id="gpt-4o", request_id="r-1"
    )
    answer = (await agent.AssembleContext(ask)).assembly
    assert CANARY in str(answer), "the victim itself sees its things"
    await admin.PutBudget(cost_pb2.PutBudgetRequest(budget=_budget(1.0, CANARY)))
    return {
        "thread_id": "trip",
        "memory_id": "memory-1",
        "base": "handbook",
        "name": "handbook",
        "path": "a.md",
        "document_id": ingested.document.document_id,
        "receipt_id": answer.receipt_id,
        "before_receipt_id": answer.receipt_id,
        "after_receipt_id": answer.receipt_id,
        "turn_id": appended.turn_ids[0],
        "request_id": "r-1",
        "agent_id": "assistant",
        "space_id": "",
        "ref": "default",
    }


def _budget(limit_usd: float, agent_id: str) -> cost_pb2.CostBudget:
    covers, period = cost_pb2.BUDGET_COVER_AGENT, cost_pb2.BUDGET_PERIOD_DAY
    return cost_pb2.CostBudget(name="handbook", covers=covers, ref=agent_id, period=period, limit_usd=limit_usd)


def _filled(method: MethodDescriptor, ids: dict[str, str], scope: dict[str, str]) -> Message:
    """Return the method's request with the ids in the fields of their names and plausible values elsewhere."""
    request = GetMessageClass(method.input_type)()
    for field in method.input_type.fields:
        if field.name in scope or field.name in ids:
            setattr(request, field.name, scope.get(field.name, ids.get(field.name, "")))
        elif field.type == FieldDescriptor.TYPE_ENUM and not field.is_repeated:
            setattr(request, field.name, 1)
    _say_something(request)
    return request


def _requests(method: MethodDescriptor, ids: dict[str, str]) -> Iterator[tuple[dict[str, str], Message]]:
    """Yield the method's requests for every scope, each of several that are the same once: few name a tenant and an owner."""
    seen = set()
    for scope in _scopes():
        request = _filled(method, ids, scope)
        if (written := request.SerializeToString(deterministic=True)) not in seen:
            seen.add(written)
            yield scope, request


def _say_something(request: Message) -> None:
    """Give a request that writes or asks something the words for it."""
    match request:
        case context_pb2.AssembleContextRequest():
            request.message, request.model_id = f"What is {CANARY[:4]}?", "gpt-4o"
        case context_pb2.AppendTurnsRequest():
            request.turns.add(client_turn_id="s", role="user", text="hello")
        case memory_pb2.RetainRequest():
            request.memories.add(memory_id="memory-1", text="overwritten by a stranger")
        case knowledge_pb2.IngestRequest():
            request.content = b"overwritten by a stranger"
        case profile_pb2.SetProfileRequest():
            request.profile.sources.add(source=items_pb2.SOURCE_MEMORY, enabled=False)
        case profile_pb2.RollbackProfileRequest():
            request.version = 1
        case cost_pb2.PutBudgetRequest():
            request.budget.CopyFrom(_budget(9.0, "overwritten by a stranger"))


def _scopes() -> Iterator[dict[str, str]]:
    tenants = ("", "acme", str(tenant_uuid("acme")))
    owners = ("", "mara", str(owner_uuid("mara")))
    for tenant, owner in itertools.product(tenants, owners):
        yield {"tenant_id": tenant, "owner_id": owner}


async def _outcome(caller: Caller, method: MethodDescriptor, request: Message) -> tuple[grpc.StatusCode, str]:
    try:
        response: Any = await getattr(caller, method.name)(request)
    except grpc.aio.AioRpcError as error:
        trailing = error.trailing_metadata() or ()
        return error.code(), f"{error.details()} {list(trailing)}"
    return grpc.StatusCode.OK, str(response)


STRANGERS: dict[str, dict[str, Any]] = {
    "another tenant's agent": {"tenant": "evil", "owner": "mara"},
    "another tenant's admin": {"tenant": "evil", "admin": True},
    "another owner of the tenant": {"tenant": "acme", "owner": "eve"},
}


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_no_call_returns_anything_to_another_tenant_or_owner(
    site: Site, victims_ids: dict[str, str], stranger: str
) -> None:
    caller = site.caller(**STRANGERS[stranger])
    named = "owner_id" if STRANGERS[stranger]["tenant"] == "acme" else "tenant_id"
    for method in METHODS:
        for scope, request in _requests(method, victims_ids):
            code, said = await _outcome(caller, method, request)
            if named == "tenant_id" or method.name not in _TENANT_WIDE:
                assert CANARY not in said, f"{method.full_name} {scope} told {stranger}: {said}"
            if scope[named] and named in method.input_type.fields_by_name:
                assert code is not grpc.StatusCode.OK, f"{method.full_name} {scope} let {stranger} act"
    await _check_untouched(site, victims_ids)


_TENANT_WIDE = {"ListBases", "ListDocuments", "AssembleContext"}  # knowledge is the tenant's, not an owner's


async def _check_untouched(site: Site, ids: dict[str, str]) -> None:
    """Check that the victim finds everything as it was."""
    agent, admin = site.caller("acme", "mara"), site.caller("acme", admin=True)
    memories = await agent.ListMemories(memory_pb2.ListMemoriesRequest())
    assert [CANARY in memory.text for memory in memories.memories] == [True]
    turns = await agent.ListTurns(context_pb2.ListTurnsRequest(thread_id="trip"))
    assert [CANARY in turn.text for turn in turns.turns] == [True, True]
    documents = await admin.ListDocuments(knowledge_pb2.ListDocumentsRequest(base="handbook"))
    assert [document.document_id for document in documents.documents] == [ids["document_id"]]
    receipt = await agent.ExplainAssembly(context_pb2.ExplainAssemblyRequest(receipt_id=ids["receipt_id"]))
    assert not receipt.receipt.HasField("usage")
    profile = await admin.GetProfile(profile_pb2.GetProfileRequest(agent_id="assistant"))
    assert all(knobs.enabled for knobs in profile.profile.sources)
    budgets = await admin.ListBudgets(cost_pb2.ListBudgetsRequest())
    assert [(budget.ref, budget.limit_usd) for budget in budgets.budgets] == [(CANARY, 1.0)]
    spent = await agent.ListTurnCosts(cost_pb2.ListTurnCostsRequest())
    assert [turn.receipt_id for turn in spent.turns] == [ids["receipt_id"]]


async def test_call_without_a_token_is_refused_by_every_method(site: Site) -> None:
    nobody = Caller(site.channel, ())
    for method in METHODS:
        code, _ = await _outcome(nobody, method, GetMessageClass(method.input_type)())
        assert code is grpc.StatusCode.UNAUTHENTICATED, method.full_name


def test_every_service_of_the_contract_is_covered() -> None:
    modules = [import_module(f"sidecar.v1.{found.name}") for found in iter_modules(sidecar.v1.__path__)]
    declared = {
        method.full_name
        for module in modules
        if "DESCRIPTOR" in vars(module)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    assert declared == {method.full_name for method in (*METHODS, *test_wiki_isolation.METHODS)}
