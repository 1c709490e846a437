"""What a terminal shows is complete, adds up, and never lets stored text drive the terminal."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from rich.console import Console

from sidecar.cli.operations.tools import draw_tools
from sidecar.cli.shared import drawing
from sidecar.cli.shared.output import Voice, counted, least_width
from sidecar.client.answers import (
    Assembly,
    AssemblyDiff,
    Budget,
    CandidateDecision,
    DecisionChange,
    MessageReading,
    Receipt,
    Replay,
    SourceReport,
    UsageReport,
)
from sidecar.client.answers.backends import ToolListing
from sidecar.client.shapes import Message, SystemBlock, ToolCall, ToolResult

BUDGET = Budget(10_000, 500, 200, 1_000, 40, 100, 8_160, 3_000, "o200k_base", True)
WIKI = SourceReport("wiki", "OK", "", 12.34, 1, 9, 3, 2, 4, 1_700, 2_500)
TOOLS = SourceReport("tools", "TIMEOUT", "no answer by its deadline", 250.0, 1, 0, 0, 0, 0, 0, 0)
ASSEMBLY = Assembly(
    receipt_id="r-1",
    items=(),
    system_blocks=(SystemBlock("<ctx>\nLisbon\n</ctx>", "wiki", "stable", 1_700, True),),
    messages=(
        Message("user", "Weather?"),
        Message("assistant", parts=(ToolCall("c", "forecast", {"city": "Lisbon"}),)),
        Message("tool", parts=(ToolResult("c", "22 degrees"),)),
    ),
    budget=BUDGET,
    sources=(WIKI, TOOLS),
    decisions=(),
    degraded=True,
    profile_version="template:default@3",
    content_sha256="",
    stable_prefix_tokens=1_700,
    last_exchange_cut=False,
)
FOLDED = CandidateDecision("memory", "m-1", "deduped_into", "says the same", "", 0, 0.71, 2, "w-1")
KEPT = CandidateDecision("wiki", "w-1", "kept", "fits", "FULL", 120, 0.9, 0, "")
RECEIPT = Receipt(
    receipt_id="r-1",
    agent_id="a",
    thread_id="t1",
    model_id="gpt-4o",
    message="Weather?",
    profile_version="template:default@3",
    profile={},
    budget=BUDGET,
    sources=(WIKI,),
    decisions=(KEPT, FOLDED),
    degraded=False,
    content_sha256="",
    duration_ms=17.5,
    create_time=datetime(2026, 9, 7, 8, 12, tzinfo=UTC),
    usage=UsageReport(5_120, 310, 1_700, 0, ()),
)


def shown(parts: Iterable[Any], *, width: int = 140) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False, markup=False, emoji=False)
    for part in parts:
        console.print(part)
    return out.getvalue()


def test_an_assembly_shows_context_sources_bars_and_receipt() -> None:
    text = shown(drawing.assembly(ASSEMBLY))
    assert "── wiki, stable, 1,700 tokens, cache point" in text
    assert 'assistant: calls forecast {"city": "Lisbon"}' in text
    assert "tool: 22 degrees" in text
    assert "receipt r-1" in text
    assert "Degraded" in text
    wiki = next(line.split() for line in text.splitlines() if line.startswith("wiki"))
    assert wiki == ["wiki", "OK", "12.3", "9", "3", "2", "4", "1,700"]
    assert "TIMEOUT" in next(line for line in text.splitlines() if line.startswith("tools"))
    assert "tools: no answer by its deadline" in text


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ((0, "memory", "memories"), "0 memories"),
        ((1, "memory", "memories"), "1 memory"),
        ((2, "turn"), "2 turns"),
        ((1, "turn"), "1 turn"),
        ((12345, "byte"), "12,345 bytes"),
    ],
)
def test_count_agrees_with_its_noun(given: tuple[Any, ...], text: str) -> None:
    assert counted(*given) == text


def test_short_view_says_how_many_rows_it_omits() -> None:
    long = replace(
        ASSEMBLY, system_blocks=(SystemBlock("\n".join(f"line {n}" for n in range(50)), "wiki", "stable", 9),)
    )
    text = shown(drawing.context(long, max_lines=2))
    assert "line 0\n   … 48 more lines\nline 49\n" in text
    assert "line 1\n" not in text
    assert "… 1 earlier message\n" in text
    assert "Weather?" not in text


def test_a_receipt_shows_each_decision_with_its_reason() -> None:
    text = shown(drawing.receipt(RECEIPT))
    assert "says the same (w-1)" in text
    assert "0.710" in text
    assert "5,120 in, 310 out, 1,700 from the cache" in text
    assert "2026-09-07T08:12:00+00:00, 17.5 ms" in text
    only_wiki = shown(drawing.receipt(RECEIPT, only="wiki"))
    assert "fits" in only_wiki
    assert "says the same" not in only_wiki


def test_difference_names_the_changes_or_says_that_there_are_none() -> None:
    change = DecisionChange("memory", "m-1", "kept", "", "over the ceiling")
    diff = AssemblyDiff((change,), {"memory": -320, "wiki": 45}, {"wiki": "OK → TIMEOUT"}, "volatile")
    text = shown(drawing.difference(diff))
    assert "not offered" in text
    assert "memory: -320 tokens" in text
    assert "wiki: +45 tokens" in text
    assert "wiki: OK → TIMEOUT" in text
    assert "volatile" in text
    assert shown(drawing.difference(AssemblyDiff((), {}, {}, ""))) == "Nothing differs.\n"
    assert "pool 8,160, used 3,000" in shown(drawing.replay(Replay(ASSEMBLY, diff)))


def test_nothing_recalled_is_told_by_its_cause() -> None:
    unworthy, silent = (replace(ASSEMBLY, nothing_found=True, sources=sources) for sources in ((WIKI,), (TOOLS,)))
    assert "no match is worth its tokens. Show the omitted items with: sidecar replay r-1" in shown(
        drawing.assembly(unworthy)
    )
    assert "Nothing was recalled: no source found anything.\nDegraded" in shown(drawing.assembly(silent))


def test_tools_of_servers_that_do_not_answer_are_not_said_to_need_a_backend() -> None:
    text = shown(draw_tools(ToolListing((), ("harbour: its process ended with status 3",))))
    assert text == "No tools.\nno answer: harbour: its process ended with status 3\n"


@pytest.mark.parametrize(("usd", "shown_as"), [(1_250.0, "$1,250.00"), (0.5, "$0.50"), (0.0025, "$0.0025")])
def test_limits_of_budgets_are_shown_to_the_cent_or_whole(usd: float, shown_as: str) -> None:
    assert drawing.dollars(usd) == shown_as


def test_stored_text_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = "\x1b[2J\x1b]0;owned\x07[bold red]x\x9b31m\r"
    assembly = replace(
        ASSEMBLY,
        system_blocks=(SystemBlock(hostile, "wiki", "stable", 1),),
        messages=(Message("user", hostile, (ToolCall(hostile, hostile, {hostile: 1}), ToolResult("c", hostile))),),
        sources=(replace(WIKI, reason=hostile),),
    )
    receipt = replace(
        RECEIPT, message=hostile, decisions=(replace(KEPT, item_id=hostile, reason=hostile, into_item_id=hostile),)
    )
    diff = AssemblyDiff((DecisionChange("wiki", hostile, "kept", "", hostile),), {}, {"wiki": hostile}, "")
    cells = drawing.rows(("text",), [[hostile]])
    parts = [*drawing.assembly(assembly), *drawing.receipt(receipt), *drawing.difference(diff), cells]
    Voice(is_json=False).show(parts, list)
    text = capsys.readouterr().out
    assert not [letter for letter in text if letter != "\n" and (ord(letter) < 32 or 127 <= ord(letter) < 160)]
    assert "[bold red]" in text


def test_lines_of_any_command_cannot_control_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    speaker = Message("Ana\x1b]0;owned\x07\u202e", "Hello.")
    Voice(is_json=False).show(speaker, drawing.message_parts)
    assert capsys.readouterr().out == "Ana\ufffd]0;owned\ufffd\ufffd: Hello.\n"


def test_ids_are_cut_to_the_width_of_the_table() -> None:
    text = "turn:28b5b944-3487-5e01-860a-f17817e9423d stands for mem-0001 and 28b5b944-not-an-id"
    assert drawing.short_ids(text) == "turn:28b5b944… stands for mem-0001 and 28b5b944-not-an-id"


def test_a_reason_that_names_its_item_does_not_name_it_twice() -> None:
    folded = replace(FOLDED, reason="w-1 stands for it")
    assert shown([drawing.decisions([folded])]).count("w-1") == 1


@pytest.mark.parametrize("width", [40, 80, 160])
def test_ids_that_other_commands_take_are_whole_on_any_terminal(width: int) -> None:
    receipt, memory = "01a226c0-58a0-7d47-8a82-0122d456b889", "579324e27803e6f556b901be5ef1f1f1"
    turns = drawing.rows(("time", "receipt", "state"), [["2026-11-29 10:01", receipt, "whole"]])
    memories = drawing.rows(("memory", "text"), [[memory, "Moved to Lisbon. " * 20]])
    console = Console(file=io.StringIO(), width=width)
    for table in (turns, memories):
        console.width = max(width, least_width(console, table))
        console.print(table)
    text = console.file.getvalue()  # type: ignore[attr-defined]  # it is a StringIO
    assert f"2026-11-29 10:01  {receipt}  whole" in text
    assert f"{memory}  Moved to Lisbon" in text


def test_a_follow_up_is_said_to_be_searched_in_its_thread() -> None:
    reading = MessageReading(parts=("And when?",), thread_words=("ferry", "Porto"), leaning=0.8)
    line = "Searched as a follow-up in its thread (weight 80%), also with the thread's words: ferry, Porto\n"
    assert line in shown(drawing.receipt(replace(RECEIPT, reading=reading)))
