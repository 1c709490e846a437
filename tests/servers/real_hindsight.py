"""The cases that hold of Hindsight, against a real server: `make test-hindsight` starts one and says where it is."""

from __future__ import annotations

import os

import pytest

from tests.support.backends.hindsight_cases import *  # noqa: F403 - the cases are collected here


@pytest.fixture
def server_url() -> str:
    """Where the real one listens."""
    return os.environ["HINDSIGHT_URL"]
