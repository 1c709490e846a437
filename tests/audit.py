"""Known vulnerabilities of the locked packages: `python -m tests.audit`, part of `make check`.

pip-audit runs in an environment of its own. Where it cannot be installed or its database cannot be reached, one line says so and
the check goes on.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.places import ROOT

HOME = ROOT / ".venv-audit"
LOCK = ROOT / "requirements.lock"

_PATIENCE_S = 300
_INSTALL = ("-m", "pip", "--disable-pip-version-check", "--quiet", "--retries", "1", "install", "pip-audit>=2.7,<3")
_AUDIT = ("-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off", "--timeout", "10")


def main(*, home: Path = HOME) -> int:
    """Print what is known against the locked packages; return 1 if there is anything."""
    try:
        python = _python(home)
        told = _run(python, *_AUDIT, "--format", "json", "--requirement", str(LOCK))
    except (subprocess.SubprocessError, OSError) as error:
        return _skipped(f"pip-audit cannot be installed or run here ({type(error).__name__})")
    try:
        packages = json.loads(told.stdout)["dependencies"]
    except (ValueError, LookupError, TypeError):
        return _skipped(f"its database cannot be reached ({last_line(told.stderr)})")
    known = [one for one in packages if "skip_reason" not in one]
    if not known:
        return _skipped("its database cannot be reached (it knows none of them)")
    lines = findings(known)
    unknown = sorted({one["name"] for one in packages} - {one["name"] for one in known})
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.write(f"{len(known)} packages audited, {len(lines)} vulnerabilities known")
    sys.stdout.write(f"; the database does not know {', '.join(unknown)}\n" if unknown else "\n")
    return 1 if lines else 0


def findings(packages: list[dict[str, Any]]) -> list[str]:
    """Return a line for each vulnerability: the package, its version, the vulnerability, and the versions that mend it."""
    return [
        f"{one['name']} {one['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'no version yet'}"
        for one in packages
        for found in one.get("vulns", ())
    ]


def last_line(text: str) -> str:
    """Return the last line that says something, without addresses."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return (lines[-1] if lines else "no answer").partition("://")[0][:120]


def _python(home: Path) -> Path:
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, timeout=_PATIENCE_S)
    if _run(python, "-c", "import pip_audit").returncode:
        _run(python, *_INSTALL).check_returncode()
    return python


def _run(python: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(python), *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
    )


def _skipped(why: str) -> int:
    sys.stdout.write(f"SKIPPED: the locked packages were not audited: {why}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
