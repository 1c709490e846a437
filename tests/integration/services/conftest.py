"""Every test of a service also checks that a cluster could run its transactions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.store.searches_watched import no_search_after_a_write


@pytest.fixture(autouse=True)
def _runs_on_a_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with no_search_after_a_write(monkeypatch):
        yield
