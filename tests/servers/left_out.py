"""The product's tests that `make test-citus` leaves out on a cluster, each with the reason. A test or a whole file is named."""

from __future__ import annotations

from collections.abc import Iterable

_SCANS = "a cluster refuses scans for an ontology; real_citus.py sees that it says so"
_REPLAYS = "a cluster refuses replays of a wiki's log; real_citus.py sees that it says so"
_FILES = "it reads the files of the embedded server"

LEFT_OUT = {
    "acceptance/compiler/test_wiki.py::test_log_rebuilds_the_same_wiki_including_operators_acts": _REPLAYS,
    "acceptance/services/test_canaries.py": _FILES,
    "acceptance/services/test_ontology_scan.py": _SCANS,
}


def is_left_out(node_id: str, names: Iterable[str] = tuple(LEFT_OUT)) -> bool:
    """Return whether a test is on the list, by itself or with its file."""
    return any(
        node_id.startswith((f"tests/{name}::", f"tests/{name}[")) or node_id == f"tests/{name}" for name in names
    )
