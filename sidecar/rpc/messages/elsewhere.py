"""Outcomes of a forgetting at remote memory services, as messages."""

from __future__ import annotations

from sidecar.services.forgetting.targets import ForgottenElsewhere
from sidecar.v1 import memory_pb2 as pb


def write_elsewhere(one: ForgottenElsewhere) -> pb.ForgottenElsewhere:
    """Return the message of an outcome."""
    done = one.outcome
    return pb.ForgottenElsewhere(
        backend=one.backend, service=one.service, state=done.state, count=done.count, detail=done.detail
    )
