"""The product's tests that `make test-citus` leaves out on a cluster, each with the reason. A test or a whole file is named."""

from __future__ import annotations

from collections.abc import Iterable

_SCANS = "a cluster refuses scans for an ontology; real_citus.py sees that it says so"
_REPLAYS = "a cluster refuses replays of a wiki's log; real_citus.py sees that it says so"
_FILES = "it reads the files of the embedded server"
_PLANS = "it reads the plans of a copy of one server's database"
_PENDING = "a cluster has no pending lists of words; real_citus.py sees that every server's indexes have them at once"

LEFT_OUT = {
    "acceptance/compiler/test_wiki.py::test_log_rebuilds_the_same_wiki_including_operators_acts": _REPLAYS,
    "acceptance/services/test_canaries.py": _FILES,
    "acceptance/services/test_ontology_scan.py": _SCANS,
    "integration/compiler/job/test_batches.py::test_search_index_has_no_pending_entries_after_a_job": _PENDING,
    "integration/services/ontology/test_scan_by_model.py::test_model_findings_need_their_words_in_the_sentence": _SCANS,
    "integration/services/ontology/test_scan_by_model.py::test_scan_works_without_a_model_and_with_a_failing_one": _SCANS,
    "integration/services/ontology/test_scan_of_pages.py::"
    "test_scan_of_the_demo_proposes_place_kinds_and_sections_with_quotes": _SCANS,
    "integration/services/test_brain.py::test_scan_quotes_no_copies_and_old_quotes_go_with_their_copy": _SCANS,
    "integration/store/wiki/test_wiki_search.py::test_page_searches_use_indexes_under_row_security": _PLANS,
}


def is_left_out(node_id: str, names: Iterable[str] = tuple(LEFT_OUT)) -> bool:
    """Return whether a test is on the list, by itself or with its file."""
    return any(
        node_id.startswith((f"tests/{name}::", f"tests/{name}[")) or node_id == f"tests/{name}" for name in names
    )
