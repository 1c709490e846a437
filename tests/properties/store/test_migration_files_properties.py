"""Generated and hostile input for what `tests/unit/store/test_migration_files.py` tests by example."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from store.db.extensions import ExtensionRequirement
from store.db.migration_files import MigrationFile, plan
from tests.unit.store.test_migration_files import applied, names


@given(st.lists(st.booleans(), min_size=1, max_size=8), st.integers(0, 8), st.booleans())
def test_files_not_applied_are_pending_or_waiting_exactly_once(needs: list[bool], done: int, offered: bool) -> None:
    wanted = ExtensionRequirement("vector")
    files = [
        MigrationFile(n, f"{n:04}_x", "c", "", is_transactional=True, requirement=wanted if needed else None)
        for n, needed in enumerate(needs, start=1)
    ]
    ledger = [applied(file) for file in files[:done]]
    todo = plan(files, ledger, {"vector": "1"} if offered else {})
    assert sorted(names(todo.pending + todo.waiting)) == names(tuple(files[done:]))
    assert names(todo.pending) == sorted(names(todo.pending))
    assert all(file.requirement and not offered for file in todo.waiting)
