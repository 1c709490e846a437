"""`python -m tests.interop [clients] [prometheus] [image]`: run the parts named, or all; a line a check.

The exit code is 1 if one fails.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.interop import image, prometheus
from tests.interop.buf import BufClient
from tests.interop.cases import cases, problem
from tests.interop.checks import Checks
from tests.interop.node import NodeClient, NodeMissing
from tests.interop.service import Service, ServiceFailed, running

PARTS = ("clients", "prometheus", "image")


def main(arguments: Sequence[str]) -> int:
    """Run the parts and return the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.interop", description="Other people's clients and Prometheus, and the image."
    )
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="what to run; all when none is named")
    parts = parser.parse_args(arguments).parts or PARTS
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="interop-") as directory:
        Path(directory).chmod(0o711)  # for root, Postgres runs as another user and passes through here
        if "clients" in parts or "prometheus" in parts:
            _served(checks, Path(directory), parts)
        if "image" in parts:
            _image(checks, Path(directory))
    return checks.close()


def _served(checks: Checks, directory: Path, parts: Sequence[str]) -> None:
    try:
        with running(directory / "service") as service:
            if "clients" in parts:
                for client in _all_clients(service, directory):
                    _call_all(checks, client)
            if "prometheus" in parts:
                _prometheus(checks, service, directory)
    except ServiceFailed as error:
        checks.say("the service starts, serves and ends", str(error))
    else:
        checks.say("the service starts, serves, and ends on SIGTERM")


def _all_clients(service: Service, directory: Path) -> list[BufClient | NodeClient]:
    found: list[BufClient | NodeClient] = []
    for address in service.addresses:
        found += [BufClient(service, address, directory, uses_reflection=one) for one in (True, False)]
        found.append(NodeClient(service, address))
    return found


def _call_all(checks: Checks, client: BufClient | NodeClient) -> None:
    wanted = cases(client.name)
    try:
        outcomes = client.outcomes(wanted)
    except NodeMissing as error:
        checks.say(client.name, str(error.__doc__))
        return
    for case, outcome in zip(wanted, outcomes, strict=True):
        checks.say(f"{client.name}: {case.name}", problem(case, outcome))


def _prometheus(checks: Checks, service: Service, directory: Path) -> None:
    try:
        prometheus.check(checks, service, directory)
    except prometheus.PrometheusMissing as error:
        checks.say("Prometheus", str(error) or str(error.__doc__))


def _image(checks: Checks, directory: Path) -> None:
    try:
        image.check(checks, directory)
    except image.ImageUnbuildable as error:
        checks.say("the image is built and run", str(error))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
