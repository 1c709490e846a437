"""Checks the settings before anything is opened: for the start of the service, and for `sidecar doctor`."""

from __future__ import annotations

import sys

from sidecar.http import opening
from sidecar.process.parts import count_of
from sidecar.process.retention import retention_of
from sidecar.rpc import server as rpc_server
from sidecar.runtime import language_models
from sidecar.runtime.settings import Settings
from sidecar.services.aging.attestations import read_operator_keys
from sidecar.services.aging.decay import decay_policy
from sidecar.worker.compile_engine import compile_settings
from sidecar.worker.worker_process import worker_settings


def check_settings(settings: Settings) -> None:
    """Raise a StartRefused for the first setting with which the service would not start."""
    count_of(settings.processes, cores=1, is_linux=sys.platform == "linux")
    rpc_server.check_addresses(settings)
    opening.check_addresses(settings)
    retention_of(settings)
    compile_settings(settings)
    worker_settings(settings)
    decay_policy(settings)
    read_operator_keys(settings.decay_attestation_keys)
    for variable, kind in (
        ("SIDECAR_DECAY_SUMMARIES", settings.decay_summaries),
        ("SIDECAR_ONTOLOGY_SCAN", settings.ontology_scan),
    ):
        language_models.check(variable, kind)
