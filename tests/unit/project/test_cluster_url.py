"""The address of the cluster of `make test-citus` is a setting of the test run alone."""

from __future__ import annotations

import os

import pytest

from sidecar.runtime import settings
from tests.servers import cluster


def test_product_under_test_sees_no_address_of_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(cluster.URL, "")
    monkeypatch.setenv("SIDECAR_CITUS_URL", "postgresql://postgres@127.0.0.1:9700/sidecar")
    cluster.take_url()
    assert os.environ[cluster.URL].endswith(":9700/sidecar")
    assert settings.read(os.environ)
