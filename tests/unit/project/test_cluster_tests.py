"""What `make test-citus` leaves out exists, and is not more than is named."""

from __future__ import annotations

from tests.servers.left_out import LEFT_OUT, is_left_out
from tests.support.places import ROOT


def test_each_test_that_a_cluster_leaves_out_exists() -> None:
    for name in LEFT_OUT:
        path, _, test = name.partition("::")
        place = ROOT / "tests" / path
        assert place.exists(), name
        assert not test or f"def {test.partition('[')[0]}(" in place.read_text(), name


def test_folder_file_or_test_is_left_out_whole_and_no_other_that_begins_alike() -> None:
    names = ("store/embedded", "store/test_a.py", "store/test_b.py::test_one")
    out = (
        "store/embedded/test_x.py::test",
        "store/test_a.py::test",
        "store/test_b.py::test_one[x]",
        "store/test_b.py::test_one",
    )
    kept = (
        "store/embedded_too/test_x.py::test",
        "store/test_a.pyi::test",
        "store/test_b.py::test_one_more",
        "store/test_b.py",
    )
    assert [one for one in (*out, *kept) if is_left_out(f"tests/{one}", names)] == list(out)
