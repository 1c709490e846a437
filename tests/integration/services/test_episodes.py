"""Episodes: a thread's sessions and their summaries, with late and forgotten turns."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from compiler.decay.compress import compress_episodes
from compiler.decay.policy import DecayPolicy
from compiler.decay.runner import DecayDeps
from compiler.errors import CompressionRefused
from sidecar.rpc.decay import DecayService
from sidecar.services.aging.attestations import Attestations
from sidecar.services.aging.decay import Decay, DecayOrder
from sidecar.services.aging.episodes import Episodes
from sidecar.services.forgetting.targets import Target
from sidecar.services.memories import Memories
from sidecar.services.threads import EPISODES_KIND
from sidecar.v1 import decay_pb2 as pb
from sidecar.worker.decay_work import make_episodes
from store.compile import background
from store.compile.decay_jobs import DecayKind
from store.content import episodes as stored_episodes
from store.content import feed, memories, threads
from store.content.episodes import Episode
from store.content.memories import Memory, NewMemory
from store.content.threads import NewTurn, ThreadToOpen
from store.db.postgres import Pools, scoped
from store.scope import Scope
from store.tenancy import tenants
from tests.support.compiler.compiling import Clock, engine_on, fetch, until_lock_wait, worker_on
from tests.support.rpc.service_calls import NOW, an_agent, refused, refused_field

OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
PAUSE = timedelta(minutes=30)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> Clock:
    return Clock(NOW)


@pytest.fixture
def episodes(pools: Pools, clock: Clock) -> Episodes:
    return Episodes(pools.background, now=clock, pause=PAUSE)


async def say(pools: Pools, *said: tuple[str, timedelta], thread_id: str = "t", role: str = "user") -> None:
    turns = [
        NewTurn(f"c {text}", role, f"{text} moved to Lisbon with 3 cats.", NOW + at, o200k_tokens=9, cl100k_tokens=9)
        for text, at in said
    ]
    async with scoped(pools.background, SCOPE) as connection:
        await tenants.ensure_tenant(connection, SCOPE.tenant_id, now=NOW)
        await threads.append(connection, SCOPE, ThreadToOpen(thread_id, "", "fence"), turns, now=NOW)


async def listed(episodes: Episodes) -> list[Episode]:
    return (await episodes.page(SCOPE, limit=100))[::-1]


def lines(episode: Episode) -> list[str]:
    return [line.split()[1] for line in episode.text.splitlines()]


async def test_episodes_are_remade_during_a_write_of_memories_without_a_deadlock(
    pools: Pools, episodes: Episodes, database: str
) -> None:
    await say(pools, ("Ann", timedelta()), ("Ben", DAY))
    async with scoped(pools.background, SCOPE) as connection:
        await memories.retain(connection, SCOPE, [NewMemory("Ann likes rain.")], now=NOW)
    async with scoped(pools.turn, SCOPE) as connection:
        await feed.hold(connection, SCOPE)
        closing = asyncio.create_task(episodes.close(SCOPE, "t"))
        await until_lock_wait(database)
        assert await stored_episodes.lock_thread(connection, SCOPE, "t"), "the other has locked nothing yet"
    assert (await closing) is not None


async def test_turn_at_the_end_of_all_times_stays_in_an_open_session(pools: Pools, episodes: Episodes) -> None:
    end = datetime.max.replace(tzinfo=UTC) - timedelta.resolution
    await say(pools, ("Ann", timedelta()), ("Ben", end - NOW))
    made = await episodes.remake(SCOPE, "t")
    assert (len(made.episode_ids), made.next_at) == (1, None)


async def compressed(pools: Pools, ids: list[str], summary_id: str = "s") -> Memory:
    async with scoped(pools.background, SCOPE) as connection:
        return await compress_episodes(connection, SCOPE, ids, summary_id, now=NOW)


async def two_sessions(pools: Pools, clock: Clock, episodes: Episodes) -> list[Episode]:
    await say(pools, ("Ann", timedelta()), ("Ben", timedelta(minutes=5)), ("Cleo", DAY))
    clock.now = NOW + 2 * DAY
    await episodes.remake(SCOPE, "t")
    return await listed(episodes)


async def test_sessions_end_at_pauses_and_the_open_one_is_no_episode_yet(
    pools: Pools, clock: Clock, episodes: Episodes
) -> None:
    await say(pools, ("Ann", timedelta()), ("Ben", timedelta(minutes=29)), ("Cleo", DAY), ("Dan", DAY + PAUSE))
    clock.now = NOW + DAY + PAUSE + timedelta(minutes=29)
    made = await episodes.remake(SCOPE, "t")
    assert [lines(one) for one in await listed(episodes)] == [["Ann", "Ben"], ["Cleo"]]
    assert made.next_at == NOW + DAY + 2 * PAUSE
    clock.now += timedelta(minutes=1)
    assert (await episodes.remake(SCOPE, "t")).next_at is None
    found = await listed(episodes)
    assert [lines(one) for one in found] == [["Ann", "Ben"], ["Cleo"], ["Dan"]]
    turn_ids = {str(threads.turn_uuid(SCOPE, "t", f"c {name}")) for name in ("Ann", "Ben")}
    assert set(found[0].turn_ids) == turn_ids
    assert (await episodes.remake(SCOPE, "t")).episode_ids == ()


async def test_caller_closes_an_episode_and_later_turns_begin_another(
    pools: Pools, clock: Clock, episodes: Episodes
) -> None:
    await say(pools, ("Ann", timedelta(minutes=1)))
    clock.now = NOW + timedelta(minutes=2)
    closed = await episodes.close(SCOPE, "t")
    assert closed is not None
    assert lines(closed) == ["Ann"]
    await say(pools, ("Ben", timedelta(minutes=3)))
    clock.now = NOW + timedelta(minutes=4)
    again = await episodes.close(SCOPE, "t")
    assert again is not None
    assert (lines(again), again.episode_id != closed.episode_id) == (["Ben"], True)
    assert len(await listed(episodes)) == 2


async def test_late_turns_remake_an_episode_and_its_summary_under_the_same_ids(
    pools: Pools, clock: Clock, episodes: Episodes
) -> None:
    first, second = await two_sessions(pools, clock, episodes)
    await compressed(pools, [first.episode_id, second.episode_id])
    await say(pools, ("Eve", timedelta(minutes=2)), ("Abe", timedelta(minutes=-5)))
    assert (await episodes.remake(SCOPE, "t")).episode_ids == (first.episode_id,)
    again = (await listed(episodes))[0]
    assert lines(again) == ["Abe", "Ann", "Eve", "Ben"]
    assert (again.episode_id, again.created_at) == (first.episode_id, first.created_at)
    memory = await Memories(pools, now=clock).get(SCOPE, "s")
    assert "Eve" in memory.text
    assert set(memory.source_events) == {*again.turn_ids, *second.turn_ids}


async def test_late_turn_between_two_sessions_makes_one_of_them(pools: Pools, clock: Clock, episodes: Episodes) -> None:
    await say(pools, ("Ann", timedelta()), ("Cleo", timedelta(minutes=50)))
    clock.now = NOW + DAY
    await episodes.remake(SCOPE, "t")
    first, second = await listed(episodes)
    await compressed(pools, [first.episode_id, second.episode_id])
    await say(pools, ("Ben", timedelta(minutes=25)))
    await episodes.remake(SCOPE, "t")
    [only] = await listed(episodes)
    assert (only.episode_id, lines(only)) == (first.episode_id, ["Ann", "Ben", "Cleo"])
    memory = await Memories(pools, now=clock).get(SCOPE, "s")
    assert memory.source_episodes == (first.episode_id,)


async def test_forgotten_turn_is_in_no_episode_and_no_summary(
    pools: Pools, clock: Clock, episodes: Episodes, database: str
) -> None:
    first, second = await two_sessions(pools, clock, episodes)
    await compressed(pools, [first.episode_id, second.episode_id])
    memories = Memories(pools, now=clock)
    hits = (await memories.forgetting.forget(SCOPE, Target(word="Ann"))).hits
    turns = tuple(one.name for one in hits if one.kind == "turn")
    await memories.forgetting.forget(SCOPE, Target(word="Ann", confirmed=turns))
    again = (await listed(episodes))[0]
    assert (again.episode_id, lines(again)) == (first.episode_id, ["Ben"])
    kept = await memories.get(SCOPE, "s")
    assert "Ann" not in kept.text
    assert "Ben" in kept.text
    assert set(kept.turn_ids) == {*again.turn_ids, *second.turn_ids}
    assert not await fetch(database, "SELECT 1 FROM episodes e WHERE e::text LIKE '%Ann%'")
    assert (await episodes.remake(SCOPE, "t")).episode_ids == ()


async def test_summary_with_one_episode_left_is_forgotten_with_the_thread(
    pools: Pools, clock: Clock, episodes: Episodes, database: str
) -> None:
    first, _ = await two_sessions(pools, clock, episodes)
    await say(pools, ("Zoe", timedelta()), thread_id="u")
    await episodes.remake(SCOPE, "u")
    other = next(one for one in await listed(episodes) if one.thread_id == "u")
    await compressed(pools, [first.episode_id, other.episode_id])
    report = await Memories(pools, now=clock).forgetting.forget(SCOPE, Target(thread_id="u"))
    assert report.memory_ids == ("s",)
    assert await fetch(database, "SELECT count(*) FROM memories") == [(0,)]
    assert len(await listed(episodes)) == 2


async def test_summary_of_episodes_cites_their_turns_and_never_more_than_an_agents_word(
    pools: Pools, clock: Clock, episodes: Episodes, database: str
) -> None:
    first, second = await two_sessions(pools, clock, episodes)
    ids = [second.episode_id, first.episode_id, second.episode_id]
    memory = await compressed(pools, ids)
    assert memory.text == f"{second.text}\n{first.text}"
    assert (memory.memory_type, memory.status, memory.authority) == ("summary", "candidate", "Agent")
    assert memory.source_episodes == (second.episode_id, first.episode_id)
    assert memory.source_events == memory.turn_ids == (*second.turn_ids, *first.turn_ids)
    assert (await compressed(pools, ids, "another")).memory_id == "s"
    assert await fetch(database, "SELECT count(*), max(place) FROM episode_supersessions") == [(2, 2)]
    assert [one.summary_id for one in await listed(episodes)] == ["s", "s"]


async def test_uncompressible_episodes_are_refused_and_nothing_is_written(
    pools: Pools, clock: Clock, episodes: Episodes, database: str
) -> None:
    first, second = await two_sessions(pools, clock, episodes)
    await say(pools, ("ok", timedelta()), thread_id="small talk", role="system")
    await episodes.remake(SCOPE, "small talk")
    empty = next(one for one in await listed(episodes) if not one.text)
    for ids, why in (
        ([], "sources is 0"),
        ([first.episode_id], "sources is 1"),
        ([first.episode_id, first.episode_id], "sources is 1"),
        ([first.episode_id, "unknown"], "no episode 'unknown'"),
        ([first.episode_id, empty.episode_id], "has no text"),
    ):
        with pytest.raises(CompressionRefused, match=why):
            await compressed(pools, ids)
    stranger = Scope(SCOPE.tenant_id, UUID(int=5))
    with pytest.raises(CompressionRefused, match="no episode"):
        async with scoped(pools.background, stranger) as connection:
            await compress_episodes(connection, stranger, [first.episode_id, second.episode_id], "s", now=NOW)
    assert await fetch(database, "SELECT count(*) FROM memories") == [(0,)]
    await compressed(pools, [first.episode_id, second.episode_id])
    with pytest.raises(CompressionRefused, match="already in the summary 's'"):
        await compressed(pools, [second.episode_id, first.episode_id], "another")


async def test_job_compresses_episodes_and_names_itself_on_the_edges(
    pools: Pools, clock: Clock, episodes: Episodes, database: str
) -> None:
    found = await two_sessions(pools, clock, episodes)
    decay = Decay(pools, now=clock, attestations=Attestations(pools.background, now=clock, keys={}, model_id=""))
    order = DecayOrder(DecayPolicy(), DecayKind.EPISODES, source_ids=tuple(one.episode_id for one in found))
    [job] = await decay.schedule(SCOPE, order)
    ran = await decay.run(SCOPE)
    assert ran is not None
    assert (ran.job_id, ran.state) == (job.job_id, "completed")
    assert await fetch(database, "SELECT DISTINCT job_id FROM episode_supersessions") == [(job.job_id,)]


async def test_worker_makes_the_episode_when_the_pause_has_passed(
    pools: Pools, clock: Clock, episodes: Episodes
) -> None:
    await say(pools, ("Ann", timedelta()))
    async with scoped(pools.background, SCOPE) as connection:
        await background.enqueue(connection, SCOPE, EPISODES_KIND, "t", now=NOW, not_before=NOW + PAUSE)
    worker = worker_on(pools, engine_on(pools, clock=clock))
    deps = DecayDeps(pools.background, clock, lambda: "s")

    async def handle(scope: Scope, subject: str) -> None:
        await make_episodes(deps, episodes, scope, subject)

    worker.handlers = {EPISODES_KIND: handle}
    await worker.drain_scope(SCOPE)
    assert await listed(episodes) == []
    await say(pools, ("Ben", timedelta(minutes=20)))
    clock.now = NOW + PAUSE
    await worker.drain_scope(SCOPE)
    assert await listed(episodes) == []
    clock.now = NOW + timedelta(minutes=20) + PAUSE
    await worker.drain_scope(SCOPE)
    assert [lines(one) for one in await listed(episodes)] == [["Ann", "Ben"]]


async def test_episodes_are_listed_in_pages_and_unknown_threads_are_not_found(
    pools: Pools, clock: Clock, episodes: Episodes
) -> None:
    await two_sessions(pools, clock, episodes)
    attestations = Attestations(pools.background, now=clock, keys={}, model_id="")
    service = DecayService(Decay(pools, now=clock, attestations=attestations), episodes, attestations)
    first = await service.list_episodes(pb.ListEpisodesRequest(page_size=1), an_agent())
    request = pb.ListEpisodesRequest(page_size=1, page_token=first.next_page_token)
    second = await service.list_episodes(request, an_agent())
    assert [one.text.split()[1] for one in (*first.episodes, *second.episodes)] == ["Cleo", "Ann"]
    assert second.next_page_token == ""
    of_other = await service.list_episodes(pb.ListEpisodesRequest(thread_id="u"), an_agent())
    assert list(of_other.episodes) == []
    assert type(await refused(service.close_episode(pb.CloseEpisodeRequest(thread_id="u"), an_agent()))).__name__ == (
        "NotFound"
    )
    assert await refused_field(service.close_episode(pb.CloseEpisodeRequest(), an_agent())) == "thread_id"
