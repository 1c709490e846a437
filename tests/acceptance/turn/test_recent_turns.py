"""A turn never loses its thread: the recent turns are read on their own, and without them the call says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from grpc_status import rpc_status

from sidecar.client.answers import Assembly
from sidecar.client.decoding import read
from sidecar.v1 import context_pb2 as pb
from sidecar.v1 import items_pb2
from tests.support.served.site import Caller, Site
from tests.support.served.turns import (
    EXCHANGES,
    WAITING,
    as_superuser,
    asking,
    asking_in_haste,
    assembled,
    detailed,
    explained,
    fill,
    knobs,
    locked,
    report,
    statuses,
    until_count,
)

NEWEST = EXCHANGES[-1][1]
WITHOUT = knobs(items_pb2.SOURCE_THREAD, required=False)
SIGNATURE = "uuid, uuid, text, text[], integer, text[], integer, real[]"
SLOW = f"""CREATE FUNCTION recall_turns({SIGNATURE}) RETURNS %s LANGUAGE plpgsql AS
$$ BEGIN PERFORM pg_sleep(600); RETURN QUERY SELECT * FROM gone($1, $2, $3, $4, $5, $6, $7, $8); END $$"""


@pytest.fixture
async def agent(site: Site) -> Caller:
    return await fill(site)


@asynccontextmanager
async def slow_search(site: Site) -> AsyncIterator[None]:
    """Searching the thread's older turns takes longer than any turn has."""
    returns = await as_superuser(site, f"SELECT pg_get_function_result('recall_turns({SIGNATURE})'::regprocedure)")
    await as_superuser(site, f"ALTER FUNCTION recall_turns({SIGNATURE}) RENAME TO gone")
    await as_superuser(site, SLOW % returns)
    yield
    await as_superuser(site, f"DROP FUNCTION recall_turns({SIGNATURE})")
    await as_superuser(site, f"ALTER FUNCTION gone({SIGNATURE}) RENAME TO recall_turns")


async def test_slow_search_costs_older_turns_and_never_the_recent_ones(site: Site, agent: Caller) -> None:
    async with slow_search(site):
        answer = await assembled(agent, asking(overrides=knobs(items_pb2.SOURCE_THREAD, deadline_ms=250)))
    assert answer.messages[-1].text == NEWEST
    assert answer.degraded
    assert not answer.conversation_missing
    thread = report(answer, items_pb2.SOURCE_THREAD)
    assert thread.status == items_pb2.SOURCE_STATUS_TIMEOUT
    assert thread.reason == "its older turns were not searched: no answer by its deadline"
    receipt = await explained(agent, answer.receipt_id)
    assert list(receipt.sources) == list(answer.sources)


async def test_recent_turns_are_awaited_longer_than_any_source(site: Site, agent: Caller) -> None:
    async with locked(site, "turns"):
        turn = asyncio.create_task(assembled(agent, asking_in_haste(), timeout=60.0))
        await until_count(site, WAITING, 3)  # the recent turns, the names of those who speak, and the search
        await until_count(site, WAITING, 2)  # the search has given up
    answer = await turn
    assert answer.messages[-1].text == NEWEST
    assert not answer.conversation_missing


async def test_call_without_its_recent_turns_fails_with_a_retry_delay(site: Site, agent: Caller) -> None:
    assert (await assembled(agent)).messages, "an old window is there to be misused"
    async with locked(site, "turns"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await assembled(agent, asking_in_haste(), timeout=5.0)
        error = caught.value
        if error.code() is not grpc.StatusCode.DEADLINE_EXCEEDED:  # the machine was too busy to say even that in time
            assert (error.code(), detailed(error)[0]) == (grpc.StatusCode.UNAVAILABLE, "REQUIRED_SOURCE_FAILED")
            retry = RetryInfo()
            assert any(detail.Unpack(retry) for detail in rpc_status.from_call(error).details)
            assert retry.retry_delay.ToTimedelta().total_seconds() > 0
    assert (await assembled(agent)).messages[-1].text == NEWEST


async def test_profile_may_allow_a_turn_without_recent_turns_and_a_notice_says_so(site: Site, agent: Caller) -> None:
    assert (await assembled(agent)).messages, "an old window is there to be misused"
    async with broken(site):
        answer = await assembled(agent, asking(overrides=WITHOUT))
    assert not answer.messages
    assert answer.degraded
    assert answer.conversation_missing
    assert report(answer, items_pb2.SOURCE_THREAD).reason.startswith("the conversation is missing: ")
    assert statuses(answer)["MEMORY"] == "OK"
    given = read(Assembly, answer)
    for send in (given.to_openai, given.to_openai_responses, given.to_anthropic, given.to_bedrock_converse):
        request = send("And now?")
        assert "could not be read and is missing here" in str(request)
    whole = read(Assembly, await assembled(agent, asking(overrides=WITHOUT)))
    assert "could not be read" not in str(whole.to_openai("And now?"))


async def test_unreadable_recent_turns_fail_the_call_at_once(site: Site, agent: Caller) -> None:
    async with broken(site):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await assembled(agent)
    assert (caught.value.code(), detailed(caught.value)[0]) == (grpc.StatusCode.UNAVAILABLE, "REQUIRED_SOURCE_FAILED")


async def test_new_thread_and_no_thread_miss_no_recent_turns(site: Site, agent: Caller) -> None:
    for thread_id in ("", "brand-new"):
        answer = await assembled(agent, asking(thread_id=thread_id))
        assert not answer.degraded
        assert not answer.conversation_missing
    await agent.AppendTurns(pb.AppendTurnsRequest(thread_id="brand-new", turns=[one_turn()]))
    assert [one.text for one in (await assembled(agent, asking(thread_id="brand-new"))).messages] == ["Ahoy"]


@asynccontextmanager
async def broken(site: Site) -> AsyncIterator[None]:
    """The recent turns cannot be read."""
    await as_superuser(site, "ALTER TABLE threads RENAME COLUMN token_count TO gone")
    yield
    await as_superuser(site, "ALTER TABLE threads RENAME COLUMN gone TO token_count")


def one_turn() -> pb.NewTurn:
    return pb.NewTurn(client_turn_id="u1", role="user", text="Ahoy")
