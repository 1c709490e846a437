"""Forgetting by thread, span, document and word: effects, limits, dry runs and refusals."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal
from unicodedata import normalize

import asyncpg
import pytest

from sidecar.rpc.memory import MemoryService
from sidecar.services.memories import Memories
from sidecar.v1 import memory_pb2 as pb
from sidecar.worker.thread_summaries import Summarizer
from store.content import feed, memories, storage, threads
from store.content.memories import NewMemory
from store.content.summaries import OlderTurn
from store.content.threads import HistoryWindow, NewTurn, ThreadToOpen
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped, tenant_scoped
from store.db.purging import purge
from store.errors import DatabaseUnavailable
from store.scope import Scope
from store.tenancy import forgotten, tenants
from tests.support.compiler.compiling import Clock, fetch, until_lock_wait
from tests.support.rpc.service_calls import NOW, an_agent, refused_field
from tests.support.store.schema_rows import fill, tenant_tables
from tests.support.waiting import until

OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
LONG_AGO = NOW - timedelta(days=30)
A_VECTOR = "VALUES ($1, $2, 1, '[0.2, 20]', 'rain', '\\x3230')"


@pytest.fixture
def clock() -> Clock:
    """The clock of the service and of the summarizer."""
    return Clock(NOW)


@pytest.fixture
async def service(pools: Pools, clock: Clock) -> MemoryService:
    async with tenant_scoped(pools.background, SCOPE.tenant_id) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
    return MemoryService(Memories(pools, now=clock))


async def forget(service: MemoryService, **target: object) -> pb.ForgetResponse:
    return await service.forget(pb.ForgetRequest(**target), an_agent())  # type: ignore[arg-type]  # fields by name


def a_turn(name: str, text: str, said_at: datetime = NOW, role: str = "user") -> NewTurn:
    return NewTurn(name, role, text, said_at, 5, 5)


async def say(pools: Pools, *turns: NewTurn, thread_id: str = "t") -> list[str]:
    """Write turns, and return their ids."""
    async with scoped(pools.background, SCOPE) as connection:
        opened = ThreadToOpen(thread_id=thread_id, title="", fence_key_id="k")
        written = await threads.write(connection, SCOPE, opened, await threads.prepare(turns), now=NOW)
    return [str(one) for one in written.turn_ids]


async def retain(pools: Pools, *new: NewMemory) -> None:
    async with scoped(pools.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, new, now=NOW)


async def said(pools: Pools, thread_id: str = "t") -> list[str]:
    """Return the texts that a turn of the thread would show as its history, which are those that are listed."""
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        listed = await threads.list_turns(connection, SCOPE, thread_id, limit=100)
        window = HistoryWindow(1000, 100)
        shown = await threads.history(connection, SCOPE, thread_id, window)
    assert [one.text for one in listed] == [one.text for one in shown]
    return [one.text for one in listed]


async def known(pools: Pools) -> set[str]:
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        return {one.memory_id for one in await memories.page(connection, SCOPE, limit=100)}


async def test_thread_is_forgotten_with_the_memories_drawn_from_it(pools: Pools, service: MemoryService) -> None:
    turn_ids = await say(pools, a_turn("u0", "I never eat nuts."), a_turn("u1", "And I like rain."))
    await say(pools, a_turn("u0", "Something else."), thread_id="other")
    await retain(pools, NewMemory("No nuts.", "drawn", turn_ids=(turn_ids[0],)), NewMemory("Likes tea.", "kept"))
    planned = await forget(service, thread_id="t", dry_run=True)
    assert (planned.is_dry_run, list(planned.memory_ids), len(planned.turn_ids)) == (True, ["drawn"], 2)
    assert (await said(pools), await known(pools)) == (["I never eat nuts.", "And I like rain."], {"drawn", "kept"})
    done = await forget(service, thread_id="t")
    assert (done.is_dry_run, dict(done.row_counts)) == (False, dict(planned.row_counts))
    assert (done.row_counts["turns"], done.row_counts["threads"], done.row_counts["memories"]) == (2, 1, 1)
    assert (await said(pools), await said(pools, "other"), await known(pools)) == ([], ["Something else."], {"kept"})
    again = await forget(service, thread_id="t")
    assert not again.turn_ids


async def test_memory_that_names_its_turn_in_upper_case_is_forgotten_with_the_thread(
    pools: Pools, service: MemoryService
) -> None:
    (turn_id,) = await say(pools, a_turn("u0", "I never eat nuts."))
    await retain(pools, NewMemory("No nuts.", "drawn", turn_ids=(turn_id.upper(),)))
    assert list((await forget(service, thread_id="t")).memory_ids) == ["drawn"]


async def test_turn_that_is_written_while_its_thread_is_forgotten_is_forgotten(
    pools: Pools, service: MemoryService, database: str
) -> None:
    await say(pools, a_turn("u0", "I never eat nuts."))
    async with scoped(pools.turn, SCOPE) as connection:
        await feed.hold(connection, SCOPE)
        forgetting = asyncio.create_task(forget(service, thread_id="t"))
        await until_lock_wait(database)
        (late_id,) = await say(pools, a_turn("u1", "Nor shrimps."))
        await memories.retain(connection, SCOPE, [NewMemory("No shrimps.", "drawn", turn_ids=(late_id,))], now=NOW)
    done = await forgetting
    assert (len(done.turn_ids), list(done.memory_ids)) == (2, ["drawn"])
    async with scoped(pools.background, SCOPE, read_only=True) as connection:
        assert await storage.stored_bytes(connection, SCOPE) == 0


async def test_turn_that_is_being_written_when_its_thread_is_forgotten_is_forgotten(
    pools: Pools, service: MemoryService, database: str
) -> None:
    await say(pools, a_turn("u0", "I never eat nuts."))
    async with scoped(pools.turn, SCOPE) as connection:
        opened = ThreadToOpen(thread_id="t", title="", fence_key_id="k")
        await threads.write(connection, SCOPE, opened, await threads.prepare([a_turn("u1", "Nor shrimps.")]), now=NOW)
        forgetting = asyncio.create_task(forget(service, thread_id="t"))
        await until_lock_wait(database)
    assert len((await forgetting).turn_ids) == 2
    assert await said(pools) == []


async def test_memory_drawn_from_a_turn_that_was_forgotten_meanwhile_is_refused(
    pools: Pools, service: MemoryService
) -> None:
    (turn_id,) = await say(pools, a_turn("u0", "I never eat nuts."))
    drawn = pb.NewMemory(text="No nuts.", memory_id="drawn", turn_ids=["a note", turn_id.upper()])
    call = pb.RetainRequest(memories=[pb.NewMemory(text="Likes rain.", memory_id="other"), drawn])
    await forget(service, thread_id="t")
    assert await refused_field(service.retain(call, an_agent())) == "memories[1].turn_ids"
    assert not (await service.list_memories(pb.ListMemoriesRequest(), an_agent())).memories, "nothing is written"
    assert await say(pools, a_turn("u0", "I never eat nuts.")) == [turn_id]
    answer = await service.retain(call, an_agent())
    assert list(answer.memory_ids) == ["other", "drawn"], "the turn was said again"


async def test_thread_that_begins_while_a_missing_one_is_forgotten_stays(
    pools: Pools, service: MemoryService, database: str
) -> None:
    async with scoped(pools.turn, SCOPE) as connection:
        await forgotten.meanwhile(connection, SCOPE, NOW, now=NOW)
        forgetting = asyncio.create_task(forget(service, thread_id="t"))
        await until_lock_wait(database)
        await say(pools, a_turn("u0", "I never eat nuts."))
    assert not (await forgetting).turn_ids
    assert await said(pools) == ["I never eat nuts."]


async def test_memories_are_compressed_and_written_at_once_without_a_deadlock(
    pools: Pools, service: MemoryService, database: str
) -> None:
    candidates = [NewMemory(f"Perhaps {one}.", one, status=MemoryStatus.CANDIDATE) for one in ("m1", "m2")]
    await retain(pools, *candidates)
    async with scoped(pools.turn, SCOPE) as connection:
        await feed.hold(connection, SCOPE)
        request = pb.CompressMemoriesRequest(memory_ids=["m1", "m2"])
        compressing = asyncio.create_task(service.compress_memories(request, an_agent()))
        await until_lock_wait(database)
        await memories.retain(connection, SCOPE, [NewMemory("Perhaps not.", "m1")], now=NOW)
    assert (await compressing).memory.text.startswith("Perhaps not.")


async def test_thread_that_the_owner_does_not_have_is_not_reported(service: MemoryService) -> None:
    assert list((await forget(service, thread_id="another's")).thread_ids) == []


async def test_forgotten_turn_does_not_come_back_when_its_thread_is_sent_again(
    pools: Pools, service: MemoryService
) -> None:
    turns = [a_turn("u0", "My code is 4417.", LONG_AGO), a_turn("u1", "What now?")]
    await say(pools, *turns)
    await retain(pools, NewMemory("Went home.", "old", LONG_AGO), NewMemory("Came back.", "new", NOW))
    span = {"since_time": LONG_AGO - timedelta(hours=1), "until_time": LONG_AGO + timedelta(hours=1)}
    done = await forget(service, **span)
    assert (list(done.memory_ids), len(done.turn_ids)) == (["old"], 1)
    assert (await said(pools), await known(pools)) == (["What now?"], {"new"})
    await say(pools, *turns, a_turn("u2", "And then?"))
    assert await said(pools) == ["What now?", "And then?"]


async def test_word_shows_its_hits_and_only_confirmed_ones_go(pools: Pools, service: MemoryService) -> None:
    await say(pools, a_turn("u0", "Otto came."), a_turn("u1", "It rains."))
    await retain(pools, NewMemory("OTTO sings.", "sings"), NewMemory("Otto eats.", "eats"), NewMemory("Rain.", "rain"))
    shown = await forget(service, word="otto")
    assert shown.is_dry_run
    names = [hit.confirm_id for hit in shown.hits]
    assert names[:2] == ["memory:eats", "memory:sings"]
    assert [hit.excerpt for hit in shown.hits] == ["Otto eats.", "OTTO sings.", "Otto came."]
    assert shown.hits[2].kind == "turn"
    assert await known(pools) == {"sings", "eats", "rain"}
    done = await forget(service, word="otto", confirmed_ids=["memory:sings", names[2]])
    assert (list(done.memory_ids), dict(done.rows_left)) == (["sings"], {"memories": 1})
    assert (await known(pools), await said(pools)) == ({"eats", "rain"}, ["It rains."])
    refused = await refused_field(
        service.forget(pb.ForgetRequest(word="otto", confirmed_ids=["memory:rain"]), an_agent())
    )
    assert refused == "confirmed_ids[0]"


@pytest.mark.parametrize("form", ["NFC", "NFD"])
async def test_word_is_found_with_its_accents_composed_and_decomposed(
    pools: Pools, service: MemoryService, form: Literal["NFC", "NFD"]
) -> None:
    texts = (normalize("NFC", "José called."), normalize("NFD", "JOSÉ wrote."))
    await retain(pools, *(NewMemory(text, f"m{at}") for at, text in enumerate(texts)))
    word = normalize(form, "José")
    names = [hit.confirm_id for hit in (await forget(service, word=word)).hits]
    assert sorted(names) == ["memory:m0", "memory:m1"]
    assert dict((await forget(service, word=word, confirmed_ids=names[:1])).rows_left) == {"memories": 1}
    assert dict((await forget(service, word=word, confirmed_ids=names[1:])).rows_left) == {}


@pytest.mark.parametrize(
    ("word", "stored"),
    [
        ("C:\\secret", "c:\\Secret"),
        ('the "Zorg"', 'The "zorg"'),
        ("tab\tin", "tab\tin"),
        ("ΟΔΟΣ", "οδος"),
        ("οδος", "ΟΔΟΣ"),
    ],
)
async def test_word_is_found_and_counted_as_texts_and_json_write_it(
    pools: Pools, service: MemoryService, word: str, stored: str
) -> None:
    await retain(pools, NewMemory(f"It is {stored}.", "text"), NewMemory("A note.", "note", metadata={"is": stored}))
    shown = await forget(service, word=word)
    names = [hit.confirm_id for hit in shown.hits]
    assert (sorted(names), set(shown.rows_left)) == (["memory:note", "memory:text"], {"memories"})
    assert dict((await forget(service, word=word, confirmed_ids=["memory:text"])).rows_left) == {"memories": 1}
    assert dict((await forget(service, word=word, confirmed_ids=["memory:note"])).rows_left) == {}


async def test_words_of_two_columns_are_not_counted_as_one_phrase(pools: Pools, service: MemoryService) -> None:
    await retain(pools, NewMemory("It rains.", "ana", document_id="reis"))
    assert dict((await forget(service, word="ana reis")).rows_left) == {}
    assert dict((await forget(service, word="reis")).rows_left) == {"memories": 1}


async def test_digits_of_times_and_vectors_hold_no_word(pools: Pools, service: MemoryService, database: str) -> None:
    await retain(pools, NewMemory("The gate opens with 20.", "m"), NewMemory("It rains.", "rain"))
    vector = f"INSERT INTO memory_vectors (tenant_id, owner_id, embedder_no, vector, memory_id, text_hash) {A_VECTOR}"
    await fetch(database, vector, SCOPE.tenant_id, SCOPE.owner_id)
    assert f"{NOW.year}".startswith("20")
    assert dict((await forget(service, word="20")).rows_left) == {"memories": 1}
    assert dict((await forget(service, word="20", confirmed_ids=["memory:m"])).rows_left) == {}


async def test_name_of_two_characters_is_a_word(pools: Pools, service: MemoryService) -> None:
    await retain(pools, NewMemory("李明来了。", "m"))
    assert [hit.confirm_id for hit in (await forget(service, word="李明")).hits] == ["memory:m"]


@pytest.mark.parametrize(
    ("target", "field"),
    [
        ({}, "memory_id"),
        ({"memory_id": "m", "word": "word"}, "memory_id"),
        ({"since_time": NOW}, "until_time"),
        ({"until_time": NOW}, "since_time"),
        ({"since_time": NOW, "until_time": NOW}, "until_time"),
        ({"word": "a"}, "word"),
        ({"memory_id": "m", "confirmed_ids": ["memory:m"]}, "confirmed_ids"),
    ],
)
async def test_refusal_names_the_field(service: MemoryService, target: dict[str, object], field: str) -> None:
    assert await refused_field(service.forget(pb.ForgetRequest(**target), an_agent())) == field  # type: ignore[arg-type]


class _Forgetful:
    """Stands in for a model: while it writes, the turn that it was shown is forgotten."""

    at_once = 100

    def __init__(self, service: MemoryService, clock: Clock) -> None:
        self.service = service
        self.clock = clock
        self.seen: list[str] = []

    async def written(self, scope: Scope, before: str, turns: Sequence[OlderTurn], *, most_chars: int) -> str:
        """Return the turns' words."""
        self.seen.append(" ".join(turn.text for turn in turns))
        if len(self.seen) == 1:
            hit = next(one for one in (await forget(self.service, word="4417")).hits if one.kind == "turn")
            await forget(self.service, word="4417", confirmed_ids=[hit.confirm_id])
            self.clock.move(seconds=5)
        return self.seen[-1]


async def test_summary_written_while_a_turn_is_forgotten_is_written_anew(
    pools: Pools, service: MemoryService, database: str, clock: Clock
) -> None:
    rest = [a_turn(f"u{at}", f"Errand {at}.") for at in range(30)]
    await say(pools, a_turn("secret", "My code is 4417."), *rest)
    model = _Forgetful(service, clock)
    await Summarizer(pools.background, now=clock, writer=model).summarize(SCOPE, "t")
    assert "4417" in model.seen[0]
    assert "4417" not in " ".join(model.seen[1:])
    rows = await fetch(database, "SELECT text FROM thread_summaries")
    assert len(rows) == 1
    assert "4417" not in rows[0]["text"]


async def test_purge_that_loses_the_database_says_so(database: str) -> None:
    other, watcher = await asyncpg.connect(database), await asyncpg.connect(database)
    purges = (
        "FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE datname = current_database() AND locktype = 'advisory'"
    )
    async with other.transaction():
        await other.execute("LOCK TABLE memories")
        purging = asyncio.create_task(purge(database, is_forced=True))
        await until(
            lambda: watcher.fetchval(f"SELECT count(*) {purges}")
        )  # a transaction would see the same sessions for good
        await watcher.execute(f"SELECT pg_terminate_backend(pid) {purges}")
        with pytest.raises(DatabaseUnavailable):
            await purging
    await other.close()
    await watcher.close()


async def test_purge_outlasts_the_time_limit_that_the_server_sets_for_statements(
    pools: Pools, service: MemoryService, database: str
) -> None:
    await retain(pools, NewMemory("My code is 4417.", "m1"))
    other = await asyncpg.connect(database)
    await other.execute(
        f"ALTER DATABASE {await other.fetchval('SELECT current_database()')} SET statement_timeout = '500ms'"
    )
    async with other.transaction():
        await other.execute("LOCK TABLE memories IN ROW EXCLUSIVE MODE")
        purging = asyncio.create_task(purge(database, is_forced=True))
        ended, _ = await asyncio.wait({purging}, timeout=2)
        assert not ended
    assert "memories" in (await purging).tables
    await other.close()


async def test_purge_is_not_done_while_a_session_reads_the_planners_samples(
    pools: Pools, service: MemoryService, database: str
) -> None:
    await retain(pools, NewMemory("My code is 4417.", "m1"))
    await forget(service, memory_id="m1")
    reader = await asyncpg.connect(database)
    async with reader.transaction():
        await reader.execute("LOCK TABLE pg_statistic IN ACCESS SHARE MODE")
        report = await purge(database)
        assert (report.settled, report.busy, report.refused) == (0, ("pg_statistic",), ())
    await reader.close()
    await until(lambda: is_purged(database))


async def is_purged(database: str) -> bool:
    report = await purge(database)
    return not report.left and not report.busy


async def test_purge_waits_for_a_session_that_may_see_deleted_rows(
    pools: Pools, service: MemoryService, database: str
) -> None:
    await retain(pools, NewMemory("My code is 4417.", "m1"))
    reader = await asyncpg.connect(database)
    async with reader.transaction(isolation="repeatable_read"):
        await reader.fetchval("SELECT count(*) FROM memories")
        await forget(service, memory_id="m1")
        assert (await purge(database)).left == 1
        assert await reader.fetchval("SELECT count(*) FROM memories") == 1
    await reader.close()
    done = [await purge(database)]

    async def is_settled() -> bool:
        done.append(await purge(database))
        return bool(done[-1].settled)

    if not done[-1].settled:
        await until(is_settled)  # a test beside this one may hold the server's oldest transaction
    assert (done[-1].settled, done[-1].left, done[-1].busy) == (1, 0, ())
    assert done[-1].servers or "memory_feeds" in done[-1].tables  # on a cluster the others have the table
    assert (await purge(database)).tables == ()


async def test_request_that_was_restored_from_another_server_is_settled(database: str) -> None:
    later = "INSERT INTO purge_queue SELECT (pg_current_xact_id()::text::bigint + 1000000)::text::xid8, now()"
    await fetch(database, later)
    report = await purge(database)
    assert (report.settled, report.left) == (1, 0)


async def test_purge_rewrites_every_table_with_rows(
    database: str, superuser: asyncpg.Connection[asyncpg.Record]
) -> None:
    tables = await tenant_tables(superuser)
    await fill(superuser, tables, {})
    report = await purge(database, is_forced=True)
    assert (report.busy, report.unpurged) == ((), ())
    assert report.servers or {table.name for table in tables} <= set(report.tables)  # on a cluster the others have them
