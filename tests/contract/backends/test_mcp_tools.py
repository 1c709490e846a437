"""Tools of an MCP server that runs as a real process, over standard input and output and over HTTP."""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast
from uuid import UUID

import pytest

from sidecar.backends.backend_caller import CallLimits, Units
from sidecar.backends.errors import BackendDenied, BackendTimedOut, BackendUnavailable
from sidecar.backends.mcp_servers.mcp_tools import McpServer, McpTools, ToolFailed
from sidecar.backends.secrets import Secret
from sidecar.backends.tools import Calling, Declared, Offered
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.services.backends import Backends
from sidecar.sources.tools import ToolsSource
from store.db.postgres import Pools
from store.scope import Scope
from tests.support.served.backed import tool_server

STDIO = (sys.executable, "-m", "tests.stand_ins.tool_server", "stdio")
CANARY = "canary-77aa88bb"
SCOPE = Scope(UUID(int=1), UUID(int=2))
QUERY = SourceQuery(
    "Which berth is free?", ("berth", "free"), "t", "a", "default", "", "", datetime(2026, 5, 1, tzinfo=UTC)
)
LIMITS = SourceLimits(10, 3)


@asynccontextmanager
async def asked(server: McpServer | None = None, bounds: CallLimits | None = None) -> AsyncIterator[McpTools]:
    tools = McpTools("harbour", server or McpServer(STDIO), bounds or CallLimits(60.0))
    yield tools
    await tools.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where a server answers over HTTP."""
    with tool_server() as url:
        yield url


class Approved:
    """Approvals as they are."""

    def __init__(self, hashes: Mapping[str, bytes]) -> None:
        self._hashes = hashes

    async def approved(self, tenant_id: UUID, backend: str) -> Mapping[str, bytes]:
        assert (tenant_id, backend) == (SCOPE.tenant_id, "harbour")
        return self._hashes


async def hashes(tools: McpTools, *names: str) -> Approved:
    return Approved({tool.name: tool.schema_hash for tool in await tools.declared() if tool.name in names})


async def find(tools: McpTools, approved: Approved, calling: Calling | None = None) -> SourceAnswer:
    return await ToolsSource(tools, approved, calling or Calling()).find(QUERY, SCOPE, LIMITS)


async def test_process_lists_its_tools_and_answers() -> None:
    async with asked() as tools:
        declared = {tool.name: tool for tool in await tools.declared()}
        assert (declared["search"].is_read_only, declared["search"].is_search_safe) == (True, True)
        assert declared["search"].required == {"query"}
        assert not declared["writes"].is_read_only
        assert not declared["undeclared"].is_search_safe
        answer = (await tools.call("search", {"query": "berth"})).found
    assert answer == ("Berth 12 is free. You asked: berth", "The crane works on Mondays.")


async def test_server_at_an_address_answers_the_same(address: str) -> None:
    async with asked(McpServer(url=address)) as tools, asked() as process:
        assert await tools.call("search", {"query": "x"}) == await process.call("search", {"query": "x"})
        assert await tools.declared() == await process.declared()


async def test_approved_tool_is_called_and_its_results_become_items(address: str) -> None:
    async with asked(McpServer(url=address)) as tools:
        answer = await find(tools, await hashes(tools, "search"))
    assert [item.text for item in answer.items] == [
        "Berth 12 is free. You asked: Which berth is free?",
        "The crane works on Mondays.",
    ]
    assert {ref.ref for item in answer.items for ref in item.provenance} == {"harbour/search"}


async def test_tool_that_hangs_hides_no_other_at_the_deadline_of_the_turn() -> None:
    async with asked() as tools:
        source = ToolsSource(tools, await hashes(tools, "hung", "search"), Calling())
        answer = await source.find(QUERY, SCOPE, SourceLimits(10, 3, deadline_s=2.0))
    assert len(answer.items) == 2
    (late,) = answer.failures
    assert late.startswith("harbour/hung: The service did not answer in time")


async def test_every_tool_has_its_share_of_the_results() -> None:
    many = tuple(f"Berth {number} is free." for number in range(30))

    class Answering(McpTools):
        async def declared(self, *, is_fresh: bool = False) -> tuple[Declared, ...]:
            return tuple(Declared(name, "", True, True, frozenset(), b"x") for name in ("all", "best"))

        async def call(self, tool: str, arguments: Mapping[str, object]) -> Units[str]:
            return Units(many if tool == "all" else ("Berth 99 is the best.",))

    answer = await find(Answering("harbour", McpServer(STDIO), CallLimits()), Approved({"all": b"x", "best": b"x"}))
    assert len(answer.items) == LIMITS.top_k
    assert [item.text for item in answer.items][:3] == [many[0], "Berth 99 is the best.", many[1]]


async def test_nothing_is_called_without_an_approved_tool() -> None:
    async with asked(McpServer(("/nonexistent/program",))) as tools:
        with pytest.raises(SourceSkipped, match="no tool is approved"):
            await find(tools, Approved({}))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("writes", "read-only"),
        ("undeclared", "safe for searches"),
        ("needy", "arguments that are not configured: port"),
    ],
)
async def test_approved_tool_that_is_not_for_turns_is_not_called(address: str, name: str, why: str) -> None:
    async with asked(McpServer(url=address)) as tools:
        with pytest.raises(SourceSkipped, match=why):
            await find(tools, await hashes(tools, name))


async def test_tool_declared_and_configured_by_the_operator_is_called(address: str) -> None:
    calling = Calling(arguments={"port": "Lisbon"}, search_safe=frozenset({"undeclared"}))
    async with asked(McpServer(url=address)) as tools:
        answer = await find(tools, await hashes(tools, "undeclared", "needy"), calling)
    assert {item.text for item in answer.items} == {"reads, but is it safe?", "Which berth is free? in Lisbon"}


async def test_tool_changed_since_its_approval_is_not_called() -> None:
    async with asked() as tools:
        approved = await hashes(tools, "search")
    async with asked(McpServer((*STDIO, "changed"))) as changed:
        with pytest.raises(SourceSkipped, match="has changed since it was approved"):
            await find(changed, approved)
        with pytest.raises(SourceSkipped, match="no longer has it"):
            await find(changed, Approved({"gone": b"x"}))


async def test_failing_tool_hides_no_other_and_leaks_no_secret(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = McpServer(STDIO, env={"HARBOUR_KEY": Secret("env:KEY", {"KEY": CANARY})})
    with caplog.at_level(logging.DEBUG):
        async with asked(server) as tools:
            answer = await find(tools, await hashes(tools, "broken", "key", "tells"))
            with pytest.raises(ToolFailed):
                await find(tools, await hashes(tools, "broken"))
    assert [item.text for item in answer.items] == ["a key is there", "HARBOUR_KEY=…"]
    assert "harbour" in answer.failures[0]
    assert CANARY not in f"{answer} {caplog.text} {server}"


async def test_secret_that_a_running_server_was_given_is_redacted_after_its_rotation() -> None:
    environ = {"KEY": CANARY}
    async with asked(McpServer(STDIO, env={"HARBOUR_KEY": Secret("env:KEY", environ)})) as tools:
        await tools.declared()
        for later in ("another-key-11cc", ""):
            environ["KEY"] = later
            assert (await tools.call("tells", {"query": "x"})).found == ("HARBOUR_KEY=…",)
        await tools.close()
        environ["KEY"] = "another-key-11cc"
        assert (await tools.call("tells", {"query": "x"})).found == ("HARBOUR_KEY=…",)


async def test_hanging_tool_is_abandoned_at_the_deadline_and_the_next_call_works() -> None:
    async with asked() as tools:
        await tools.declared()
        impatient = McpTools("harbour", McpServer(STDIO), CallLimits(0.2))
        impatient._session = tools._session
        with pytest.raises(BackendTimedOut):
            await impatient.call("hung", {"query": "x"})
        assert (await tools.call("search", {"query": "x"})).found


async def test_dead_process_is_started_again() -> None:
    async with asked() as tools:
        await tools.declared()
        with pytest.raises(BackendUnavailable):
            await tools.call("leaves", {"query": "x"})
        assert (await tools.call("search", {"query": "x"})).found


async def test_missing_program_is_unavailable() -> None:
    async with asked(McpServer(("/nonexistent/program",))) as tools:
        with pytest.raises(BackendUnavailable, match="FileNotFoundError"):
            await tools.declared()


@pytest.mark.parametrize(
    ("does", "told"), [("raise SystemExit(7)", "with status 7"), ("import os; os.kill(os.getpid(), 9)", "by signal 9")]
)
async def test_end_of_a_process_that_does_not_start_is_reported(does: str, told: str) -> None:
    """Its standard error is discarded, so this is all that an operator learns about wrong arguments."""
    async with asked(McpServer((sys.executable, "-c", does))) as tools:
        with pytest.raises(BackendUnavailable, match=f"its process ended {told}"):
            await tools.declared()


async def test_unreachable_server_is_unavailable() -> None:
    async with asked(McpServer(url="http://127.0.0.1:9/mcp")) as tools:
        with pytest.raises(BackendUnavailable):
            await tools.declared()


async def test_missing_secret_is_named_by_its_reference() -> None:
    async with asked(McpServer(STDIO, env={"HARBOUR_KEY": Secret("env:NOTHING", {})})) as tools:
        with pytest.raises(BackendDenied, match="env:NOTHING"):
            await tools.declared()


async def test_cancelled_caller_leaves_the_session_to_others(address: str) -> None:
    async with asked(McpServer(url=address)) as tools:
        await tools.declared()
        waiting = asyncio.create_task(tools.call("hung", {"query": "x"}))
        await tools.call("search", {"query": "x"})
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert (await tools.call("search", {"query": "x"})).found


async def test_servers_are_asked_for_their_tools_at_once() -> None:
    """Ten that do not answer would otherwise take ten times their deadline, which no caller waits for."""
    asked_now, all_are_asked = list[str](), asyncio.Event()

    class Keeper:
        async def offered(self, tenant_id: UUID) -> tuple[Offered, ...]:
            asked_now.append("one")
            if len(asked_now) == 3:
                all_are_asked.set()
            await all_are_asked.wait()
            raise BackendTimedOut("harbour")

        async def tried(self, tool: str, question: str) -> tuple[str, ...]:
            return ()

    configured = {SCOPE.tenant_id: {name: Keeper() for name in "abc"}}
    service = Backends(cast("Pools", SimpleNamespace(background=None)), configured, now=lambda: QUERY.now)
    tools, problems = await asyncio.wait_for(service.tools(SCOPE.tenant_id), 10)
    assert (tools, len(problems)) == ([], 3)
