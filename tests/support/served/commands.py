"""Commands run beside a served sidecar, and what they print."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sidecar.cli.root import run
from tests.support.served.site import Site


async def said(site: Site, capsys: pytest.CaptureFixture[str], *arguments: str, admin: bool = False) -> tuple[int, str]:
    """Run a command beside the server, and return its exit code and what it wrote."""
    token = ["--address", site.app.addresses[0], "--token", site.token(admin=admin)]
    code = await asyncio.to_thread(run, [*arguments, *token])
    return code, capsys.readouterr().out


async def told(site: Site, capsys: pytest.CaptureFixture[str], *arguments: str, admin: bool = False) -> Any:
    """Return a command's JSON."""
    code, text = await said(site, capsys, *arguments, "--json", admin=admin)
    assert code == 0, text
    return json.loads(text)
