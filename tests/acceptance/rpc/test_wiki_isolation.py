"""No call about the wiki gives one tenant or owner anything of another's, or changes it.

Every method of both services, streams too, is called by strangers with the victim's ids in every field that could hold one.
What comes back must not hold a word of the victim's.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor, MethodDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from sidecar.v1 import brain_pb2, compile_pb2, memory_pb2, wiki_pb2
from store.scope import owner_uuid, tenant_uuid
from tests.support.served.site import Site
from tests.support.served.wiki_site import WikiCaller, streamed, worked

CANARY = "Zwitscherklang"
METHODS = tuple(
    method
    for file in (wiki_pb2, brain_pb2, compile_pb2)
    for service in file.DESCRIPTOR.services_by_name.values()
    for method in service.methods
)
MARA: dict[str, Any] = {"owner_id": "mara"}
STRANGERS: dict[str, dict[str, Any]] = {
    "another tenant's agent": {"tenant": "evil", "owner": "mara"},
    "another tenant's admin": {"tenant": "evil", "admin": True},
    "another owner of the tenant": {"tenant": "acme", "owner": "eve"},
}
READS = {
    "GetPage", "ListPages", "SearchPages", "Backlinks", "Children", "Graph", "PagesCitingMemory", "ListMentions",
    "GetJob", "ListJobs", "WatchJob", "LinkDensity", "ExportVault", "MeasureReads", "QueryGraph",
    "QueryBrainContext",
}  # fmt: skip


@pytest.fixture
async def victims_ids(site: Site) -> dict[str, str]:
    """Compile the victim's memories, each with the canary in it, and return the ids that came of it."""
    agent, admin = WikiCaller(site, "acme", "mara"), WikiCaller(site, "acme", admin=True)
    memories = []
    for n, text in enumerate(("sings in the garden every morning.", "was seen by the river again.", "left in May.")):
        memory = memory_pb2.NewMemory(memory_id=f"memory-{n}", text=f"The bird {CANARY} {text}")
        memory.metadata.update({"place": {"name": CANARY, "city": "Austin"}})
        memories.append(memory)
    await agent.Retain(memory_pb2.RetainRequest(memories=memories))
    asked = await admin.CompileNow(compile_pb2.CompileNowRequest(**MARA))
    await worked(site)
    page = await agent.GetPage(wiki_pb2.GetPageRequest(page=CANARY))
    assert CANARY in str(page), "the victim itself sees its things"
    return {
        "page": page.page.page_id,
        "focus": page.page.page_id,
        "query": CANARY,
        "memory_id": "memory-0",
        "mention_id": page.page.page_id,
        "section_slug": page.sections[0].slug,
        "alias": "overwritten by a stranger",
        "job_id": asked.job.job_id,
    }


def _filled(method: MethodDescriptor, ids: dict[str, str], scope: dict[str, str]) -> Message:
    request = GetMessageClass(method.input_type)()
    for field in method.input_type.fields:
        if field.name in scope or field.name in ids:
            setattr(request, field.name, scope.get(field.name, ids.get(field.name, "")))
        elif field.type == FieldDescriptor.TYPE_ENUM and not field.is_repeated:
            setattr(request, field.name, 1 if field.name != "origin" else 2)
        elif field.name == "mode":
            setattr(request, field.name, 2)
    if isinstance(request, wiki_pb2.QueryGraphRequest):
        request.steps.add()
    if isinstance(request, brain_pb2.QueryBrainContextRequest):
        request.detail_ids.append(f"owner:{ids['page']}")
    if isinstance(request, compile_pb2.BootstrapImportRequest):
        request.records.add(record_id="memory-0", text="overwritten by a stranger")
    return request


def _scopes() -> Iterator[dict[str, str]]:
    tenants = ("", "acme", str(tenant_uuid("acme")))
    owners = ("", "mara", str(owner_uuid("mara")))
    for tenant, owner in itertools.product(tenants, owners):
        yield {"tenant_id": tenant, "owner_id": owner}


async def _outcome(caller: WikiCaller, method: MethodDescriptor, request: Message) -> tuple[grpc.StatusCode, str]:
    try:
        call = getattr(caller, method.name)(request)
        response: Any = await (streamed(call) if method.server_streaming else call)
    except grpc.aio.AioRpcError as error:
        return error.code(), f"{error.details()} {list(error.trailing_metadata() or ())}"
    return grpc.StatusCode.OK, str(response)


async def test_no_wiki_call_returns_anything_to_another_tenant_or_owner(
    site: Site, victims_ids: dict[str, str]
) -> None:
    for name, stranger in STRANGERS.items():
        caller = WikiCaller(site, **stranger)
        named = "owner_id" if stranger["tenant"] == "acme" else "tenant_id"
        for method, scope in itertools.product(METHODS, _scopes()):
            code, said = await _outcome(caller, method, _filled(method, victims_ids, scope))
            assert CANARY not in said, f"{method.full_name} {scope} told {name}: {said}"
            if scope[named]:
                assert code is not grpc.StatusCode.OK, f"{method.full_name} {scope} let {name} act"
    agent = WikiCaller(site, "acme", "mara")
    page = await agent.GetPage(wiki_pb2.GetPageRequest(page=victims_ids["page"], with_source_texts=True))
    assert page.page.status == wiki_pb2.PAGE_STATUS_ACTIVE
    assert "stranger" not in str(page)
    assert all(source.is_current for section in page.sections for source in section.sources)


async def test_agent_reads_the_wiki_and_only_an_admin_acts(site: Site, victims_ids: dict[str, str]) -> None:
    agent = WikiCaller(site, "acme", "mara")
    for method in METHODS:
        code, said = await _outcome(agent, method, _filled(method, victims_ids, {}))
        if method.name == "ReportSentence":  # an agent may report, and then says which sentence
            assert code is grpc.StatusCode.INVALID_ARGUMENT, said
            continue
        is_read = method.name in READS
        assert (code is grpc.StatusCode.OK) == is_read, f"{method.name}: {code} {said}"
        assert is_read or code is grpc.StatusCode.PERMISSION_DENIED, f"{method.name}: {said}"


async def test_wiki_call_without_a_token_is_refused(site: Site) -> None:
    nobody = WikiCaller(site)
    nobody._metadata = ()  # type: ignore[assignment]
    for method in METHODS:
        code, _ = await _outcome(nobody, method, GetMessageClass(method.input_type)())
        assert code is grpc.StatusCode.UNAUTHENTICATED, method.full_name
