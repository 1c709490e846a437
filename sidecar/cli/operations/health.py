"""`sidecar health`: checks whether a sidecar is serving."""

from __future__ import annotations

import click

from sidecar.cli.shared.failures import OK, UNAVAILABLE
from sidecar.cli.shared.numbers import FiniteRange
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import DEFAULT_ADDRESS, securable
from sidecar.cli.shared.speaking import speaking
from sidecar.client import Sidecar, Tls


@click.command(short_help="Check whether a sidecar is serving.")
@click.option("--address", envvar="SIDECAR_ADDRESS", default=DEFAULT_ADDRESS, show_default=True, help="The sidecar.")
@click.option(
    "--wait", "wait_s", type=FiniteRange(min=0, max=86_400), default=0.0, help="Seconds to wait for a starting sidecar."
)
@securable
@speaking
def health(voice: Voice, tls: Tls | None, address: str, wait_s: float) -> int:
    """Check whether a sidecar is serving; needs no token. The exit code is 0 if it is, else 4.

    \b
    Example:
      sidecar health --address 127.0.0.1:7433
      sidecar serve & sidecar health --wait 30
      sidecar health --address 127.0.0.1:7433 --tls-ca ca.pem --tls-name sidecar.example
    """
    with Sidecar(address, "", tls=tls) as client:
        status = client.health(deadline_s=wait_s or 3.0, waits=wait_s > 0)
    voice.show({"address": address, "status": status}, lambda facts: [facts["status"]])
    return OK if status == "SERVING" else UNAVAILABLE
