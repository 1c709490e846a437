"""How many examples the properties of pure parts get: a few in every run, many with --hypothesis-profile=soak."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("default", max_examples=25, derandomize=True, deadline=None)
settings.register_profile("soak", max_examples=2_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def pytest_configure(config: pytest.Config) -> None:
    """Load the chosen profile: this file may be read after hypothesis has looked for it."""
    settings.load_profile(config.getoption("--hypothesis-profile") or "default")
