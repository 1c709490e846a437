"""A supervised task that fails again and again waits longer each time; one that ran well in between starts at once."""

from __future__ import annotations

from sidecar.runtime.supervisor import error_names, pause_after


def test_restart_pauses_double_up_to_half_a_minute() -> None:
    pauses = [0.1]
    while pauses[-1] < 30:
        pauses.append(pause_after(0.0, pauses[-1]))
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0]
    assert pause_after(29.0, 30.0) == 30.0


def test_task_that_ran_long_restarts_at_once_despite_earlier_failures() -> None:
    assert pause_after(31.0, 30.0) == 0.1


def test_failure_of_concurrent_work_is_named_by_its_errors() -> None:
    inner = ExceptionGroup("two", [OSError("gone"), OSError("gone too")])
    assert error_names(ExceptionGroup("all", [inner, ValueError("odd")])) == "OSError, ValueError"
    assert error_names(OSError("gone")) == "OSError"
