"""The README's first request runs as it stands there; only the address is that of the test's service."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.support.places import ROOT
from tests.support.served.site import Site

README = (ROOT / "README.md").read_text(encoding="utf-8")


def first_request() -> str:
    """Return the README's first block of Python."""
    block = re.search(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    assert block is not None
    return block[1]


def test_first_request_takes_ten_lines() -> None:
    assert len([line for line in first_request().splitlines() if line.strip()]) <= 10


async def test_first_request_answers_with_the_stored_turn(
    site: Site, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIDECAR_TOKEN", site.token("acme", "ada", agent="helper"))
    block = first_request().replace("127.0.0.1:7433", site.app.addresses[0])
    assert site.app.addresses[0] in block
    await asyncio.to_thread(exec, compile(block, "README.md", "exec"), {})
    sent, receipt_id = capsys.readouterr().out.strip().split("\n")
    assert "My gate code is 4417." in sent
    assert "What was my gate code?" in sent
    assert re.fullmatch(r"[0-9a-f-]{36}", receipt_id)
