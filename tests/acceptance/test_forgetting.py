"""A forgotten memory is gone for good: nothing that a caller may read, and no text kept for replay, holds its words."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from sidecar.v1 import compile_pb2, context_pb2, memory_pb2, wiki_pb2
from tests.acceptance.conftest import Site
from tests.acceptance.turns import explained
from tests.acceptance.wiki_site import WikiCaller, streamed, worked

SECRET = "Zwitscherklang"
LOLA = {"place": {"name": "Casa Lola", "city": "Austin"}}
TEXTS = {
    "secret": f"Casa Lola in Austin was where {SECRET} sang. {SECRET} came back in May.",
    "kept-0": "Casa Lola in Austin was lovely on a Friday.",
    "kept-1": "Went back to Casa Lola in Austin for the empanadas.",
}


@pytest.fixture
async def agent(site: Site) -> WikiCaller:
    """Write the memories, compile them, and put them before a turn whose receipt is kept."""
    agent = WikiCaller(site, "acme", "mara")
    memories = [memory_pb2.NewMemory(memory_id=memory_id, text=text) for memory_id, text in TEXTS.items()]
    for memory in memories:
        memory.metadata.update(LOLA)
    await agent.Retain(memory_pb2.RetainRequest(memories=memories))
    await compiled(site)
    asking = context_pb2.AssembleContextRequest(message="What about Casa Lola in Austin?", model_id="gpt-4o")
    caller = site.caller()
    assembly = (await caller.AssembleContext(asking)).assembly
    await explained(caller, assembly.receipt_id)
    assert SECRET in str(assembly)
    assert SECRET in str(await readable(agent)), "before it is forgotten, the owner reads it"
    return agent


async def compiled(site: Site) -> None:
    """Compile what is new or forgotten."""
    await WikiCaller(site, "acme", admin=True).CompileNow(compile_pb2.CompileNowRequest(owner_id="mara"))
    await worked(site)


async def readable(agent: WikiCaller) -> list[Any]:
    """Return everything of the owner's wiki that a caller may read."""
    pages = [
        page
        for status in (wiki_pb2.PAGE_STATUS_ACTIVE, wiki_pb2.PAGE_STATUS_ARCHIVED)
        for page in (await agent.ListPages(wiki_pb2.ListPagesRequest(status=status))).pages
    ]
    return [
        *[await agent.GetPage(wiki_pb2.GetPageRequest(page=one.page_id, with_source_texts=True)) for one in pages],
        await agent.SearchPages(wiki_pb2.SearchPagesRequest(query="Casa Lola Austin")),
        await agent.ListMentions(wiki_pb2.ListMentionsRequest()),
        await agent.ListMemories(memory_pb2.ListMemoriesRequest()),
        await streamed(agent.ExportVault(compile_pb2.ExportVaultRequest())),
    ]


async def kept_texts(database: str) -> list[str]:
    """Return the texts that are kept for replay, which a memory or a page brought."""
    connection = await asyncpg.connect(database)
    try:
        return [row["text"] for row in await connection.fetch("SELECT text FROM receipt_texts")]
    finally:
        await connection.close()


async def test_nothing_holds_the_words_of_a_forgotten_memory(site: Site, database: str, agent: WikiCaller) -> None:
    assert any(SECRET in text and text not in TEXTS.values() for text in await kept_texts(database)), (
        "a page's text is kept"
    )
    await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="secret"))
    assert SECRET not in str(await kept_texts(database))
    assert TEXTS["kept-0"] in await kept_texts(database)
    await compiled(site)
    assert SECRET not in str(await readable(agent))
