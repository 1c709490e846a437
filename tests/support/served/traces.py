"""Sidecars under a watch that exports spans and metrics, and calls within a caller's trace."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import grpc

from sidecar.process.app import running
from sidecar.runtime.settings import Settings
from sidecar.telemetry.watch import Watch, WatchConfig
from tests.support.served.site import Caller, Site

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{PARENT}-01", f"00-{TRACE}-{PARENT}-00"
SENDING = WatchConfig(sends_spans=True, sends_metrics=True, metrics_every_s=0.2, slow_turn_s=1e9)
ASKED = {"thread", "knowledge", "memory", "wiki"}


@asynccontextmanager
async def observed(settings: Settings, config: WatchConfig) -> AsyncIterator[Site]:
    """Yield a sidecar under a watch of its own."""
    watch = Watch(config)
    try:
        async with running(settings, watch=watch) as app, grpc.aio.insecure_channel(app.addresses[0]) as channel:
            yield Site(app, settings, channel)
    finally:
        watch.stop()


def traced(site: Site, traceparent: str) -> Caller:
    """Return a caller whose calls belong to a trace."""
    token = ("authorization", f"Bearer {site.token()}")
    return Caller(site.channel, (token, ("traceparent", traceparent)))
