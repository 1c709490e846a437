"""The knowledge service on Postgres: bases, documents as people have them, assignments."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import pytest

from sidecar.ingest.chunking.chunk_reader import MAX_DOCUMENT_BYTES
from sidecar.ingest.errors import UnreadableDocument, UnsupportedFormat
from sidecar.rpc.knowledge import SERVICE, KnowledgeService
from sidecar.rpc.transport.call import Call, behaviours_of
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import AdminRequired, NotFound, ScopeForbidden
from sidecar.services.knowledge import Knowledge
from sidecar.v1 import knowledge_pb2 as pb
from store.content import documents
from store.content.recalling import RecallQuery
from store.db.postgres import Pools, tenant_scoped
from store.scope import tenant_uuid
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, now, refused, refused_field

GUIDE = b"""# Ferry guide

The ferry leaves at nine.

## Tickets

A ticket costs five euros. Children travel free.
"""


def count_words(texts: Sequence[str]) -> list[int]:
    """Count words, for want of a tokenizer."""
    return [len(text.split()) for text in texts]


@pytest.fixture
def service(pools: Pools) -> KnowledgeService:
    return KnowledgeService(Knowledge(pools, now=now, count=count_words))


@pytest.fixture
async def base(service: KnowledgeService) -> str:
    """The name of a base."""
    await service.create_base(pb.CreateBaseRequest(name="guides", description="How to"), an_admin())
    return "guides"


async def ingest(
    service: KnowledgeService, content: bytes, *, path: str = "a.md", base: str = "guides"
) -> pb.IngestResponse:
    return await service.ingest(pb.IngestRequest(base=base, path=path, content=content), an_admin())


async def found(pools: Pools, base: str, *words: str, tenant: str = "acme") -> list[documents.RecalledChunk]:
    tenant_id = tenant_uuid(tenant)
    async with tenant_scoped(pools.turn, tenant_id, read_only=True) as connection:
        stored = await documents.get_base(connection, tenant_id, base)
        bases = [stored.base_id] if stored else []
        told = await documents.recall(connection, tenant_id, bases, RecallQuery(words, 9))
    return [chunk for chunk, matched in zip(told.texts, told.matched, strict=True) if matched]


def test_knowledge_service_has_every_method_of_the_contract(service: KnowledgeService) -> None:
    assert set(behaviours_of(SERVICE, service)) == set(SERVICE.methods_by_name)


async def test_base_is_created_once(service: KnowledgeService, base: str) -> None:
    again = await service.create_base(pb.CreateBaseRequest(name=base, description="Else"), an_admin())
    assert again.base == pb.KnowledgeBase(name=base, description="How to", create_time=write_time(NOW))
    listed = await service.list_bases(pb.ListBasesRequest(), an_admin())
    assert list(listed.bases) == [again.base]


async def test_document_is_read_chunked_and_found(service: KnowledgeService, pools: Pools, base: str) -> None:
    answer = await ingest(service, GUIDE)
    assert answer.outcome == pb.INGEST_OUTCOME_CREATED
    stored = answer.document
    assert (stored.path, stored.title, stored.media_type) == ("a.md", "Ferry guide", "text/markdown")
    assert stored.content_sha256 == sha256(GUIDE).hexdigest()
    assert stored.chunk_count > 0
    chunk = (await found(pools, base, "children"))[0]
    assert "Children travel free." in chunk.text
    assert chunk.heading.startswith("Ferry guide")
    listed = await service.list_documents(pb.ListDocumentsRequest(base=base), an_admin())
    assert list(listed.documents) == [stored]


async def test_ingesting_again_depends_on_the_bytes_alone(service: KnowledgeService, pools: Pools, base: str) -> None:
    first = await ingest(service, GUIDE)
    again = await ingest(service, GUIDE)
    assert (again.outcome, again.document) == (pb.INGEST_OUTCOME_UNCHANGED, first.document)
    changed = await ingest(service, GUIDE.replace(b"nine", b"ten"))
    assert changed.outcome == pb.INGEST_OUTCOME_UPDATED
    assert changed.document.document_id == first.document.document_id
    assert await found(pools, base, "nine") == []
    assert len(await found(pools, base, "ten")) == 1


async def test_document_sent_concurrently_is_created_once(service: KnowledgeService, base: str) -> None:
    for number in range(40):
        path = f"{number}.md"
        answers = await asyncio.gather(*(ingest(service, GUIDE, path=path) for _ in range(6)))
        outcomes = sorted(answer.outcome for answer in answers)
        assert outcomes == [pb.INGEST_OUTCOME_CREATED, *[pb.INGEST_OUTCOME_UNCHANGED] * 5]
    listed = await service.list_documents(pb.ListDocumentsRequest(base=base), an_admin())
    assert len(listed.documents) == 40


async def test_concurrent_writes_and_a_deletion_of_a_document_all_succeed(service: KnowledgeService, base: str) -> None:
    deleting = pb.DeleteDocumentRequest(base=base, path="a.md")
    for number in range(40):
        contents = [GUIDE + f"\n{number} {copy}\n".encode() for copy in range(3)]
        writing = asyncio.gather(*(ingest(service, content) for content in contents))
        answers, _ = await asyncio.gather(writing, service.delete_document(deleting, an_admin()))
        assert {answer.document.path for answer in answers} == {"a.md"}


@pytest.mark.usefixtures("base")
async def test_unreadable_document_is_refused_by_name(service: KnowledgeService) -> None:
    for path, content, kind in (
        ("a.docx", b"PK", UnsupportedFormat),
        ("a.md", b"\x00\x01\x02\xff", UnreadableDocument),
        ("a.pdf", b"%PDF-1.7 broken", UnreadableDocument),
    ):
        error = await refused(ingest(service, content, path=path))
        assert isinstance(error, kind)
        assert path in str(error)
    assert await refused_field(ingest(service, b"x" * (MAX_DOCUMENT_BYTES + 1))) == "content"
    listed = await service.list_documents(pb.ListDocumentsRequest(base="guides"), an_admin())
    assert len(listed.documents) == 0


@pytest.mark.usefixtures("base")
async def test_empty_document_is_stored_without_chunks(service: KnowledgeService) -> None:
    answer = await ingest(service, b"")
    assert (answer.outcome, answer.document.chunk_count) == (pb.INGEST_OUTCOME_CREATED, 0)


async def test_a_deleted_document_is_gone(service: KnowledgeService, pools: Pools, base: str) -> None:
    await ingest(service, GUIDE)
    for _ in range(2):
        await service.delete_document(pb.DeleteDocumentRequest(base=base, path="a.md"), an_admin())
    assert await found(pools, base, "ferry") == []


async def test_assigned_base_is_searched_until_it_is_unassigned(
    service: KnowledgeService, pools: Pools, base: str
) -> None:
    async def asked() -> int:
        async with tenant_scoped(pools.turn, tenant_uuid("acme"), read_only=True) as connection:
            levels = {"template_id": "default", "agent_id": "planner", "space_id": "home"}
            return len(await documents.assigned_bases(connection, tenant_uuid("acme"), **levels))

    levels = (
        (pb.ASSIGNEE_LEVEL_TEMPLATE, "default"),
        (pb.ASSIGNEE_LEVEL_AGENT, "planner"),
        (pb.ASSIGNEE_LEVEL_SPACE, "home"),
    )
    for level, ref in levels:
        for _ in range(2):
            await service.assign_base(pb.AssignBaseRequest(base=base, level=level, ref=ref), an_admin())
        assert await asked() == 1
        for _ in range(2):
            await service.unassign_base(pb.UnassignBaseRequest(base=base, level=level, ref=ref), an_admin())
        assert await asked() == 0


async def test_pages_list_every_base_and_document_once(service: KnowledgeService, base: str) -> None:
    names = sorted({"b", "a", "C", "9", "_", base})
    for name in names:
        await service.create_base(pb.CreateBaseRequest(name=name), an_admin())
    paths = sorted(f"d{n}.md" for n in range(5))
    for path in paths:
        await ingest(service, b"x", path=path)

    async def all_bases() -> list[str]:
        listed, token = [], ""
        while True:
            page = await service.list_bases(pb.ListBasesRequest(page_size=2, page_token=token), an_admin())
            listed += [one.name for one in page.bases]
            token = page.next_page_token
            if not token:
                return listed

    async def all_documents() -> list[str]:
        listed, token = [], ""
        while True:
            request = pb.ListDocumentsRequest(base=base, page_size=2, page_token=token)
            page = await service.list_documents(request, an_admin())
            listed += [one.path for one in page.documents]
            token = page.next_page_token
            if not token:
                return listed

    assert sorted(await all_bases()) == names
    assert await all_documents() == paths
    page = await service.list_documents(pb.ListDocumentsRequest(base=base, page_size=1), an_admin())
    foreign = pb.ListDocumentsRequest(base="b", page_token=page.next_page_token)
    assert await refused_field(service.list_documents(foreign, an_admin())) == "page_token"


async def test_knowledge_is_changed_only_by_an_admin_of_the_tenant(service: KnowledgeService, base: str) -> None:
    for work in _every_change(service, an_agent(), base):
        assert isinstance(await refused(work), AdminRequired)
    for work in _every_change(service, an_admin("globex"), base, tenant_id="acme"):
        assert isinstance(await refused(work), ScopeForbidden)
    create_own, *change_theirs = _every_change(service, an_admin("globex"), base)
    await create_own
    for work in change_theirs:
        error = await refused(work)
        assert isinstance(error, NotFound)
        assert error.kind == "knowledge base"
    listed = await service.list_bases(pb.ListBasesRequest(), an_agent(tenant="initech"))
    assert len(listed.bases) == 0


async def test_unusable_knowledge_request_is_refused_by_field(service: KnowledgeService, base: str) -> None:
    admin = an_admin()
    for field, work in (
        ("name", service.create_base(pb.CreateBaseRequest(name="a b"), admin)),
        ("description", service.create_base(pb.CreateBaseRequest(name="a", description="\0"), admin)),
        ("base", ingest(service, b"x", base="")),
        ("path", ingest(service, b"x", path=" ")),
        ("path", ingest(service, b"x", path="a\n.md")),
        ("path", ingest(service, b"x", path="x" * 501)),
        ("level", service.assign_base(pb.AssignBaseRequest(base=base, ref="x"), admin)),
        ("ref", service.assign_base(pb.AssignBaseRequest(base=base, level=pb.ASSIGNEE_LEVEL_AGENT), admin)),
        ("page_size", service.list_bases(pb.ListBasesRequest(page_size=-1), admin)),
    ):
        assert await refused_field(work) == field


def _every_change(service: KnowledgeService, call: Call, base: str, **scope: str) -> list[Any]:
    assigned: dict[str, Any] = {"base": base, "level": pb.ASSIGNEE_LEVEL_AGENT, "ref": "planner", **scope}
    return [
        service.create_base(pb.CreateBaseRequest(name="new", **scope), call),
        service.ingest(pb.IngestRequest(base=base, path="a.md", content=b"x", **scope), call),
        service.delete_document(pb.DeleteDocumentRequest(base=base, path="a.md", **scope), call),
        service.assign_base(pb.AssignBaseRequest(**assigned), call),
        service.unassign_base(pb.UnassignBaseRequest(**assigned), call),
    ]
