"""Stored assemblies fitted again: under other knobs, and beside one another. No source is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sidecar.assembler import Assembly, Clocks
from sidecar.fences import Fences
from sidecar.meters import Meters
from sidecar.turn import difference, receipt
from sidecar.turn.difference import Difference
from sidecar.turn.fitting import fit
from sidecar.turn.profile import merge, parse_layer
from store import receipts
from store.postgres import Pool, tenant_scoped
from store.receipts import StoredReceipt
from store.scope import Scope
