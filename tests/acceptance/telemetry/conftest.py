"""An OpenTelemetry collector for the tests of traces."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.support.served.collector import Collector, collecting


@pytest.fixture
async def collector(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    """A collector that the standard variables point to."""
    async with collecting() as one:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", one.target)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        yield one
