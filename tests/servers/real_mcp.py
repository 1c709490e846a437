"""The MCP client against the protocol's reference server, over both transports: `make test-mcp` starts it and says where."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from datetime import UTC, datetime
from uuid import UUID

import pytest

from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.errors import BackendMisused
from sidecar.backends.mcp_servers.mcp_tools import McpServer, McpTools, ToolFailed
from sidecar.backends.secrets import Secret
from sidecar.backends.tools import Calling
from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.sources.tools import ToolsSource
from store.scope import Scope

CANARY = "canary-5d6e7f80"
SCOPE = Scope(UUID(int=1), UUID(int=2))
QUERY = SourceQuery(
    "Which berth is free?", ("berth", "free"), "t", "a", "default", "", "", datetime(2026, 5, 1, tzinfo=UTC)
)


@pytest.fixture(params=["stdio", "http"])
async def tools(request: pytest.FixtureRequest) -> AsyncIterator[McpTools]:
    """The server's tools over one of the transports."""
    secrets = {"HARBOUR_KEY": Secret("env:KEY", {"KEY": CANARY})}
    by_name = {
        "stdio": McpServer((os.environ["MCP_PROGRAM"], "stdio"), env=secrets),
        "http": McpServer(url=os.environ["MCP_URL"], headers={"X-Harbour-Key": secrets["HARBOUR_KEY"]}),
    }
    one = McpTools("everything", by_name[request.param], CallLimits(60.0))
    yield one
    await one.close()


class Approved:
    """Approvals as they are."""

    def __init__(self, hashes: Mapping[str, bytes]) -> None:
        self._hashes = hashes

    async def approved(self, tenant_id: UUID, backend: str) -> Mapping[str, bytes]:
        """Return the approvals."""
        return self._hashes


async def asked(tools: McpTools, name: str, **calling: object) -> SourceAnswer:
    """Return what an approved tool brings to a turn."""
    hashes = {tool.name: tool.schema_hash for tool in await tools.declared() if tool.name == name}
    source = ToolsSource(tools, Approved(hashes), Calling(**calling))  # type: ignore[arg-type]  # as each test has it
    return await source.find(QUERY, SCOPE, SourceLimits(9, 3))


async def test_the_tools_are_read_as_they_are_declared(tools: McpTools) -> None:
    declared = {tool.name: tool for tool in await tools.declared()}
    assert declared["echo"].required == {"message"}
    assert declared["echo"].is_read_only
    assert not declared["echo"].is_search_safe
    assert not declared["toggle-simulated-logging"].is_read_only
    again = {tool.name: tool.schema_hash for tool in await tools.declared(is_fresh=True)}
    assert again == {name: tool.schema_hash for name, tool in declared.items()}


async def test_an_approved_tool_answers_a_turn_once_the_operator_calls_it_safe(tools: McpTools) -> None:
    with pytest.raises(SourceSkipped, match="not declared safe"):
        await asked(tools, "echo", question_argument="message")
    answer = await asked(tools, "echo", question_argument="message", search_safe=frozenset({"echo"}))
    assert [item.text for item in answer.items] == ["Echo: Which berth is free?"]


async def test_a_tool_that_changes_things_is_never_asked(tools: McpTools) -> None:
    with pytest.raises(SourceSkipped, match="read-only"):
        await asked(tools, "toggle-simulated-logging", search_safe=frozenset({"toggle-simulated-logging"}))


async def test_structured_results_links_and_pictures_become_text_or_nothing(tools: McpTools) -> None:
    (text,) = (await tools.call("get-structured-content", {"location": "Chicago"})).found
    assert "temperature" in text
    assert all(isinstance(one, str) and one for one in (await tools.call("get-tiny-image", {})).found)


async def test_a_wrong_call_is_an_error_and_the_next_one_works(tools: McpTools) -> None:
    for name, arguments in (("nothing", {}), ("get-sum", {"a": "x"})):
        with pytest.raises((ToolFailed, BackendMisused)):
            await tools.call(name, arguments)
    assert (await tools.call("get-sum", {"a": 1, "b": 2})).found == ("The sum of 1 and 2 is 3.",)


async def test_secret_is_removed_from_a_tool_that_prints_its_variables(tools: McpTools) -> None:
    told = await asked(tools, "get-env", search_safe=frozenset({"get-env"}))
    assert told.items
    assert CANARY not in str(told)
