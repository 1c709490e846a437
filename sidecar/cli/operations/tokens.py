"""`sidecar token`: mints a token with this machine's dev key."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from uuid import uuid4

import click

from sidecar.cli.shared.dev_tokens import minting
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.session import DEFAULT_NAME
from sidecar.cli.shared.speaking import speaking
from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, Role


@click.command(short_help="Mint a token with this machine's dev key.")
@click.option("--tenant", default=DEFAULT_NAME, show_default=True, help="The tenant.")
@click.option("--owner", "owners", multiple=True, help="An owner the agent may act for; repeatable.")
@click.option("--agent", default="", help="The agent's name.")
@click.option("--space", "spaces", multiple=True, help="A space the agent may work in, * for all; repeatable.")
@click.option(
    "--role", type=click.Choice(["agent", "admin"]), default="agent", show_default=True, help="agent or admin."
)
@click.option(
    "--lifetime", "lifetime_s", type=click.IntRange(1, 3600), default=3600, show_default=True, help="Seconds."
)
@speaking
def token(
    voice: Voice,
    tenant: str,
    *,
    owners: Sequence[str],
    agent: str,
    spaces: Sequence[str],
    role: str,
    lifetime_s: int,
) -> None:
    """Mint a token with this machine's dev key, which is created if there is none.

    Refused if real signing keys are configured: then the issuer makes the tokens.

    \b
    Example:
      export SIDECAR_TOKEN=$(sidecar token --tenant acme --owner ada --agent helper)
      export SIDECAR_TOKEN=$(sidecar token --tenant acme --owner ada --agent helper --space harbour)
    """
    is_admin = role == "admin"
    for name, given in (("--owner", owners), ("--space", spaces)):
        if is_admin and given:
            raise click.UsageError(f"an admin acts for every owner in every space; leave out {name}.")
    grant = Grant(
        tenant,
        owners=tuple(owners) or (() if is_admin else (DEFAULT_NAME,)),
        agent=agent or ("" if is_admin else DEFAULT_NAME),
        role=Role(role),
        spaces=tuple(spaces) or None,
    )
    minted = mint(grant, minting(os.environ), now_s=time.time(), token_id=uuid4().hex, lifetime_s=lifetime_s)
    voice.show({"token": minted, "lifetime_s": lifetime_s}, lambda facts: [facts["token"]])
