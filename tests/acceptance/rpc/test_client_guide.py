"""The examples of docs/client.md run as they stand there; the address is the test's, and a script plays the provider."""

from __future__ import annotations

import asyncio
import re
from types import SimpleNamespace
from typing import Any

import pytest

from sidecar.v1 import context_pb2
from tests.support.places import ROOT
from tests.support.served.site import Site

PB: Any = context_pb2
GUIDE = (ROOT / "docs" / "client.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", GUIDE, re.DOTALL | re.MULTILINE)


class Provider:
    """A provider whose model calls a tool in the first round and answers in the second; it remembers the requests."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.messages = SimpleNamespace(create=self.create)

    def create(self, **request: Any) -> Any:
        self.requests.append(request)
        call = SimpleNamespace(type="tool_use", id="toolu_1", name="weather", input={"city": "Lisbon"})
        text = SimpleNamespace(type="text", text="Take one.")
        content = [call] if len(self.requests) == 1 else [text]
        return SimpleNamespace(content=content, usage=SimpleNamespace(input_tokens=100))


async def test_examples_of_the_guide_run_as_printed(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", "ada", agent="helper"))
    provider = Provider()
    shared = {"anthropic": provider, "run_tool": lambda name, arguments: f"{name} in {arguments['city']}: rain"}
    for example in EXAMPLES:
        code = example.replace("127.0.0.1:7433", site.app.addresses[0])
        assert code != example
        await asyncio.to_thread(exec, compile(code, "docs/client.md", "exec"), shared)
    told = capsys.readouterr().out.strip().split("\n")
    assert told[0] == "Take one."
    assert all(re.fullmatch(r"[0-9a-f-]{36}", receipt_id) for receipt_id in told[1:])
    assert len(told) == 3
    first, second = (request["messages"] for request in provider.requests)
    assert second[: len(first)] == first
    assert "weather in Lisbon: rain" in str(second[-1])
    stored = await site.caller("acme", "ada").ListTurns(PB.ListTurnsRequest(thread_id="trip"))
    assert [turn.role for turn in stored.turns] == ["user", "assistant", "tool", "assistant"]
