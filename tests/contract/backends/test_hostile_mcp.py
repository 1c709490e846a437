"""An MCP server over HTTP that answers too much, without end or not at all."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from sidecar.backends.asking import CallLimits
from sidecar.backends.errors import AnswerUnreadable, BackendTimedOut
from sidecar.backends.mcp_servers.mcp_tools import McpServer, McpTools
from sidecar.context.ports import BackendError
from tests.stand_ins import hostile_tool_server
from tests.stand_ins.hostile_tool_server import HostileTools
from tests.support.waiting import until

PATIENCE_S = 0.4


@pytest.fixture
def hostile() -> Iterator[HostileTools]:
    """A hostile server."""
    with hostile_tool_server.serving() as one:
        yield one


@pytest.fixture
async def tools(hostile: HostileTools) -> AsyncIterator[McpTools]:
    """Its client, which has little patience."""
    one = McpTools("harbour", McpServer(url=hostile.url), CallLimits(PATIENCE_S))
    yield one
    await one.close()


@pytest.mark.parametrize(("does", "why"), [("too large", "more than 8 MB"), ("compressed", "compressed")])
async def test_answer_beyond_its_bounds_is_refused_and_the_session_stays(
    hostile: HostileTools, does: str, why: str
) -> None:
    tools = McpTools("harbour", McpServer(url=hostile.url), CallLimits(60.0))
    await tools.call("search", {})
    session, hostile.does = tools._session, does
    with pytest.raises(AnswerUnreadable, match=why):
        await tools.call("search", {})
    hostile.does = "answer"
    assert await tools.call("search", {}) == ("xxxxxxxxxx",)
    assert tools._session is session
    await tools.close()


async def is_answered(tools: McpTools) -> bool:
    try:
        return await tools.call("search", {}) == ("xxxxxxxxxx",)
    except BackendError:
        return False


async def test_endless_answer_is_left_at_the_deadline(hostile: HostileTools, tools: McpTools) -> None:
    await until(lambda: is_answered(tools))
    hostile.does = "endless"
    with pytest.raises(BackendTimedOut):
        await tools.call("search", {})
    await until(lambda: hostile.running == 0, patience_s=30.0)


@pytest.mark.parametrize("is_open", [True, False])
async def test_server_that_hung_is_used_again(hostile: HostileTools, tools: McpTools, is_open: bool) -> None:
    if is_open:
        await until(lambda: is_answered(tools))
    hostile.hangs = True
    for _ in range(2):
        with pytest.raises(BackendTimedOut):
            await tools.call("search", {})
    hostile.hangs = False  # the connections that hang never get an answer
    await until(lambda: is_answered(tools), patience_s=30.0)


async def test_process_that_hung_is_replaced() -> None:
    silent = McpTools("harbour", McpServer(("sleep", "1000")), CallLimits(0.1))
    for _ in range(3):
        with pytest.raises(BackendTimedOut):
            await silent.call("search", {})
    first = silent._session
    assert first is not None
    assert first.has_ended
    with pytest.raises(BackendTimedOut):
        await silent.call("search", {})
    assert silent._session is not first
    await silent.close()
