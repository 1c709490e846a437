"""The product's tests that `make test-citus` leaves out on a cluster, each with the reason. A test or a whole file is named."""

from __future__ import annotations

from collections.abc import Iterable

_SCANS = "a cluster refuses scans for an ontology; real_citus.py sees that it says so"

LEFT_OUT = {
    "acceptance/services/test_ontology_scan.py": _SCANS,
}


def is_left_out(node_id: str, names: Iterable[str] = tuple(LEFT_OUT)) -> bool:
    """Return whether a test is on the list, by itself or with its file."""
    return any(
        node_id.startswith((f"tests/{name}::", f"tests/{name}[")) or node_id == f"tests/{name}" for name in names
    )
