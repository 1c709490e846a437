"""Words stored by every entry point, used and forgotten, are in no row, answer, log or purged file."""

from __future__ import annotations

import asyncio
import os
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from sidecar.v1 import compile_pb2, items_pb2, knowledge_pb2, memory_pb2, ontology_pb2, wiki_pb2
from sidecar.v1 import context_pb2 as pb
from store.db.purging import purge
from tests.servers import cluster
from tests.support.databases import is_cluster, name_of
from tests.support.served.site import Caller, Site
from tests.support.served.turns import as_superuser, asking, explained
from tests.support.served.wiki_site import WikiCaller, streamed, worked
from tests.support.store.held_words import holders
from tests.support.waiting import until

ENTRIES = (
    "memory", "metadata", "tag", "document", "long", "page", "shared", "candidate", "pinned", "turn", "arguments", "result",
    "speaker", "title", "drawn", "question", "alias", "old", "lone", "edited", "dated", "manual",
    "proposed",
)  # fmt: skip
FILLER = "Nothing else of note was said on that grey and quiet afternoon by the river. "
LOLA = {"place": {"name": "Casa Lola", "city": "Austin"}}
FRANKLIN = {"place": {"name": "Franklin Barbecue", "city": "Austin"}}
AT = datetime(2025, 3, 2, 12, tzinfo=UTC)


@pytest.fixture
def canaries() -> dict[str, str]:
    """A word for each entry point that stands nowhere else, and that no compression shortens."""
    return {entry: "".join(random.SystemRandom().choices("bdghjkpqvwxz", k=14)) for entry in ENTRIES}


def memories_of(words: dict[str, str]) -> list[memory_pb2.NewMemory]:
    """Return memories that hold the words in texts, metadata, tags and domains, with others that hold none."""

    def memory(name: str, text: str, **fields: Any) -> memory_pb2.NewMemory:
        metadata = fields.pop("metadata", LOLA)
        one = memory_pb2.NewMemory(memory_id=name, text=text, **fields)
        one.metadata.update(metadata)
        return one

    candidate = {"status": memory_pb2.MEMORY_STATUS_CANDIDATE}
    return [
        memory("kept-0", "Casa Lola in Austin was lovely on a Friday."),
        memory("kept-1", "Went back to Casa Lola in Austin for the empanadas."),
        memory("memory", f"Casa Lola in Austin was where {words['memory'].title()} sang."),
        memory(
            "metadata", "Casa Lola had music.", metadata={**LOLA, "note": words["metadata"]}, domains=[words["tag"]]
        ),
        memory("tag", "Casa Lola had a tag.", metadata={**LOLA, "tags": [words["tag"]]}),
        memory("document-0", f"The journal says {words['document']} twice.", document_id="journal"),
        memory("document-1", f"Once more the journal says {words['document']}.", document_id="journal"),
        memory("long", FILLER * 40 + f"Then {words['long']} came by. " + FILLER * 40),
        *(memory(f"page-{at}", f"{words['page'].title()} Marsh sang at Casa Lola on night {at}.") for at in range(3)),
        *(memory(f"shared-{at}", f"The code of the gate is {words['shared']}.") for at in range(2)),
        *(
            memory(f"candidate-{at}", f"Perhaps {words['candidate']} number {at}.", metadata={}, **candidate)
            for at in range(2)
        ),
        memory("candidate-2", "Perhaps it rains.", metadata={}, **candidate),
        memory("candidate-3", "Perhaps it snows.", metadata={}, **candidate),
        memory("pinned", f"Always mention {words['pinned']}.", pinned=True),
        memory("proposed-0", f"Casa Lola is a {words['proposed']} in Austin."),
        memory("proposed-1", f"Franklin Barbecue is a {words['proposed']} in Austin.", metadata=FRANKLIN),
        memory("edited", f"Casa Lola once belonged to {words['edited']}."),
    ]


def turns_of(words: dict[str, str]) -> list[pb.NewTurn]:
    """Return a thread whose turns hold the words in texts, calls, results and a speaker's name, the first ones long past."""
    call = items_pb2.ToolCall(id="c", name="look")
    call.arguments.update({"for": words["arguments"]})
    result = items_pb2.ToolResult(call_id="c", content=f"It says {words['result']}.")
    said = [
        pb.NewTurn(
            client_turn_id="old", role="user", text=f"My sister Vera Olsen lives in {words['old'].title()} since 2019."
        ),
        pb.NewTurn(
            client_turn_id="turn", role="user", text=f"The boat is called {words['turn']}.", speaker=words["speaker"]
        ),
        pb.NewTurn(client_turn_id="call", role="assistant", parts=[items_pb2.MessagePart(tool_call=call)]),
        pb.NewTurn(client_turn_id="result", role="tool", parts=[items_pb2.MessagePart(tool_result=result)]),
        pb.NewTurn(client_turn_id="drawn", role="user", text="I never eat nuts."),
    ]
    rest = [
        pb.NewTurn(
            client_turn_id=f"r{at}",
            role=("user", "assistant")[at % 2],
            text=f"Errand {at} is to buy Rope {at} in Lisbon.",
        )
        for at in range(40)
    ]
    return [*said, *rest]


async def filled(site: Site, words: dict[str, str]) -> Caller:
    """Put the words in by every entry point, and use them: compiled, compressed, recalled, summed up, explained, exported."""
    agent, admin = site.caller(), site.caller(admin=True)
    await agent.Retain(memory_pb2.RetainRequest(memories=memories_of(words)))
    edit = memory_pb2.NewMemory(memory_id="edited", text="Casa Lola belongs to nobody.")
    thread = pb.AppendTurnsRequest(thread_id="boat", turns=turns_of(words), title=f"About {words['title']}")
    turn_ids = list((await agent.AppendTurns(thread)).turn_ids)
    dated = pb.NewTurn(client_turn_id="dated", role="user", text=f"In March I met {words['dated']}.")
    dated.said_time.FromDatetime(AT)
    await agent.AppendTurns(
        pb.AppendTurnsRequest(
            thread_id="march", turns=[dated, pb.NewTurn(client_turn_id="n", role="user", text="Now.")]
        )
    )
    lone = pb.NewTurn(client_turn_id="lone", role="user", text=f"Nobody answered {words['lone']}.")
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="lone", turns=[lone]))
    await admin.CreateBase(knowledge_pb2.CreateBaseRequest(name="manuals"))
    manual = f"# Manual\n\nThe engine is started with {words['manual']}, in Austin at Casa Lola.\n".encode()
    await admin.Ingest(knowledge_pb2.IngestRequest(base="manuals", path="engine.md", content=manual))
    everyone = knowledge_pb2.AssignBaseRequest(
        base="manuals", level=knowledge_pb2.ASSIGNEE_LEVEL_TEMPLATE, ref="default"
    )
    await admin.AssignBase(everyone)
    drawn = memory_pb2.NewMemory(memory_id="drawn", text=f"Mara avoids {words['drawn']}.", turn_ids=[turn_ids[4]])
    await agent.Retain(memory_pb2.RetainRequest(memories=[drawn]))
    await admin.CompileNow(compile_pb2.CompileNowRequest(owner_id="mara"))
    await worked(site)
    await agent.Retain(memory_pb2.RetainRequest(memories=[edit]))
    await agent.CompressMemories(memory_pb2.CompressMemoriesRequest(memory_ids=[f"candidate-{at}" for at in range(4)]))
    pages = (await agent.ListPages(wiki_pb2.ListPagesRequest())).pages
    lola = next(page for page in pages if page.title == "Casa Lola")
    await admin.AddAlias(wiki_pb2.AddAliasRequest(owner_id="mara", page=lola.page_id, alias=f"The {words['alias']}"))
    await admin.CompileNow(compile_pb2.CompileNowRequest(owner_id="mara"))
    await worked(site)
    scanned = await admin.ScanOntology(ontology_pb2.ScanOntologyRequest())
    assert words["proposed"] in str(scanned), "the scan proposes it"
    for thread_id in ("boat", "march", "lone", ""):
        for question in (
            f"Who is {words['question']}?",
            f"What about {', '.join(words.values())}?",
            "Casa Lola in Austin?",
        ):
            asked = asking(question, thread_id=thread_id, request_id=f"{thread_id} {question[:40]}")
            assembly = (await agent.AssembleContext(asked, timeout=60)).assembly
            await explained(agent, assembly.receipt_id)
    await agent.ReplayAssembly(pb.ReplayAssemblyRequest(receipt_id=assembly.receipt_id))
    await exported(site)
    return agent


async def exported(site: Site) -> list[Any]:
    """Return the files of the wiki's export."""
    return await streamed(WikiCaller(site, "acme", "mara").ExportVault(compile_pb2.ExportVaultRequest()))


async def answers(site: Site, agent: Caller, words: dict[str, str]) -> str:
    """Return what a caller may still read, as one text."""
    told: list[Any] = [
        await agent.ListMemories(memory_pb2.ListMemoriesRequest(page_size=1000)),
        await agent.ListThreads(pb.ListThreadsRequest()),
        await agent.ListPages(wiki_pb2.ListPagesRequest()),
        await agent.ListMentions(wiki_pb2.ListMentionsRequest()),
        await exported(site),
    ]
    for thread_id in ("boat", "march", "lone"):
        told.append(await agent.ListTurns(pb.ListTurnsRequest(thread_id=thread_id, page_size=1000)))
        asked = asking("Casa Lola in Austin?", thread_id=thread_id, request_id=f"{thread_id} Casa Lola in Austin?")
        told.append(await agent.AssembleContext(asked, timeout=60))
    receipts = (await agent.ListAssemblies(pb.ListAssembliesRequest(page_size=1000))).receipts
    told += [await explained(agent, one.receipt_id) for one in receipts]
    return str(told).lower()


def files_with(words: dict[str, str], directory: Path, database: str = "") -> dict[str, list[str]]:
    """Return, for each word, the files below a directory that hold its bytes, in UTF-8 or UTF-16, in any case.

    Of the databases of a server only the one with the number `database` is searched.
    """
    found: dict[str, list[str]] = {}
    # Other tests drop their databases meanwhile: unlike `rglob`, `walk` passes over a folder that is gone.
    walked = [Path(folder, name) for folder, _, names in os.walk(directory) for name in names]
    for path in sorted(walked):
        place = path.relative_to(directory)
        if place.parts[0] == "base" and place.parts[1] != database:
            continue
        try:
            content = path.read_bytes().lower()
        except FileNotFoundError:
            continue
        for form in (content, content.replace(b"\0", b"")):
            for entry, word in words.items():
                if word.encode() in form:
                    found.setdefault(entry, []).append(str(place))
    return found


async def parts_of(database: str) -> list[str]:
    """Return the DSNs of the database's parts: one on each server of a cluster, else one."""
    return [cluster.at(one, name_of(database)) for one in await cluster.servers()] if is_cluster() else [database]


async def on_each(parts: list[str], *statements: str) -> None:
    """Run statements on each part of a database."""
    for part in parts:
        connection = await asyncpg.connect(part)
        for statement in statements:
            await connection.execute(statement)
        await connection.close()


async def leave_uncompressed(part: str) -> None:
    """Store the texts of one part of a database as they are: the search of the files would not find what Postgres compresses."""
    connection = await asyncpg.connect(part)
    await connection.execute("SELECT set_config('citus.enable_ddl_propagation', 'off', false)")
    for table, column in await connection.fetch(
        "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
        " WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attstorage IN ('x', 'm')"
    ):
        await connection.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE EXTERNAL")
    await connection.close()


async def held_by(parts: list[str], words: dict[str, str]) -> dict[str, list[str]]:
    """Return, for each word, the files of the database's servers that hold it, as `files_with` finds them."""
    found: dict[str, list[str]] = {}
    for part in parts:
        connection = await asyncpg.connect(part)
        number = "(SELECT oid::text FROM pg_database WHERE datname = current_database())"
        [(directory, database)] = await connection.fetch(f"SELECT current_setting('data_directory'), {number}")
        await connection.close()
        for entry, paths in (await asyncio.to_thread(files_with, words, Path(directory), database)).items():
            found.setdefault(entry, []).extend(paths)
    return found


async def forget_all(agent: Caller, words: dict[str, str]) -> None:
    """Forget the words, each in the way that suits its entry point."""

    async def forget(**target: Any) -> memory_pb2.ForgetResponse:
        before = await agent.Forget(memory_pb2.ForgetRequest(**target, dry_run=True), timeout=60)
        done: memory_pb2.ForgetResponse = await agent.Forget(memory_pb2.ForgetRequest(**target), timeout=60)
        assert before.is_dry_run
        assert not done.is_dry_run
        assert (before.memory_ids, before.turn_ids, before.row_counts) == (
            done.memory_ids,
            done.turn_ids,
            done.row_counts,
        )
        return done

    for memory_id in (
        "memory",
        "metadata",
        "tag",
        "long",
        "page-0",
        "page-1",
        "page-2",
        "candidate-0",
        "candidate-1",
        "pinned",
    ):
        assert memory_id in (await forget(memory_id=memory_id)).memory_ids
    assert list((await forget(document_id="journal")).memory_ids) == ["document-0", "document-1"]
    gone = await forget(thread_id="lone")
    assert (list(gone.thread_ids), len(gone.turn_ids)) == (["lone"], 1)
    span = {"since_time": AT.replace(day=1), "until_time": AT.replace(day=3)}
    assert len((await forget(**span)).turn_ids) == 1
    for entry, word in words.items():
        found = await agent.Forget(memory_pb2.ForgetRequest(word=word), timeout=60)
        assert found.is_dry_run
        confirmed = [hit.confirm_id for hit in found.hits]
        if confirmed:
            done = await agent.Forget(memory_pb2.ForgetRequest(word=word, confirmed_ids=confirmed), timeout=60)
            assert not done.rows_left, (entry, done.rows_left)


async def test_forgotten_words_are_in_no_row_answer_log_or_file(
    site: Site,
    database: str,
    canaries: dict[str, str],
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    parts = await parts_of(database)
    for part in parts:
        await leave_uncompressed(part)
    agent = await filled(site, canaries)
    stood = await holders(database, canaries)
    assert set(canaries) - {"edited"} <= stood.keys(), "every entry point stores its word"
    await on_each(parts, "ANALYZE", "CHECKPOINT")
    deleted = knowledge_pb2.DeleteDocumentRequest(base="manuals", path="engine.md")
    await site.caller(admin=True).DeleteDocument(deleted)
    in_receipts = "SELECT count(*) FROM receipt_texts WHERE strpos(text, $1) > 0 AND strpos(text, 'engine') > 0"
    assert not await as_superuser(site, in_receipts, canaries["manual"])
    await forget_all(agent, canaries)
    assert await holders(database, canaries) == {}
    told = await answers(site, agent, canaries)
    assert not [entry for entry, word in canaries.items() if word in told]
    await worked(site)
    assert await holders(database, canaries) == {}
    await on_each(parts, "CHECKPOINT")
    held = await held_by(parts, canaries)
    folders = {path.partition("/")[0] for paths in held.values() for path in paths}
    assert "base" in folders, "until the purge, files hold deleted rows"
    await until(lambda: _is_purged(database))
    assert await held_by(parts, canaries) == {}
    assert await asyncio.to_thread(files_with, canaries, Path(site.settings.data_dir)) == {}
    logged = (caplog.text + "".join(capfd.readouterr())).lower()
    assert not [entry for entry, word in canaries.items() if word in logged]


async def _is_purged(database: str) -> bool:
    report = await purge(database)
    assert not report.refused
    return not report.left
