"""How many files and connections a process may have open."""

from __future__ import annotations

import resource
import subprocess
import sys

from sidecar.runtime.open_files import connections_within
from tests.support.places import ROOT

RAISE = """
import resource
from sidecar.runtime.open_files import raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 200))
raise_limit()
print(*resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def test_limit_is_raised_to_the_one_that_the_system_sets() -> None:
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[1] >= 200
    done = subprocess.run([sys.executable, "-c", RAISE], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["200", "200"]


def test_callers_leave_files_for_everything_else() -> None:
    assert [connections_within(files) for files in (64, 1_024, 65_536)] == [32, 512, 65_024]
