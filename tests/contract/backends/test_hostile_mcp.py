"""An MCP server, over HTTP or as a process, that answers too much, without end or not at all."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from sidecar.backends.backend_caller import CallLimits
from sidecar.backends.errors import AnswerUnreadable, BackendTimedOut, BackendUnavailable
from sidecar.backends.mcp_servers.mcp_stdio import bounded_stdio
from sidecar.backends.mcp_servers.mcp_tools import McpServer, McpTools
from sidecar.backends.secrets import Secret
from sidecar.context.ports import BackendError
from tests.stand_ins import hostile_tool_server
from tests.stand_ins.hostile_tool_server import CUT, HostileTools
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
    assert (await tools.call("search", {})).found == ("xxxxxxxxxx",)
    assert tools._session is session
    await tools.close()


async def is_answered(tools: McpTools) -> bool:
    try:
        return (await tools.call("search", {})).found == ("xxxxxxxxxx",)
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


def process_that(does: str, key: str = "a-key-of-the-harbour") -> McpTools:
    command = (sys.executable, "-m", "tests.stand_ins.hostile_tool_process", does)
    env = {"HARBOUR_KEY": Secret("env:KEY", {"KEY": key})}
    return McpTools("harbour", McpServer(command, env=env), CallLimits(60.0))


@pytest.mark.parametrize("does", ["large", "endless"])
async def test_process_that_writes_too_much_without_an_answer_is_ended(does: str) -> None:
    """One line of a gigabyte, or notices without end."""
    tools = process_that(does)
    await tools.declared()
    session = tools._session
    with pytest.raises(AnswerUnreadable, match="more than 8 MB"):
        await tools.call("search", {})
    assert tools._session is not session
    await tools.close()


async def test_lines_of_a_process_that_are_no_messages_are_skipped_and_not_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tools = process_that("garbage")
    assert (await tools.call("search", {})).found == ("here",)
    await tools.close()
    assert "Loading" not in caplog.text


async def test_numbers_and_schemas_beyond_the_usual_spoil_no_tool() -> None:
    tools = process_that("odd")
    odd, usual = await tools.declared()
    assert (odd.name, odd.required, usual.name) == ("odd", frozenset(), "search")
    assert odd.schema_hash != usual.schema_hash
    assert (await tools.call("search", {})).found == ('{"wei": 1000000000000000000000000}',)
    await tools.close()


async def test_malformed_tools_hide_no_other_of_their_server(caplog: pytest.LogCaptureFixture) -> None:
    tools = process_that("malformed")
    assert [one.name for one in await tools.declared()] == ["search"]
    assert [record.count for record in caplog.records if record.msg == "tools_unreadable"] == [4]  # type: ignore[attr-defined]
    assert (await tools.call("search", {})).found == ("here",)
    await tools.close()


async def test_process_that_dies_within_its_answer_is_unavailable() -> None:
    tools = process_that("dies")
    with pytest.raises(BackendUnavailable):
        await tools.call("search", {})
    await tools.close()


@pytest.mark.parametrize("ends", ["trap '' TERM", "true"], ids=["neither exits nor heeds signals", "exits at once"])
async def test_process_is_ended_with_its_children(tmp_path: Path, ends: str) -> None:
    is_stubborn = ends != "true"
    script = f"{ends}; sleep 1000 & echo $$ $! > {tmp_path}/pids; cat > /dev/null{'; wait' if is_stubborn else ''}"
    async with bounded_stdio(("sh", "-c", script), {}, grace_s=0.2):
        await until((tmp_path / "pids").exists)
        await until(lambda: len((tmp_path / "pids").read_text().split()) == 2)
    for pid in (tmp_path / "pids").read_text().split():
        await until(lambda pid=pid: _has_ended(int(pid)))  # type: ignore[misc]


def _has_ended(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


_MENDED = CUT.replace("\ud83d", "\ufffd").replace("\ude00", "\ufffd")


@pytest.mark.parametrize("does", ["cut", "cut in events"])
async def test_text_that_was_cut_within_an_emoji_is_read(hostile: HostileTools, tools: McpTools, does: str) -> None:
    hostile.does = does
    assert (await tools.call("search", {})).found == ("x" * 10 + _MENDED,)


async def test_text_of_a_process_that_was_cut_within_an_emoji_is_read() -> None:
    tools = process_that("cut")
    assert (await tools.call("search", {})).found == (_MENDED,)
    await tools.close()


async def test_answer_against_the_protocol_is_unreadable_and_not_quoted() -> None:
    tools = process_that("no content")
    with pytest.raises(AnswerUnreadable) as raised:
        await tools.call("search", {})
    assert "HARBOUR" not in str(raised.value)
    assert raised.value.__cause__ is None
    await tools.close()


@pytest.mark.parametrize("does", ["no structure", "endless schema"])
async def test_answer_is_not_judged_by_the_servers_schema(does: str) -> None:
    """A pattern of a schema may take minutes in the event loop of all calls."""
    tools = process_that(does)
    await tools.declared()
    assert (await tools.call("search", {})).found == ("here",)
    await tools.close()


async def test_structured_answer_without_a_text_is_its_text_without_the_secret() -> None:
    for key in ("a-key-of-the-harbour", 'a-"quoted"-key\\of-the-harbour'):
        tools = process_that("structure", key)
        assert (await tools.call("search", {})).found == ('{"berth":12,"key":"…"}',)
        await tools.close()


async def test_structured_answer_beside_a_blank_text_is_its_text() -> None:
    tools = process_that("blank text")
    assert (await tools.call("search", {})).found == ('{"berth":12}',)
    await tools.close()


async def test_embedded_text_is_used_and_results_without_text_are_noted() -> None:
    tools = process_that("resource")
    answer = await tools.call("search", {})
    assert answer.found == ("Berth 12",)
    assert answer.left_out == ("harbour/search: 1 without text, left out (image)",)
    await tools.close()


async def test_of_two_tools_of_one_name_the_first_is_declared_without_the_secret() -> None:
    tools = process_that("twice")
    (one,) = await tools.declared()
    assert one.description == "…"
    await tools.close()
