"""A forgotten owner leaves no word in any table, and another owner keeps everything."""

from __future__ import annotations

import asyncio
import io

import asyncpg
import grpc
import pytest

from sidecar.cli.root import run
from sidecar.cli.shared.failures import USAGE
from sidecar.v1 import admin_pb2, context_pb2, memory_pb2
from tests.support.served.commands import told
from tests.support.served.site import Caller, Site
from tests.support.served.turns import (
    QUESTION,
    THREAD,
    WAITING,
    asking,
    assembled,
    explained,
    fill,
    locked,
    refusal,
    until_count,
)
from tests.support.served.wiki_site import JOURNAL, retain_journal, worked

# Words that only this owner said, asked, remembered or had compiled.
WORDS = ("Calypso", "Empanada", "beef empanada", "winters in the old dock", QUESTION, "caulked", "errand 7")


async def words_left(site: Site, owner_words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return each table that holds one of the words, whatever row or column it stands in."""
    connection = await asyncpg.connect(site.app.database.dsn)
    try:
        names = await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1")
        found = []
        for (name,) in names:
            for word in owner_words:
                statement = f"SELECT count(*) FROM {name} AS t WHERE t::text ILIKE '%' || $1 || '%'"
                if await connection.fetchval(statement, word):
                    found.append((name, word))
        return found
    finally:
        await connection.close()


async def test_no_table_holds_a_word_of_a_forgotten_owner(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    agent = await fill(site)
    await retain_journal(agent)
    await worked(site)
    receipt_id = (await agent.AssembleContext(asking())).assembly.receipt_id
    await explained(agent, receipt_id)
    await agent.ReportUsage(context_pb2.ReportUsageRequest(receipt_id=receipt_id, input_tokens=10, output_tokens=1))
    before = {name for name, _ in await words_left(site, WORDS)}
    assert {"turns", "memories", "wiki_pages", "receipt_texts"} <= before
    counts = (await told(site, capsys, "owner", "forget", "--owner", "mara", "--yes", admin=True))["row_counts"]
    assert counts["turn_accounts"] == counts["receipts"] == 1
    assert await words_left(site, WORDS) == []
    assert (await refusal(agent.ExplainAssembly(context_pb2.ExplainAssemblyRequest(receipt_id=receipt_id))))[0] is (
        grpc.StatusCode.NOT_FOUND
    )


async def test_neighbour_keeps_everything_and_a_forgotten_owner_may_start_again(site: Site) -> None:
    agent, neighbour = await fill(site), await fill(site, owner="noor")
    admin = site.caller(admin=True)
    receipt_id = (await neighbour.AssembleContext(asking())).assembly.receipt_id
    whole = await explained(neighbour, receipt_id)
    await admin.ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    again = await admin.ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    assert not again.row_counts
    assert await explained(neighbour, receipt_id) == whole
    assert len((await neighbour.ListTurns(context_pb2.ListTurnsRequest(thread_id=THREAD))).turns) > 10
    assert not (await agent.ListTurns(context_pb2.ListTurnsRequest(thread_id=THREAD))).turns
    await retain_journal(agent)
    await worked(site)
    assert await words_left(site, (next(iter(JOURNAL.values()))[0],))


async def test_receipt_texts_are_kept_by_owner(site: Site) -> None:
    """Two owners whose receipts hold the same words: forgetting one's leaves the other's, before and after."""
    agent, neighbour = await fill(site), await fill(site, owner="noor")
    admin = site.caller(admin=True)
    theirs = [await receipt_of(neighbour)]
    await receipt_of(agent)
    await agent.DeleteMemory(memory_pb2.DeleteMemoryRequest(memory_id="boat-dock"))
    await replay(neighbour, theirs[0])
    await admin.ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    theirs.append(await receipt_of(neighbour))
    for receipt_id in theirs:
        assert await replay(neighbour, receipt_id)


async def test_owner_recreated_at_once_has_receipts_with_texts(site: Site) -> None:
    agent = await fill(site)
    await receipt_of(agent)
    await site.caller(admin=True).ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    assert await replay(agent, await receipt_of(agent))
    await fill(site)
    assert await replay(agent, await receipt_of(agent))
    assert site.app.receipt_writer.dropped_count == 0


async def test_turn_in_progress_during_a_forget_says_that_its_receipt_was_dropped(site: Site) -> None:
    agent = await fill(site)
    async with locked(site, "chunks"):
        turn = asyncio.create_task(assembled(agent))
        await until_count(site, WAITING, 1)
        await site.caller(admin=True).ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))
    request = context_pb2.ExplainAssemblyRequest(receipt_id=(await turn).receipt_id)
    code, reason, _ = await refusal(agent.ExplainAssembly(request))
    assert (code, reason) == (grpc.StatusCode.NOT_FOUND, "RECEIPT_DROPPED")
    assert site.app.receipt_writer.dropped_count == 1


async def receipt_of(agent: Caller) -> str:
    """Return the id of a turn's receipt, once it is written."""
    receipt_id = (await agent.AssembleContext(asking())).assembly.receipt_id
    await explained(agent, receipt_id)
    return str(receipt_id)


async def replay(agent: Caller, receipt_id: str) -> str:
    """Return the digest of the turn fitted again. Fails when a text of it is no longer kept."""
    response = await agent.ReplayAssembly(context_pb2.ReplayAssemblyRequest(receipt_id=receipt_id))
    return str(response.assembly.content_sha256)


async def test_unknown_owner_is_forgotten_and_not_created(site: Site) -> None:
    await fill(site)
    connection = await asyncpg.connect(site.app.database.dsn)
    tables = [row[0] for row in await connection.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]
    tables.remove("audit_entries")  # it notes the call itself

    async def counts() -> dict[str, int]:
        return {name: await connection.fetchval(f"SELECT count(*) FROM {name}") for name in tables}

    before = await counts()
    admin = site.caller(admin=True)
    assert not (await admin.ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="nobody"))).row_counts
    after = await counts()
    await connection.close()
    notes = after.pop("forgotten_refs") - before.pop("forgotten_refs")
    assert (after, notes) == (before, 2), "receipts of turns under way are left out by these notes"


async def test_forgetting_an_owner_needs_an_admin_and_an_explicit_name(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = await fill(site)
    assert (await refusal(agent.ForgetOwner(admin_pb2.ForgetOwnerRequest(owner_id="mara"))))[1] == "ADMIN_REQUIRED"
    code, _, _ = await refusal(site.caller(admin=True).ForgetOwner(admin_pb2.ForgetOwnerRequest()))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert run(["owner", "forget", "--owner", "mara", "--token", "x"]) == USAGE  # nobody is there to say yes
    assert "all data of the owner 'mara'?" in capsys.readouterr().err
    assert (await agent.ListTurns(context_pb2.ListTurnsRequest(thread_id=THREAD))).turns
