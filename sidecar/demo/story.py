"""Runs the demo: starts a sidecar, loads the corpus through the API, compiles it, and requests one turn like an agent.

All ids are fixed, so that a second run finds the existing data and changes nothing.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from compiler.job.worker import Worker
from models.errors import ModelsError
from sidecar.client import AsyncSidecar, Stance
from sidecar.client.answers import Assembly
from sidecar.client.imported import new_memory, new_turn
from sidecar.demo import corpus
from sidecar.process import app
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime.settings import Settings
from sidecar.worker import compile_engine
from sidecar.worker.worker_process import worker_settings
from store.content import embeddings
from store.db.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid
from store.wiki import candidates

_DEADLINE_S = 300.0
_SOURCE_DEADLINE_MS = 60_000  # the maximum of a profile
_EMBED_DEADLINE_S = 60.0  # a search by words alone finds other pages
_LOOK_AGAIN_S = 0.2
_PLACES = 1_000
_TENANT_ID = tenant_uuid(corpus.TENANT)


class Narrator(Protocol):
    """Reports progress to the user."""

    def note(self, text: str) -> None:
        """Write a line."""

    def progress(self, title: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
        """Show the progress of `total` steps; the returned function advances it."""


@dataclass(frozen=True, slots=True)
class Story:
    """The result of the demo: the counts of new data in this run, the question, and its context."""

    loaded: dict[str, int]
    message: str
    assembly: Assembly
    seconds: float


async def run(settings: Settings, narrator: Narrator) -> Story:
    """Start a sidecar, load the corpus, ask the question. Raises the errors of starting, storing and calling."""
    began = time.monotonic()
    async with loaded_demo(settings, narrator) as (loaded, client):
        assembly = await _ask(client)
        return Story(loaded, corpus.message(), assembly, round(time.monotonic() - began, 3))


@asynccontextmanager
async def loaded_demo(settings: Settings, narrator: Narrator) -> AsyncIterator[tuple[dict[str, int], AsyncSidecar]]:
    """Yield the counts of newly loaded data, and a client of the loaded sidecar that acts as the agent of the demo's owner."""
    narrator.note("Starting Postgres and a sidecar …")
    async with _sidecar(settings) as (running, private):
        loaded = await _load(running.addresses[0], private, narrator)
        loaded["pages"] = await _compile(private, running.pools, narrator)
        await _embed(running, narrator)
        token = _token(private, Grant(corpus.TENANT, owners=(corpus.OWNER,), agent=corpus.AGENT))
        async with AsyncSidecar(running.addresses[0], token, stance=Stance(deadline_s=_DEADLINE_S)) as client:
            yield loaded, client


@asynccontextmanager
async def _sidecar(settings: Settings) -> AsyncIterator[tuple[app.App, Settings]]:
    """Yield a sidecar on a socket that only this user can reach, trusting the local dev key."""
    directory = tempfile.mkdtemp(prefix="sidecar-demo-")
    private = private_settings(settings, Path(directory, "sidecar.sock"))
    try:
        async with app.running(private, is_warmed=True) as running:
            yield running, private
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def private_settings(settings: Settings, socket: Path) -> Settings:
    """Return the settings of a sidecar that serves on this socket alone, without HTTP, and trusts the local dev key."""
    return replace(
        settings,
        embed_deadline_s=max(settings.embed_deadline_s, _EMBED_DEADLINE_S),
        listen=(f"unix:{socket}",),
        http_listen="off",
        console_listen="off",
        tls_cert=None,
        tls_key=None,
        tls_client_ca=None,
        client_names=None,
        token_keys=(),
        jwks_url="",
    )


def _token(settings: Settings, grant: Grant) -> str:
    return mint(grant, identity_settings(settings), now_s=time.time(), token_id=uuid4().hex)


async def _load(address: str, settings: Settings, narrator: Narrator) -> dict[str, int]:
    """Load the corpus as an admin of the demo's tenant, and return the counts of new data."""
    token = _token(settings, Grant(corpus.TENANT, role=Role.ADMIN))
    stance = Stance(owner_id=corpus.OWNER, deadline_s=_DEADLINE_S)
    memories, turns, documents = corpus.memories(), corpus.turns(), corpus.documents()
    whole = len(memories) + len(turns) + len(documents)
    async with AsyncSidecar(address, token, stance=stance) as client:
        with narrator.progress("loading the demo", whole) as step:
            retained = await client.retain(memories=[new_memory(one) for one in memories])
            step(len(memories))
            appended = await client.append_turns(
                thread_id=corpus.THREAD, title=corpus.TITLE, turns=[new_turn(one) for one in turns]
            )
            step(len(turns))
            ingested = await _ingest(client, documents, step)
    return {
        "memories": retained.created_count + retained.updated_count,
        "turns": appended.appended_count,
        "documents": ingested,
    }


async def _ingest(client: AsyncSidecar, documents: Sequence[corpus.File], step: Callable[[int], None]) -> int:
    await client.create_base(name=corpus.BASE, description="The demo's documents.")
    await client.assign_base(base=corpus.BASE, level="template", ref="default")
    written = 0
    for one in documents:
        ingested = await client.ingest(base=corpus.BASE, path=one.path, content=one.content)
        written += ingested.outcome != "unchanged"
        step(1)
    return written


async def _compile(settings: Settings, pools: Pools, narrator: Narrator) -> int:
    """Compile the memories, in this process unless another worker does it, and return the number of new pages."""
    scope = Scope(_TENANT_ID, owner_uuid(corpus.OWNER))
    before = await _page_count(pools, scope)
    with narrator.progress("compiling the pages", None):
        async with compile_engine.engine(settings, pools.background) as engine:
            worker = Worker(pools.background, engine, worker_settings(settings))
            async with asyncio.timeout(_DEADLINE_S):
                while not await worker.drain_scope(scope):  # noqa: ASYNC110  # the other worker is another process
                    await asyncio.sleep(_LOOK_AGAIN_S)
    return await _page_count(pools, scope) - before


async def _embed(running: app.App, narrator: Narrator) -> None:
    """Wait until the demo's texts have vectors. Without an embedder, or if it fails, recall is by words."""
    if running.embedding is None:
        return
    pool = running.pools.background
    with narrator.progress("embedding", None) as step, suppress(ModelsError, TimeoutError):
        async with asyncio.timeout(_DEADLINE_S):
            while places := [
                one for one in await embeddings.waiting(pool, limit=_PLACES) if one.tenant_id == _TENANT_ID
            ]:
                done = [one for place in places if (one := await running.embedding.go(place)) is not None]
                step(sum(one.count for one in done))
                if not done:
                    await asyncio.sleep(_LOOK_AGAIN_S)  # the service itself is embedding


async def _page_count(pools: Pools, scope: Scope) -> int:
    async with scoped(pools.background, scope, read_only=True) as connection:
        return await candidates.count_active(connection, scope)


async def _ask(client: AsyncSidecar) -> Assembly:
    """Return the turn's context."""
    overrides = patience() | {"budget_tokens": corpus.BUDGET_TOKENS, "wiki.floor_tokens": corpus.WIKI_FLOOR_TOKENS}
    return await client.assemble_context(
        message=corpus.message(), model_id=corpus.MODEL, thread_id=corpus.THREAD, overrides=overrides
    )


def patience() -> dict[str, Any]:
    """Return overrides with long deadlines for the sources, for the first questions on a possibly busy machine."""
    return {f"{source}.deadline_ms": _SOURCE_DEADLINE_MS for source in ("thread", "knowledge", "memory", "wiki")}
