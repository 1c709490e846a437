"""The product's tests that `make test-citus` leaves out on a cluster, each with the reason. A test or a whole file is named."""

from __future__ import annotations

from collections.abc import Iterable

_FILES = "it reads the files of the embedded server"
_PLANS = "it reads the plans of a copy of one server's database"
_PENDING = "a cluster has no pending lists of words; real_citus.py sees that every server's indexes have them at once"

LEFT_OUT = {
    "acceptance/services/test_canaries.py": _FILES,
    "integration/compiler/job/test_batches.py::test_search_index_has_no_pending_entries_after_a_job": _PENDING,
    "integration/store/wiki/test_wiki_search.py::test_page_searches_use_indexes_under_row_security": _PLANS,
}


def is_left_out(node_id: str, names: Iterable[str] = tuple(LEFT_OUT)) -> bool:
    """Return whether a test is on the list, by itself or with its file."""
    return any(
        node_id.startswith((f"tests/{name}::", f"tests/{name}[")) or node_id == f"tests/{name}" for name in names
    )
