"""The number of files and connections that the process may have open at once."""

from __future__ import annotations

import resource
from contextlib import suppress

_MOST_FILES = 65_536  # enough for every connection; some programs look through all numbers up to the limit
_OTHER_FILES = 512  # the database, HTTP, documents, tool servers


def raise_limit() -> None:
    """Raise the limit as far as the system lets this process: the usual one, 1,024, is less than its callers may need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # a container may forbid it; the process goes on with what it has
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def most_connections() -> int:
    """Return how many connections of callers to accept at all addresses, so that enough files are left for everything else."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return connections_within(_MOST_FILES if soft == resource.RLIM_INFINITY else soft)


def connections_within(open_files: int) -> int:
    """Return the connections of callers for a limit of open files: all but 512, at least half."""
    return max(open_files // 2, open_files - _OTHER_FILES)
