"""The product's tests that `make test-citus` leaves out on a cluster, each with the reason: a test, a whole file or a folder.

All others of the folders that it runs are tests of the cluster, also those that are written later.
"""

from __future__ import annotations

from collections.abc import Iterable

_PLANS = "it reads the plans of a copy of one server's database"
_PENDING = "a cluster has no pending lists of words; real_citus.py sees that every server's indexes have them at once"
_EMBEDDED = "its subject is an embedded server, which it starts, stops or kills"
_ADDRESS = "it changes parts of the address of the embedded server"
_CATALOGUE = "it reads the catalogue, where a cluster has views of its own, and roles that log in"
_ONE_SERVER = "it checks on one server what a cluster needs"
_LIMIT = "it limits and locks on the coordinator, which has none of the rows"

LEFT_OUT = {
    "acceptance/process/test_fault_campaign.py": _EMBEDDED,
    "acceptance/process/test_lifecycle.py": _EMBEDDED,
    "acceptance/process/test_outages.py": _EMBEDDED,
    "integration/compiler/job/test_batches.py::test_search_index_has_no_pending_entries_after_a_job": _PENDING,
    "integration/compiler/job/test_scopes_at_once.py::test_tenants_are_compiled_while_a_cluster_has_lost_anothers_server": (
        _ONE_SERVER
    ),
    "integration/compiler/state/test_candidates.py::test_candidates_are_found_through_indexes_under_row_security": _PLANS,
    "integration/context/test_receipt_writer.py::test_receipts_wait_while_the_database_is_away": _ADDRESS,
    "integration/rpc/test_forgetting.py::test_purge_outlasts_the_time_limit_that_the_server_sets_for_statements": _LIMIT,
    "integration/store/db/test_database_errors.py::test_unreachable_server_is_a_clear_error": _ADDRESS,
    "integration/store/db/test_ordinary_users.py": _EMBEDDED,
    "integration/store/db/test_query_plans.py": _PLANS,
    "integration/store/db/test_row_security.py::test_every_tenant_table_has_row_security_and_a_policy": _CATALOGUE,
    "integration/store/db/test_row_security.py::test_roles_are_subject_to_row_security_and_own_nothing": _CATALOGUE,
    "integration/store/db/test_shards.py": _ONE_SERVER,
    "integration/store/embedded": _EMBEDDED,
    "integration/store/wiki/test_wiki_search.py::test_page_searches_use_indexes_under_row_security": _PLANS,
}


def is_left_out(node_id: str, names: Iterable[str] = tuple(LEFT_OUT)) -> bool:
    """Return whether a test is on the list, by itself or with its file or folder."""
    return any(
        node_id.startswith((f"tests/{name}::", f"tests/{name}[", f"tests/{name}/")) or node_id == f"tests/{name}"
        for name in names
    )
