"""The use cases of a serving process, built from its pools, sources and caches."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from compiler.job.compilation import Engine
from sidecar.context.assembler import Clocks
from sidecar.process.cache_invalidation import TenantCaches
from sidecar.process.parts import Part
from sidecar.rpc import context
from sidecar.runtime import language_models
from sidecar.runtime.database import Database
from sidecar.runtime.settings import Settings
from sidecar.runtime.supervisor import Supervisor
from sidecar.services.aging.attestations import Attestations
from sidecar.services.aging.decay import Decay, decay_policy
from sidecar.services.aging.episodes import Episodes
from sidecar.services.backends import Backends
from sidecar.services.brain.context import BrainContext
from sidecar.services.brain.releases import Brain
from sidecar.services.bundle import Services
from sidecar.services.compiles import Compiles
from sidecar.services.costs import CostAccounts
from sidecar.services.forgetting.remote_forgetter import RemoteForgetter
from sidecar.services.knowledge import Knowledge
from sidecar.services.memories import Memories
from sidecar.services.ontology.governance import Governance
from sidecar.services.ontology.model_signals import scan_model
from sidecar.services.ontology.scanning import Scans
from sidecar.services.profiles import Profiles
from sidecar.services.receipts import Receipts
from sidecar.services.tenants import Tenants
from sidecar.services.threads import Threads
from sidecar.services.upkeep import Upkeep
from sidecar.services.webhooks import Webhooks
from sidecar.services.wiki.pages import Wiki
from sidecar.sources.registry import ConnectedSources
from sidecar.telemetry.watch import Watch
from store.content.storage import StorageLimits
from store.db.postgres import Pools
from store.scope import Scope
from store.tenancy.webhooks import Subscription


@dataclass(frozen=True, slots=True)
class BaseDeps:
    """The base dependencies, the supervisor of background tasks, whether the sources are the built-in ones, and this process's
    part of the service."""

    settings: Settings
    where: Database
    pools: Pools
    watch: Watch
    clocks: Clocks
    supervisor: Supervisor = field(default_factory=Supervisor)
    is_built_in: bool = True
    part: Part = Part()  # noqa: RUF009  # frozen


def services_of(
    deps: BaseDeps,
    connected: ConnectedSources,
    caches: TenantCaches,
    turns: context.ContextDeps,
    *,
    engine: Engine,
    elsewhere: RemoteForgetter,
) -> Services:
    """Return the use cases. Raises SettingInvalid for an unknown model of ontology scans."""
    pools, now, changed = deps.pools, deps.clocks.now, caches.changed
    settings = deps.settings
    limits = StorageLimits(settings.owner_quota_bytes, settings.owner_max_memories)
    language_models.check("SIDECAR_ONTOLOGY_SCAN", settings.ontology_scan)
    attestations = Attestations.of_settings(settings, pools.background, now=now)
    pause = timedelta(seconds=settings.episode_pause_s)
    return Services(
        attestations=attestations,
        backends=Backends(pools, connected.configured, now=now, on_changed=changed),
        brain=_brain(deps, caches),
        brain_context=BrainContext(pools),
        compiles=Compiles(pools, engine, caches.progress, now=now),
        costs=CostAccounts(pools, now=now, quota_bytes=limits.quota_bytes),
        decay=_decay(deps, attestations),
        episodes=Episodes(pools.background, now=now, pause=pause),
        governance=Governance(pools, now=now, has_four_eyes=settings.ontology_four_eyes),
        knowledge=Knowledge(pools, now=now, count=turns.meters.reference.count, on_forgotten=caches.drop_answers),
        memories=Memories(
            pools,
            now=now,
            is_compiled=partial(_is_built_in, engine),
            on_forgotten=caches.drop_answers,
            elsewhere=elsewhere,
            limits=limits,
        ),
        profiles=Profiles(pools, now=now, on_changed=changed, base=connected.base),
        receipts=Receipts(pools, now=now, receipt_writer=turns.receipt_writer, meters=turns.meters),
        scans=Scans(pools, now=now, model=partial(scan_model, settings, pools.background, now=now)),
        tenants=Tenants(pools, now=now, on_changed=changed, on_forgotten=caches.drop_answers, elsewhere=elsewhere),
        threads=Threads(
            pools,
            now=now,
            meters=turns.meters,
            fences=turns.fences,
            quota_bytes=limits.quota_bytes,
            episode_pause=pause,
        ),
        upkeep=Upkeep(pools, engine, now=now, limits=limits),
        webhooks=Webhooks(pools, now=now, is_compiled=partial(_is_source, connected)),
        wiki=Wiki(pools, now=now),
    )


def _brain(deps: BaseDeps, caches: TenantCaches) -> Brain:
    return Brain(
        deps.pools.background,
        now=deps.clocks.now,
        on_forgotten=caches.drop_answers,
        on_release=deps.watch.figures.brain_changed,
        has_four_eyes=deps.settings.ontology_four_eyes,
    )


def _decay(deps: BaseDeps, attestations: Attestations) -> Decay:
    return Decay(
        deps.pools,
        now=deps.clocks.now,
        attestations=attestations,
        policy=decay_policy(deps.settings),
        principle_days=deps.settings.decay_principle_days,
        on_job_end=lambda job: deps.watch.figures.decayed(job.kind.value, job.state.value),
    )


def _is_built_in(engine: Engine, scope: Scope) -> bool:
    """Return whether the tenant's wikis are compiled from the built-in memories."""
    return not engine.substrate.feed(scope).is_timed


def _is_source(connected: ConnectedSources, subscription: Subscription) -> bool:
    """Return whether the wikis of the webhook's tenant are compiled from its backend."""
    return (subscription.scope.tenant_id, subscription.backend) in connected.compiled
