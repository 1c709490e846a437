"""How many examples a property is tried with: a sample, the same in every run, or thousands with `--soak`.

Each folder that holds properties takes `load` as its conftest's `pytest_configure`; folders without any, the unit tests
first of all, never pay for loading the generator.
"""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("sample", max_examples=15, deadline=None, derandomize=True, database=None)
settings.register_profile(
    "soak",
    max_examples=3_000,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def load(config: pytest.Config) -> None:
    """Set the number of examples that this run's options ask for."""
    settings.load_profile("soak" if config.getoption("--soak") else "sample")
