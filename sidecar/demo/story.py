"""The demo as it runs: a sidecar of its own, the corpus loaded through the API, one turn asked as an agent would.

Pages are written to the store, because no API writes them: a compile does. Everything keeps its id, so that a second
run finds what is there and changes nothing.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from sidecar import app
from sidecar.client import AsyncSidecar, Stance
from sidecar.client.answers import Assembly
from sidecar.client.imported import new_memory, new_turn
from sidecar.demo import corpus
from sidecar.rpc.devkey import mint
from sidecar.rpc.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.settings import Settings
from store import pages
from store.postgres import Pools, scoped
from store.scope import Scope, owner_uuid, tenant_uuid

_DEADLINE_S = 60.0


class Narrator(Protocol):
    """Who tells a person what is going on."""

    def note(self, text: str) -> None:
        """Say a line."""

    def progress(self, title: str, total: int | None) -> AbstractContextManager[Callable[[int], None]]:
        """Show work of so many steps; what comes back advances it."""


@dataclass(frozen=True, slots=True)
class Story:
    """What the demo did: what was new in this run, the question, and the context that its turn got."""

    loaded: dict[str, int]
    message: str
    assembly: Assembly
    seconds: float


async def run(settings: Settings, narrator: Narrator) -> Story:
    """Start a sidecar, load the corpus, ask the question. Raises what starting, storing and calling raise."""
    narrator.note("Starting Postgres and a sidecar …")
    async with _sidecar(settings) as (running, private):
        began = time.monotonic()
        loaded = await _load(running.addresses[0], private, running.pools, narrator)
        assembly = await _ask(running.addresses[0], private)
        return Story(loaded, corpus.message(), assembly, round(time.monotonic() - began, 3))


@asynccontextmanager
async def _sidecar(settings: Settings) -> AsyncIterator[tuple[app.App, Settings]]:
    """Yield a sidecar on a socket that only this user can reach, trusting the local dev key."""
    directory = tempfile.mkdtemp(prefix="sidecar-demo-")
    private = replace(
        settings,
        listen=(f"unix:{Path(directory, 'sidecar.sock')}",),
        tls_cert=None,
        tls_key=None,
        tls_client_ca=None,
        client_names=None,
        token_keys=(),
        jwks_url="",
    )
    try:
        async with app.running(private) as running:
            yield running, private
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _token(settings: Settings, grant: Grant) -> str:
    return mint(grant, identity_settings(settings), now_s=time.time(), token_id=uuid4().hex)


async def _load(address: str, settings: Settings, pools: Pools, narrator: Narrator) -> dict[str, int]:
    """Load the corpus as an admin of the demo's tenant and return how much of it was new."""
    token = _token(settings, Grant(corpus.TENANT, role=Role.ADMIN))
    stance = Stance(owner_id=corpus.OWNER, deadline_s=_DEADLINE_S)
    memories, turns, documents, pages_ = corpus.memories(), corpus.turns(), corpus.documents(), corpus.pages()
    whole = len(memories) + len(turns) + len(documents) + len(pages_)
    async with AsyncSidecar(address, token, stance=stance) as client:
        with narrator.progress("loading the demo", whole) as step:
            retained = await client.retain(memories=[new_memory(one) for one in memories])
            step(len(memories))
            appended = await client.append_turns(
                thread_id=corpus.THREAD, title=corpus.TITLE, turns=[new_turn(one) for one in turns]
            )
            step(len(turns))
            ingested = await _ingest(client, documents, step)
            await _put_pages(pools, pages_)
            step(len(pages_))
    return {
        "memories": retained.created_count + retained.updated_count,
        "turns": appended.appended_count,
        "documents": ingested,
        "pages": len(pages_),
    }


async def _ingest(client: AsyncSidecar, documents: Sequence[corpus.File], step: Callable[[int], None]) -> int:
    await client.create_base(name=corpus.BASE, description="The demo's documents and the project's own.")
    await client.assign_base(base=corpus.BASE, level="template", ref="default")
    written = 0
    for one in documents:
        ingested = await client.ingest(base=corpus.BASE, path=one.path, content=one.content)
        written += ingested.outcome != "unchanged"
        step(1)
    return written


async def _put_pages(pools: Pools, pages_: Sequence[pages.NewPage]) -> None:
    scope = Scope(tenant_uuid(corpus.TENANT), owner_uuid(corpus.OWNER))
    async with scoped(pools.background, scope) as connection:
        for page in pages_:
            await pages.put_page(connection, scope, page, now=datetime.now(UTC))


async def _ask(address: str, settings: Settings) -> Assembly:
    """Return the turn's context, asked for with the token of an agent that acts for the demo's owner."""
    token = _token(settings, Grant(corpus.TENANT, owners=(corpus.OWNER,), agent=corpus.AGENT))
    overrides: dict[str, Any] = {"budget_tokens": corpus.BUDGET_TOKENS}
    async with AsyncSidecar(address, token) as client:
        return await client.assemble_context(
            message=corpus.message(), model_id=corpus.MODEL, thread_id=corpus.THREAD, overrides=overrides
        )
