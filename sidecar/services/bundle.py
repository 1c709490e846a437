"""The services of a process, as passed to the gRPC and HTTP servers."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.services.aging.attestations import Attestations
from sidecar.services.aging.decay import Decay
from sidecar.services.aging.episodes import Episodes
from sidecar.services.backends import Backends
from sidecar.services.brain.context import BrainContext
from sidecar.services.brain.releases import Brain
from sidecar.services.compiles import Compiles
from sidecar.services.costs import CostAccounts
from sidecar.services.knowledge import Knowledge
from sidecar.services.memories import Memories
from sidecar.services.ontology.governance import Governance
from sidecar.services.ontology.scanning import Scans
from sidecar.services.profiles import Profiles
from sidecar.services.receipts import Receipts
from sidecar.services.tenants import Tenants
from sidecar.services.threads import Threads
from sidecar.services.upkeep import Upkeep
from sidecar.services.webhooks import Webhooks
from sidecar.services.wiki.pages import Wiki


@dataclass(frozen=True, slots=True)
class Services:
    """One service per subject."""

    attestations: Attestations
    backends: Backends
    brain: Brain
    brain_context: BrainContext
    compiles: Compiles
    costs: CostAccounts
    decay: Decay
    episodes: Episodes
    governance: Governance
    knowledge: Knowledge
    memories: Memories
    profiles: Profiles
    receipts: Receipts
    scans: Scans
    tenants: Tenants
    threads: Threads
    upkeep: Upkeep
    webhooks: Webhooks
    wiki: Wiki
