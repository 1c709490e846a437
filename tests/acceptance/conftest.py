"""Sidecars served over a database of the test's own, or of the module's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from uuid import uuid4

import pytest
import pytest_asyncio

from sidecar.runtime.settings import Settings
from tests.support import sampling
from tests.support.databases import database_clone
from tests.support.served.site import Site, ready, served

pytest_configure = sampling.load


@pytest.fixture
async def settings(database: str, tmp_path: Path) -> Settings:
    """Settings for a sidecar on the test's database, ready to serve."""
    return await ready(database, tmp_path)


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[Site]:
    """A served sidecar."""
    async with served(settings) as one:
        yield one


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared_site(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A sidecar served for all tests of a module that keep to tenants of their own."""
    home = tmp_path_factory.mktemp("shared")
    async with database_clone(migrated_template) as dsn, served(await ready(dsn, home)) as one:
        yield one


@pytest.fixture
def tenant() -> str:
    """A tenant name that no other test uses."""
    return f"tenant-{uuid4().hex}"
