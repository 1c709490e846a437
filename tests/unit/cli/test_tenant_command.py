"""`sidecar tenant delete` calls until nothing is left, and tells what it waits for."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest

from sidecar.cli.operations.tenant import deleted
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import CommandSession
from sidecar.client import Sidecar
from sidecar.client.answers import DeletedTenant, ForgottenElsewhere

WAITING = ForgottenElsewhere("bank", "Hindsight", "waiting", 0, "")


class Answers:
    """A client that gives these answers in turn."""

    def __init__(self, *answers: DeletedTenant) -> None:
        self.left = list(answers)

    def delete_tenant(self) -> DeletedTenant:
        return self.left.pop(0)


def after(*answers: DeletedTenant) -> tuple[DeletedTenant, dict[str, int], list[int], int]:
    """Return the last answer, the rows, the steps of progress, and how many answers were left over."""
    client, counts, steps = Answers(*answers), Counter[str](), list[int]()
    session = CommandSession(cast("Sidecar", client), Voice(is_json=True), tenant="acme")
    done = deleted(session, counts, cast("Any", steps.append), pause_s=0)
    return done, dict(counts), steps, len(client.left)


def test_rows_of_all_calls_are_counted_until_nothing_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    answers = (DeletedTenant({"turns": 5}, False, ()), DeletedTenant({"turns": 2, "agents": 1}, False, ()))
    done, counts, steps, left = after(*answers, DeletedTenant({}, True, ()))
    assert (done.complete, counts, steps, left) == (True, {"turns": 7, "agents": 1}, [5, 3, 0], 0)
    assert capsys.readouterr().err == ""


def test_wait_after_the_revocation_is_reported_once(capsys: pytest.CaptureFixture[str]) -> None:
    own = DeletedTenant({"audit_entries": 1}, False, ())
    done, *_, left = after(own, own, DeletedTenant({}, False, ()), DeletedTenant({"audit_entries": 1}, True, ()))
    assert (done.complete, left) == (True, 0)
    assert capsys.readouterr().err.count("waiting until ten minutes after the revocation") == 1


def test_service_that_does_not_answer_ends_the_command_once_all_else_is_deleted() -> None:
    """What the calls write themselves, about such an owner, is written and deleted by each."""
    own = DeletedTenant({"remote_forgettings": 1, "background_jobs": 1, "forgotten_refs": 1}, False, (WAITING,))
    done, counts, _, left = after(
        DeletedTenant({"turns": 5}, False, (WAITING,)), DeletedTenant({"turns": 2}, False, (WAITING,)), own, own
    )
    assert (done.complete, counts["turns"], left) == (False, 7, 1)
