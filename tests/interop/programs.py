"""Other programs, run to their end; what they wrote is kept, and their exit code is for the caller to judge."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path


def ran(
    command: Sequence[str | Path],
    *,
    text_in: str = "",
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    timeout_s: float = 600.0,
) -> subprocess.CompletedProcess[str]:
    """Return what the program did. Raises subprocess.TimeoutExpired."""
    return subprocess.run(
        command, check=False, input=text_in, cwd=cwd, env=environ, timeout=timeout_s, capture_output=True, text=True
    )


def last_words(run: subprocess.CompletedProcess[str]) -> str:
    """Return the end of what the program wrote."""
    return "\n".join((run.stdout + run.stderr).strip().splitlines()[-15:])
