"""Properties are sampled, or tried at length with `--soak`."""

from __future__ import annotations

from tests.support import sampling

pytest_configure = sampling.load
