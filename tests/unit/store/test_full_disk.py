"""Which failures of the embedded server are due to a full disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from store.embedded.disk import is_full


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ('FATAL:  could not write lock file "postmaster.pid": No space left on device', True),
        ("[Errno 122] Disk quota exceeded", True),
        ("FATAL:  could not resize shared memory segment: No space left on device", False),
        ("FATAL:  could not create semaphores: No space left on device", False),
        ("FATAL:  could not bind", False),
        ("", False),
    ],
)
def test_only_a_full_disk_is_taken_for_one(words: str, expected: bool, tmp_path: Path) -> None:
    assert is_full(tmp_path, words) is expected
