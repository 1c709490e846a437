"""An AWS that answers as scripted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.stand_ins.aws import Aws
from tests.support.backends.aws_site import stand_in


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    yield from stand_in(monkeypatch)
