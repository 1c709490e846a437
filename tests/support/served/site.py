"""A sidecar served for real, on a unix socket and a loopback port, and its services as one caller."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc

from sidecar.context.assembler import Clocks
from sidecar.process.app import App, running
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role
from sidecar.rpc.server import identity_settings
from sidecar.runtime import database as databases
from sidecar.runtime.database import Database
from sidecar.runtime.settings import Settings
from sidecar.v1.admin_pb2_grpc import AdminServiceStub
from sidecar.v1.backends_pb2_grpc import BackendServiceStub
from sidecar.v1.brain_pb2_grpc import BrainServiceStub
from sidecar.v1.compile_pb2_grpc import CompileServiceStub
from sidecar.v1.context_pb2_grpc import ContextServiceStub
from sidecar.v1.cost_pb2_grpc import CostServiceStub
from sidecar.v1.decay_pb2_grpc import DecayServiceStub
from sidecar.v1.knowledge_pb2_grpc import KnowledgeServiceStub
from sidecar.v1.memory_pb2_grpc import MemoryServiceStub
from sidecar.v1.ontology_pb2_grpc import OntologyServiceStub
from sidecar.v1.profile_pb2_grpc import ProfileServiceStub
from sidecar.v1.wiki_pb2_grpc import WikiServiceStub


@dataclass(frozen=True, slots=True)
class Site:
    """A served sidecar and how to call it, by default as a caller of `tenant`."""

    app: App
    settings: Settings
    channel: grpc.aio.Channel
    tenant: str = "acme"

    def token(
        self,
        tenant: str = "",
        owner: str = "mara",
        *,
        agent: str = "assistant",
        admin: bool = False,
        spaces: tuple[str, ...] | None = None,
    ) -> str:
        """Return a token for an agent of the owner, or for an admin of the tenant."""
        tenant = tenant or self.tenant
        grant = Grant(tenant, role=Role.ADMIN) if admin else Grant(tenant, (owner,), agent, spaces=spaces)
        return mint(grant, identity_settings(self.settings), now_s=time.time(), token_id=uuid4().hex, lifetime_s=600)

    def caller(self, *args: str, **kwargs: object) -> Caller:
        """Return stubs whose calls bear a token for the given caller."""
        return Caller(self.channel, (("authorization", f"Bearer {self.token(*args, **kwargs)}"),))  # type: ignore[arg-type]


class Caller:
    """The services as one caller."""

    def __init__(self, channel: grpc.aio.Channel, metadata: tuple[tuple[str, str], ...]) -> None:
        self._metadata = metadata
        stubs = (
            ContextServiceStub,
            MemoryServiceStub,
            DecayServiceStub,
            KnowledgeServiceStub,
            ProfileServiceStub,
            AdminServiceStub,
            BackendServiceStub,
            CostServiceStub,
            WikiServiceStub,
            BrainServiceStub,
            OntologyServiceStub,
            CompileServiceStub,
        )
        self._methods = {name: call for stub in stubs for name, call in vars(stub(channel)).items()}

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        call = self._methods[name]

        def bound(request: object, *, timeout: float = 30.0) -> Awaitable[Any]:
            answer: Awaitable[Any] = call(request, metadata=self._metadata, timeout=timeout)
            return answer

        return bound


async def ready(dsn: str, home: Path, **values: Any) -> Settings:
    """Return settings for a sidecar on a database, once its schema is up to date."""
    await databases.bring_up_to_date(Database(dsn, dsn))
    place: dict[str, Any] = {
        "data_dir": home / "data",
        "database_url": dsn,
        "listen": ("127.0.0.1:0",),
        "embedder": "none",
    }
    quiet = {"drain_grace_s": 2.0, "console_listen": "off", "http_peer_requests_per_s": 0}
    return Settings(**place | quiet | values)


@asynccontextmanager
async def served(settings: Settings, clocks: Clocks | None = None) -> AsyncIterator[Site]:
    """Yield a sidecar served with these settings, and a channel to it that takes answers of any size."""
    options = [("grpc.max_receive_message_length", -1)]
    async with running(settings, clocks=clocks) as app, grpc.aio.insecure_channel(app.addresses[0], options) as channel:
        yield Site(app, settings, channel)
