"""A forgotten memory is gone for good: nothing that a caller may read, and no text kept for replay, holds its words."""

from __future__ import annotations

from typing import Any

import asyncpg
import pytest

from sidecar.v1 import compile_pb2, memory_pb2, wiki_pb2
from tests.support.served.site import Site
from tests.support.served.turns import asking, explained
from tests.support.served.wiki_site import WikiCaller, streamed, worked
from tests.support.store.held_words import holders

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
    question = asking("What about Casa Lola in Austin?", thread_id="")
    caller = site.caller()
    assembly = (await caller.AssembleContext(question, timeout=60)).assembly
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


async def test_no_answer_holds_the_words_of_a_forgotten_memory(site: Site, database: str, agent: WikiCaller) -> None:
    assert any(SECRET in text and text not in TEXTS.values() for text in await kept_texts(database)), (
        "a page's text is kept"
    )
    await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="secret"))
    assert SECRET not in str(await kept_texts(database))
    assert {TEXTS["kept-0"], TEXTS["kept-1"]} <= set(await kept_texts(database)), "what the others said is kept"
    await compiled(site)
    assert SECRET not in str(await readable(agent))


async def test_no_receipt_names_a_forgotten_person_on_the_way_to_a_page(site: Site, database: str) -> None:
    caller, ana = site.caller(), f"Ana {SECRET}mann"
    told = {
        "married": f"Bruno Dias is married to {ana}.",
        "couple": f"{ana} and Bruno Dias danced.",
        "works": f"{ana} works at Helios Labs.",
        "labs": "Helios Labs is located in Porto.",
        "roof": "Helios Labs has a new roof in Porto.",
        "baker": "Bruno Dias bakes bread.",
        "bread": "Bruno Dias sells bread.",
        "wine": "Porto has bridges and wine.",
    }
    memories = [memory_pb2.NewMemory(memory_id=name, text=text) for name, text in told.items()]
    await caller.Retain(memory_pb2.RetainRequest(memories=memories))
    await compiled(site)
    question = asking("In which city is the company that the wife of Bruno Dias works for?", thread_id="")
    assembly = (await caller.AssembleContext(question, timeout=60)).assembly
    labels = [ref.label for item in assembly.items for ref in item.provenance if ref.kind == "path"]
    assert f"Bruno Dias → married_to → {ana} → works_at → Helios Labs → located_in → Porto" in labels
    await explained(caller, assembly.receipt_id)
    for name in ("married", "couple", "works"):
        await caller.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id=name))
    assert SECRET not in str(await explained(caller, assembly.receipt_id))
    assert await holders(database, {"way": SECRET}) == {}
    assert told["wine"] in str(await kept_texts(database)), "the page at the end keeps its text"


# The word within a person's name, a place's, a city's, a tag and names that are held; the city has three places: it is a hub.
OTTO, HALL, TOWN = f"Otto {SECRET}mann", f"Haus {SECRET}hof", f"{SECRET}stadt"
EVERYWHERE: dict[str, tuple[str, dict[str, Any]]] = {
    **{f"name-{at}": (f"{OTTO} sang at the harbour on night {at}.", {"tags": [f"{SECRET}ig"]}) for at in range(3)},
    **{
        f"place-{number}-{at}": (
            f"{place} in {TOWN} had a long line at door {at}.",
            {"place": {"name": place, "city": TOWN}},
        )
        for number, place in enumerate(("Lime Yard", "Suerte", HALL))
        for at in range(2)
    },
    "held": (f"Somebody called Pim {SECRET}er rang once.", {}),
    "aside": (f"A certain Quill {SECRET}s was mentioned in passing.", {}),
    "beside": (f"Casa Lola in Austin is where {OTTO} eats.", LOLA),
}


async def test_forgotten_word_is_in_no_table(site: Site, database: str) -> None:
    agent, admin = WikiCaller(site, "acme", "mara"), WikiCaller(site, "acme", admin=True)
    told = {**EVERYWHERE, **{name: (text, LOLA) for name, text in TEXTS.items() if SECRET not in text}}
    memories = [memory_pb2.NewMemory(memory_id=memory_id, text=text) for memory_id, (text, _) in told.items()]
    for memory in memories:
        memory.metadata.update(told[memory.memory_id][1])
    await agent.Retain(memory_pb2.RetainRequest(memories=memories))
    await compiled(site)
    listed = {page.title: page for page in (await agent.ListPages(wiki_pb2.ListPagesRequest())).pages}
    assert {OTTO, HALL, TOWN, "Casa Lola"} <= listed.keys()
    otto = listed[OTTO]
    await admin.AddAlias(wiki_pb2.AddAliasRequest(owner_id="mara", page=otto.page_id, alias="The tenor"))
    fig = wiki_pb2.ArchivePageRequest(owner_id="mara", page=listed["Suerte"].page_id)
    await admin.ArchivePage(fig)
    held = {one.alias: one.mention_id for one in (await agent.ListMentions(wiki_pb2.ListMentionsRequest())).mentions}
    ignored = next(mention_id for alias, mention_id in held.items() if "Quill" in alias)
    await admin.IgnoreMention(wiki_pb2.IgnoreMentionRequest(owner_id="mara", mention_id=ignored))
    question = asking("Who sang at the harbour, and what about Austin?", thread_id="")
    caller = site.caller()
    before = (await caller.AssembleContext(question, timeout=60)).assembly
    await explained(caller, before.receipt_id)
    stood = (await holders(database, {"secret": SECRET})).get("secret", [])
    assert {"wiki_pages.title", "wiki_pages.tags", "receipts.details", "compile_batches.items"} <= set(stood), stood
    for memory_id in EVERYWHERE:
        await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id=memory_id))
    between = (await caller.AssembleContext(question, timeout=60)).assembly
    await explained(caller, between.receipt_id)
    assert SECRET not in str(between)
    assert await holders(database, {"secret": SECRET}) == {}
    await compiled(site)
    assert await holders(database, {"secret": SECRET}) == {}
    kept = {page.title: page for page in (await agent.ListPages(wiki_pb2.ListPagesRequest())).pages}
    assert "Casa Lola" in kept
    assert not (await admin.RunLint(compile_pb2.RunLintRequest(owner_id="mara", dry_run=True))).findings
