"""Commands that follow a compile job, and a service that stops meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

import pytest

from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import CommandSession
from sidecar.cli.wiki.compiles import followed
from sidecar.client import CallUnavailable, Sidecar
from sidecar.client.answers.wiki import CompileJob

JOB = "0198c0de-0000-7000-8000-000000000001"


class Stopping:
    """A client of a service that stops while a job is followed."""

    def watch_job(self, *, job_id: str) -> Iterator[CompileJob]:
        yield from ()
        raise CallUnavailable(f"stopping while {job_id} runs", code="UNAVAILABLE")


@pytest.mark.parametrize("is_json", [True, False])
def test_followed_job_is_named_when_the_service_stops(is_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    session = CommandSession(cast("Sidecar", Stopping()), Voice(is_json=is_json))
    with pytest.raises(CallUnavailable):
        followed(session, JOB)
    assert f"sidecar wiki watch {JOB}" in capsys.readouterr().err
