"""Measures the console's views and the commands with 100,000 full receipts and 50,000 pages in one tenant."""

from __future__ import annotations

import asyncio
import re
import resource
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from hashlib import md5
from io import BytesIO, TextIOWrapper
from typing import Any
from uuid import UUID, uuid4

import grpc
import httpx

from bench.bulk import filling
from bench.databases import own_database, size_mb
from bench.figures import Figure, at_most, plain
from bench.load.loop_held import watching
from bench.texts import Writer
from sidecar.cli import root
from sidecar.process.app import App, running
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime.settings import Settings
from sidecar.v1 import context_pb2, memory_pb2
from sidecar.v1.context_pb2_grpc import ContextServiceStub
from sidecar.v1.memory_pb2_grpc import MemoryServiceStub
from store.db import queries
from store.db.postgres import scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.text.texts import search_words
from store.wiki import pages
from store.wiki.pages import NewPage, NewSection

_sql = queries.load(__file__)
_RECEIPTS, _PAGES, _MEMORIES = 100_000, 50_000, 600
_TENANT, _OWNER, _THREAD = "bench", "owner", "first"
_SCOPE = Scope(tenant_uuid(_TENANT), owner_uuid(_OWNER))
_LIMIT_S, _LOOKS = 1.0, 3
_TABLES = (
    "receipts", "turn_accounts", "usage_reports", "turns", "wiki_pages", "wiki_page_sections", "wiki_page_aliases",
    "wiki_page_links", "wiki_link_evidence", "wiki_section_sources",
)  # fmt: skip
_COMMANDS = (
    ("turns",), ("turns", "--degraded"), ("turns", "--model", "none"), ("turns", "--failed", "memory"), ("top", "--once"),
    ("cost", "show"), ("cost", "show", "--by", "thread", "--days", "365"), ("cost", "show", "--by", "source", "--days", "365"),
    ("cost", "compiles", "--days", "365"),
)  # fmt: skip


def run(*, scale: float) -> list[Figure]:
    """Return the duration of each view and command: the best of three, on a warm server, without Python's start."""
    return asyncio.run(_measured(max(1000, round(_RECEIPTS * scale)), max(500, round(_PAGES * scale))))


async def _measured(receipts: int, wiki_pages: int) -> list[Figure]:
    async with own_database() as (settings, opened):
        served = replace(settings, console_listen="127.0.0.1:0", http_peer_requests_per_s=0)
        async with running(served) as app:
            began = time.perf_counter()
            await _fill(opened.dsn, await _seed(app, served), receipts, wiki_pages)
            figures = [
                plain("filling", time.perf_counter() - began, unit=" s"),
                plain("disk", size_mb(settings), unit=" MB"),
            ]
            async with _browser(app, served) as client:
                figures += [await _best(f"console {view}", partial(_get, client, view)) for view in _views()]
                figures.append(await _longest_held(client))
            figures += [await _best(f"sidecar {' '.join(one)}", partial(_run, app, served, one)) for one in _COMMANDS]
    return figures


def _views() -> tuple[str, ...]:
    turn = f"/turns/{UUID(md5(b'receipt7', usedforsecurity=False).hexdigest())}"
    return (
        "/turns", "/turns?degraded=on", "/turns?model=none", "/turns?thread=thread-7", turn, f"{turn}/diff", "/threads",
        "/thread?id=thread-7", "/wiki", "/wiki?q=harbour", "/wiki/topic/page-1", "/wiki/graph", "/wiki/graph.json",
        "/wiki/mentions", "/compiles", "/compiles/scopes", "/quarantine", "/sources", "/spending",
        "/spending?by=thread&days=365", "/spending?by=source&days=365", "/reads", "/owner",
    )  # fmt: skip


async def _seed(app: App, settings: Settings) -> str:
    """Write memories, a page and a thread through the service, and return the id of a real turn's receipt."""
    writer = Writer(5)
    metadata = (("authorization", f"Bearer {_token(settings)}"),)
    texts = [f"The harbour, visit {place}. {text}" for place, text in enumerate(writer.texts(_MEMORIES, 40))]
    async with grpc.aio.insecure_channel(app.addresses[0]) as channel:
        context, memory = ContextServiceStub(channel), MemoryServiceStub(channel)  # type: ignore[no-untyped-call]  # generated
        for start in range(0, _MEMORIES, 100):
            some = [
                memory_pb2.NewMemory(memory_id=f"m{start + place}", text=text)
                for place, text in enumerate(texts[start : start + 100])
            ]
            await memory.Retain(memory_pb2.RetainRequest(memories=some), metadata=metadata)
        turns = [
            context_pb2.NewTurn(client_turn_id=f"t{place}", role=("user", "assistant")[place % 2], text=text)
            for place, text in enumerate(texts[:20])
        ]
        await context.AppendTurns(context_pb2.AppendTurnsRequest(thread_id=_THREAD, turns=turns), metadata=metadata)
        page = NewPage(
            "topic", "harbour", "The harbour", texts[0], (NewSection("notes", "Notes", texts[1], ("m1", "m2")),), ()
        )
        async with scoped(app.pools.background, _SCOPE) as connection:
            await pages.put_page(connection, _SCOPE, page, now=datetime.now(UTC))
        request = context_pb2.AssembleContextRequest(
            message="What of the harbour?", thread_id=_THREAD, model_id="gpt-4o"
        )
        answer = await context.AssembleContext(request, metadata=metadata, timeout=60)
    await app.receipt_writer.wait_written()
    return str(answer.assembly.receipt_id)


async def _fill(dsn: str, receipt_id: str, receipts: int, wiki_pages: int) -> None:
    writer = Writer(7)
    titles, texts = (
        [writer.name() for _ in range(500)],
        [search_words(f"harbour {text}") for text in writer.texts(500, 30)],
    )
    key: dict[str, Any] = {"tenant_id": _SCOPE.tenant_id, "owner_id": _SCOPE.owner_id}
    now = {"now": datetime.now(UTC)}
    async with filling(dsn, _TABLES) as connection:
        page_id = await _sql.first_page(connection)
        page, receipt = {"page_id": page_id}, {"receipt_id": UUID(receipt_id)}
        await _sql.receipts(connection, **receipt, many=receipts)
        await _sql.accounts(connection, **receipt)
        await _sql.reports(connection, **receipt)
        await _sql.threads(connection, thread_id=_THREAD)
        await _sql.turns(connection, thread_id=_THREAD)
        vectors = [row["vector"] for row in await _sql.vectors(connection, texts=texts)]
        await _sql.pages(connection, **page, titles=titles, vectors=vectors, many=wiki_pages)
        await _sql.sections(connection, **page)
        await _sql.aliases(connection, **page)
        await _sql.links(connection, **page, many=wiki_pages)
        await _sql.evidence(connection)
        await _sql.sources(connection, **page, **now)
        await _sql.mentions(connection, **key, **now)
        await _sql.sightings(connection, **now)
        for query in (_sql.jobs, _sql.batches, _sql.ledger, _sql.compile_accounts):
            await query(connection, **key, **now)


@asynccontextmanager
async def _browser(app: App, settings: Settings) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a signed-in admin's browser with the owner chosen."""
    base = f"http://{app.console_address}"
    async with httpx.AsyncClient(base_url=base, headers={"origin": base}, timeout=300) as client:
        await client.post("/login", data={"token": _token(settings, is_admin=True)})
        csrf = re.search(r'name="csrf_token" value="([^"]+)"', (await client.get("/owner")).text)
        assert csrf is not None, "sign-in failed"
        await client.post("/owner", data={"csrf_token": csrf[1], "owner": _OWNER})
        yield client


@dataclass(frozen=True, slots=True)
class _Took:
    """The cost of one look: wall seconds, and processor seconds of this process, which asks and serves."""

    wall_s: float
    cpu_s: float


async def _best(name: str, look: Callable[[], Awaitable[object]]) -> Figure:
    took = []
    for _ in range(_LOOKS):
        wall, cpu = time.perf_counter(), _cpu_s()
        await look()
        took.append(_Took(time.perf_counter() - wall, _cpu_s() - cpu))
    best = min(took, key=lambda one: one.wall_s)
    return at_most(name, best.wall_s, _LIMIT_S, unit=" s", note=f"Python {best.cpu_s:.2f} s")


async def _longest_held(client: httpx.AsyncClient) -> Figure:
    """Return the longest time for which a view holds the event loop, including the browser's own work."""
    longest: dict[str, float] = {}
    for view in _views():
        async with watching() as held:
            await _get(client, view)
        longest[view] = held.longest_s
    worst = max(longest, key=lambda view: longest[view])
    return at_most("event loop held by a view", 1000 * longest[worst], 10.0, unit=" ms", note=worst)


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def _get(client: httpx.AsyncClient, view: str) -> None:
    answer = await client.get(view)
    assert answer.status_code == httpx.codes.OK, f"{view}: {answer.status_code}"


async def _run(app: App, settings: Settings, command: tuple[str, ...]) -> None:
    place = ["--address", app.addresses[0], "--token", _token(settings), "--json"]
    with redirect_stdout(TextIOWrapper(BytesIO())):
        assert await asyncio.to_thread(root.run, [*command, *place]) == 0, command


def _token(settings: Settings, *, is_admin: bool = False) -> str:
    grant = Grant(_TENANT, role=Role.ADMIN) if is_admin else Grant(_TENANT, (_OWNER,), "assistant")
    return mint(grant, identity_settings(settings), now_s=time.time(), token_id=uuid4().hex)
