"""Measures how the console draws the graph of a large wiki in Chromium: the time until it rests, and the frames while zooming.

Chromium is driven through chromedriver (W3C WebDriver); without the two programs there are no figures.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from subprocess import DEVNULL, Popen
from typing import Any
from uuid import uuid4

from bench import corpus
from bench.databases import own_database
from bench.figures import Figure, at_most, plain, quantile
from bench.graph.walking import fill
from sidecar.process.app import running
from sidecar.process.parts import Part
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from store.scope import Scope, owner_uuid, tenant_uuid

_TENANT, _OWNER = "bench", "owner"
_SCOPE = Scope(tenant_uuid(_TENANT), owner_uuid(_OWNER))
_FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1180,760"]
_FRAMES, _FLUID_MS, _READY_S = 150, 50.0, 90.0
_SUBMIT = "const field = document.querySelector(arguments[0]); field.value = arguments[1]; field.form.requestSubmit();"
_ZOOM = """
const done = arguments[0], canvas = document.querySelector('#graph canvas'), box = canvas.getBoundingClientRect(), took = [];
let last = performance.now(), left = FRAMES;
const frame = (now) => {
  took.push(now - last);
  last = now;
  const deltaY = left % 50 < 25 ? -40 : 40;
  const at = { deltaY, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true };
  canvas.dispatchEvent(new WheelEvent('wheel', { ...at, cancelable: true }));
  if (left-- > 0) requestAnimationFrame(frame); else done(took.slice(2));
};
requestAnimationFrame(frame);
"""


async def measured(scale: float) -> list[Figure]:
    """Return the figures of the drawing; none without Chromium and chromedriver."""
    driver = shutil.which("chromedriver")
    if driver is None or shutil.which("chromium") is None:
        return []
    async with own_database(is_installed=True) as (settings, database):
        served = replace(settings, console_listen="127.0.0.1:0", http_peer_requests_per_s=0, worker=False)
        async with running(served, part=Part(embeds=False)) as app:
            await corpus.put_tenant(app.pools.background)
            count, edges = await fill(database.dsn, _SCOPE, scale)
            grant = Grant(_TENANT, role=Role.ADMIN)
            token = mint(grant, identity_settings(served), now_s=time.time(), token_id=uuid4().hex)
            ready_s, frames_ms, status = await asyncio.to_thread(
                _zoomed, driver, f"http://{app.console_address}", token
            )
    note = f"{count} pages, {edges} edges; drawn: {status}"
    return [
        at_most(
            "frame of the console's graph while zooming, p95",
            quantile(frames_ms, 0.95),
            _FLUID_MS,
            unit=" ms",
            note=note,
        ),
        plain("  the same frame, p50", quantile(frames_ms, 0.5), unit=" ms"),
        plain("  until the graph stands", ready_s, unit=" s"),
    ]


class _Browser:
    """A session of a browser."""

    def __init__(self, base: str) -> None:
        self._base = base
        capabilities = {"browserName": "chrome", "goog:chromeOptions": {"args": _FLAGS, "binary": "/usr/bin/chromium"}}
        session = self._send("POST", "/session", {"capabilities": {"alwaysMatch": capabilities}})
        self._base += f"/session/{session['sessionId']}"
        self._send("POST", "/timeouts", {"script": 120_000, "pageLoad": 120_000})

    def go(self, url: str) -> None:
        self._send("POST", "/url", {"url": url})

    def run(self, script: str, *arguments: object, waits: bool = False) -> Any:
        return self._send(
            "POST", f"/execute/{'async' if waits else 'sync'}", {"script": script, "args": list(arguments)}
        )

    def until(self, script: str, *, within_s: float) -> None:
        """Wait until a script returns a true value. Raises TimeoutError."""
        end_s = time.monotonic() + within_s
        while not self.run(script):
            if time.monotonic() > end_s:
                raise TimeoutError(script)
            time.sleep(0.05)

    def close(self) -> None:
        self._send("DELETE", "", None)

    def _send(self, method: str, path: str, body: object) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._base + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=180) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:500]) from error


def _zoomed(driver: str, base: str, token: str) -> tuple[float, list[float], str]:
    """Return the seconds until the graph rests, the milliseconds of each frame while zooming, and the console's line about it."""
    with _driving(driver) as address:
        browser = _Browser(address)
        try:
            browser.go(f"{base}/login")
            browser.run(_SUBMIT, "#token", token)
            browser.until("return location.pathname !== '/login'", within_s=_READY_S)
            browser.go(f"{base}/owner")
            browser.run(_SUBMIT, "#owner", _OWNER)
            browser.until("return location.pathname === '/turns'", within_s=_READY_S)
            began = time.monotonic()
            browser.go(f"{base}/wiki/graph")
            browser.until("return document.querySelector('#graph[data-ready]')", within_s=_READY_S)
            browser.until("return document.querySelector('#graph').dataset.calm", within_s=_READY_S)
            ready_s = time.monotonic() - began
            frames_ms = browser.run(_ZOOM.replace("FRAMES", str(_FRAMES)), waits=True)
            return ready_s, frames_ms, browser.run("return document.querySelector('[data-told]').textContent")
        finally:
            browser.close()


@contextmanager
def _driving(driver: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with Popen([driver, f"--port={port}"], stdout=DEVNULL, stderr=DEVNULL) as process:
        try:
            for _ in range(100):
                try:
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=5).close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
