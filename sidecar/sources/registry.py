"""Builds the sources of a process: the built-in ones, combined with the configured backends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import UUID

from sidecar.backends import configuration
from sidecar.backends.backend_policy import BackendPolicy
from sidecar.backends.entries import Configuration
from sidecar.context.ports import ContextSource
from sidecar.sources.brain import BrainSwitch, WithBrain
from sidecar.sources.composite import Instead, NamedSource, SideBySide
from sidecar.sources.knowledge import KnowledgeSource
from sidecar.sources.memory import MemorySource
from sidecar.sources.thread import ThreadSource
from sidecar.sources.wiki import WikiSource
from sidecar.sources.workspace import WorkspaceSource
from sidecar.turn.items import Source
from sidecar.turn.profile import REMOTE_DEADLINE_MS, Layer, parse_layer
from store.db.postgres import Pool
from store.wiki.edge_walks import MAX_HOPS


@dataclass(frozen=True, slots=True)
class ConnectedSources:
    """The sources of a process, the default knobs for each tenant's backends (`base`), and a function that closes everything.

    `configured` holds the backends by tenant and name, for administration; not every backend is a source. `resting` returns, by
    backend name, whether its circuit breaker is open. `compiled` holds the (tenant, name) pairs of backends that wikis are
    compiled from, and `remote` holds the sources for which a tenant has backends.
    """

    sources: Mapping[Source, ContextSource]
    base: Callable[[UUID], tuple[Layer, ...]]
    close: Callable[[], Awaitable[None]]
    configured: Mapping[UUID, Mapping[str, object]]
    resting: Callable[[], Mapping[str, bool]] = dict
    compiled: frozenset[tuple[UUID, str]] = frozenset()
    remote: Mapping[UUID, frozenset[Source]] = field(default_factory=dict)

    def local(self, tenant_id: UUID) -> frozenset[Source]:
        """Return the sources that only the built-in implementation serves for a tenant."""
        return frozenset(self.sources) - self.remote.get(tenant_id, frozenset())


def built_in(
    pool: Pool, workspace_root: Path | None, *, clock: Callable[[], float], graph_hops: int = MAX_HOPS
) -> dict[Source, ContextSource]:
    """Return the built-in sources. The workspace source needs `workspace_root`, the folder of workspaces.

    `clock` returns monotonic seconds. `graph_hops` is the most typed edges that a turn follows.
    """
    switch = BrainSwitch(pool, clock=clock)
    sources: dict[Source, ContextSource] = {
        Source.THREAD: ThreadSource(pool),
        Source.KNOWLEDGE: KnowledgeSource(pool),
        Source.MEMORY: WithBrain(MemorySource(pool), switch),
        Source.WIKI: WithBrain(WikiSource(pool, hops=graph_hops), switch),
    }
    if workspace_root is not None:
        sources[Source.WORKSPACE] = WorkspaceSource(pool, workspace_root)
    return sources


def configured(path: Path | None, environ: Mapping[str, str]) -> Configuration:
    """Return the configuration in the file of backends; an empty one without a file. Raises SettingInvalid."""
    return Configuration() if path is None else configuration.read(path, environ)


def connect(
    local: Mapping[Source, ContextSource], backends: Configuration, pool: Pool, policy: BackendPolicy
) -> ConnectedSources:
    """Return the built-in sources combined with the configured backends.

    A tenant's source that has backends gets the remote deadline unless a profile sets another.
    """
    if not any(backends.entries()):
        return ConnectedSources(local, partial(_remote_times, {}), _nothing, {})
    from sidecar.sources import backend_sources  # imports the SDKs, which a process without backends does not need

    places: dict[Source, dict[UUID, list[NamedSource]]] = defaultdict(lambda: defaultdict(list))
    made = backend_sources.placed(backends, pool, policy)
    named: dict[UUID, dict[str, object]] = defaultdict(dict)
    for tenant_id, reranker in made.rerankers.items():
        named[tenant_id][reranker.name] = reranker
    for placed in made.places:
        named[placed.tenant_id].setdefault(placed.place.name, placed.place.source)
        places[placed.source][placed.tenant_id].append(placed.place)
    joined: dict[Source, ContextSource] = {
        source: SideBySide(local.get(source), tenants, policy, made.rerankers if source is Source.KNOWLEDGE else None)
        for source, tenants in places.items()
    }
    if Source.THREAD in joined:
        joined[Source.THREAD] = Instead(local[Source.THREAD], places[Source.THREAD], policy)
    by_tenant = _by_tenant(places)
    return ConnectedSources(
        {**local, **joined},
        partial(_remote_times, by_tenant),
        made.close,
        named,
        made.resting,
        frozenset((entry.tenant_id, entry.name) for entry in backends.compiled()),
        {tenant_id: frozenset(map(Source, layer.sources)) for tenant_id, layer in by_tenant.items()},
    )


def _by_tenant(places: Mapping[Source, Mapping[UUID, Sequence[NamedSource]]]) -> Mapping[UUID, Layer]:
    sources: dict[UUID, dict[str, dict[str, int]]] = defaultdict(dict)
    for source, tenants in places.items():
        for tenant_id in tenants:
            sources[tenant_id][source.value] = {"deadline_ms": REMOTE_DEADLINE_MS}
    return {tenant_id: parse_layer({"sources": knobs}) for tenant_id, knobs in sources.items()}


def _remote_times(layers: Mapping[UUID, Layer], tenant_id: UUID) -> tuple[Layer, ...]:
    return (layers[tenant_id],) if tenant_id in layers else ()


async def _nothing() -> None:
    """Do nothing."""
