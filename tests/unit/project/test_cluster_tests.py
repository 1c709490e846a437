"""What `make test-citus` leaves out exists, and is not more than is named."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.servers.left_out import LEFT_OUT, is_left_out
from tests.support.places import ROOT


def texts() -> dict[str, str]:
    """Return the other test files by name."""
    return {one.name: one.read_text() for one in (ROOT / "tests").rglob("test_*.py") if one.name != Path(__file__).name}


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


def test_no_test_finds_another_database_by_what_the_address_of_the_embedded_server_looks_like() -> None:
    # On a cluster nothing would be replaced, and the test would use the database that it was given.
    assert [name for name, text in texts().items() if 'replace("@/' in text] == []


def test_no_test_updates_rows_by_a_function_that_a_cluster_refuses() -> None:
    # It computes new values itself, and not from a column if the function is not immutable, as the sum of a time and an interval.
    refused = re.compile(r"UPDATE [^\n]*( [+-] interval|gen_random_uuid\(|random\()")
    assert [name for name, text in texts().items() if refused.search(text)] == []


def test_no_test_joins_rows_by_ids_alone() -> None:
    # A cluster joins the rows of a tenant, which are on one server, and refuses to join others.
    by_ids = re.compile(r"\b(\w+)\.\w*_id = (?!\1\.)\w+\.\w*_id\b|USING \([^)]*_id\)")
    found = [
        (name, node.value)
        for name, text in texts().items()
        if by_ids.search(text)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        if by_ids.search(node.value) and "tenant_id" not in node.value
    ]
    assert found == []
