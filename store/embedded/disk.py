"""Recognises a full disk as the cause of a failure of the embedded server."""

from __future__ import annotations

import shutil
from pathlib import Path

from store.errors import DataDirectoryUnusable

_SIGNS = ("No space left on device", "Disk quota exceeded")
_OTHER_DEVICES = ("shared memory", "semaphore")  # their limits have the same message
_LEAST_FREE_BYTES = 65_536  # with less, Postgres may fail before it can log why


def is_full(folder: Path, words: str) -> bool:
    """Return whether a failure with this output is due to the disk of an existing folder."""
    lines = [line for line in words.splitlines() if any(sign in line for sign in _SIGNS)]
    return (
        any(not any(other in line for other in _OTHER_DEVICES) for line in lines)
        or free_bytes(folder) < _LEAST_FREE_BYTES
    )


def free_bytes(folder: Path) -> int:
    """Return the free bytes of the disk that holds the folder."""
    return shutil.disk_usage(folder).free


def full_disk(folder: Path) -> DataDirectoryUnusable:
    """Return the error for a full disk."""
    return DataDirectoryUnusable(f"the disk that holds {folder} is full, or its quota is used up; make room there")
