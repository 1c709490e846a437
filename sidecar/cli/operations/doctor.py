"""`sidecar doctor`: checks whether this machine can serve, and shows how to fix problems. Calls no service."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from typing import Any

import click

from sidecar.cli.operations import doctor_checks
from sidecar.cli.operations.doctor_checks import Finding
from sidecar.cli.shared.failures import FAILED, OK
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.speaking import speaking


@click.command(short_help="Check this machine's setup, and show fixes.")
@speaking
def doctor(voice: Voice) -> int:
    """Check settings, tokenizer, identity, certificate, database, extensions, clock, connections, migrations, roles, the servers
    of a Citus cluster, backends, models, and the trace collector.

    The exit code is 1 if a check fails. Settings come from the same variables as for `sidecar serve`.

    \b
    Example:
      sidecar doctor
      sidecar doctor --json
    """

    findings = asyncio.run(doctor_checks.examine(os.environ))
    voice.show({"findings": findings, "is_well": all(one.is_well for one in findings)}, lambda _: _draw(findings))
    return OK if all(one.is_well for one in findings) else FAILED


def _draw(findings: Sequence[Finding]) -> Iterator[Any]:
    width = max(12, *(len(one.name) for one in findings))
    for one in findings:
        yield f"{'ok   ' if one.is_well else 'WRONG'} {one.name:<{width}} {one.detail}"
        if one.fix:
            yield f"      {'':<{width}} {one.fix}"
