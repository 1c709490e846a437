"""What the audit of the locked packages says: vulnerabilities by name, and where it could not look."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests import audit

KNOWN = {"name": "aiosql", "version": "15.0", "vulns": []}
VULNERABLE = {
    "name": "jinja2",
    "version": "2.10",
    "vulns": [{"id": "PYSEC-2019-217", "fix_versions": ["2.10.1"]}, {"id": "PYSEC-2099-1", "fix_versions": []}],
}
UNKNOWN = {"name": "orjson", "skip_reason": "not found"}


def pip_audit(home: Path, answer: str) -> None:
    """Put a program in pip-audit's place that answers so."""
    program = home / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nimport sys\nif '-c' not in sys.argv:\n    {answer}\n")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        (f"print({{'dependencies': [{KNOWN}]}})", 0, "1 packages audited, 0 vulnerabilities known\n"),
        (
            f"print({{'dependencies': [{KNOWN}, {VULNERABLE}, {UNKNOWN}]}})",
            1,
            (
                "jinja2 2.10: PYSEC-2019-217, mended in 2.10.1\njinja2 2.10: PYSEC-2099-1, mended in no version yet\n"
                "2 packages audited, 2 vulnerabilities known; the database does not know orjson\n"
            ),
        ),
        (
            f"print({{'dependencies': [{UNKNOWN}]}})",
            0,
            "SKIPPED: the locked packages were not audited: its database cannot be reached (it knows none of them)\n",
        ),
        (
            "sys.exit('trouble\\nno route to https://somewhere')",
            0,
            "SKIPPED: the locked packages were not audited: its database cannot be reached (no route to https)\n",
        ),
    ],
    ids=["clean", "vulnerable", "unreachable", "failing"],
)
def test_audit_names_vulnerable_packages_and_says_when_it_cannot_look(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], answer: str, code: int, said: str
) -> None:
    pip_audit(tmp_path, answer.replace("print(", "print(__import__('json').dumps(", 1).replace("})", "}))", 1))
    assert audit.main(home=tmp_path) == code
    assert capsys.readouterr().out == said
