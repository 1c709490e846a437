"""The benchmarks' command line, and the quantiles of their figures."""

from __future__ import annotations

import inspect
from importlib import import_module
from math import isnan

import pytest

from bench import __main__ as bench
from bench.figures import quantile


@pytest.mark.parametrize("name", bench.NEEDING_DATA)
def test_benchmark_that_needs_data_asks_for_their_folder(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["bench", name])
    with pytest.raises(SystemExit) as stopped:
        bench.main()
    assert stopped.value.code == 2
    assert f"{name} needs --data DIR" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["answers", "breadth", "calibrate", "graph", "leaning", "recall"])
def test_weights_are_written_only_if_asked_for(name: str) -> None:
    run = import_module(f"bench.{(bench.BENCHES | bench.NEEDING_DATA)[name]}").run
    assert inspect.signature(run).parameters["write_weights"].default is False


def test_quantile_is_the_nearest_rank() -> None:
    ten = [float(one) for one in range(10, 0, -1)]
    assert [quantile(ten, share) for share in (0.0, 0.05, 0.1, 0.5, 0.9, 0.95, 1.0)] == [1, 1, 1, 5, 9, 10, 10]
    assert quantile([3.0, 1.0], 0.5) == 1.0
    assert isnan(quantile([], 0.95))
