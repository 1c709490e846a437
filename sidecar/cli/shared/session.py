"""Shared by commands that call a sidecar: the options for address and identity, and the client."""

from __future__ import annotations

import functools
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import click

from sidecar.cli.shared import failures
from sidecar.cli.shared.dev_tokens import dev_token
from sidecar.cli.shared.output import Voice
from sidecar.cli.shared.speaking import Command, speaking
from sidecar.client import Sidecar, Stance, Tls

DEFAULT_ADDRESS = "127.0.0.1:7433"
DEFAULT_NAME = "default"


@dataclass(frozen=True, slots=True)
class CommandSession:
    """A client for the tenant and owner of the options, and the output of the command.

    `owner` is the owner of its calls, empty for the token's own; `tenant` likewise.
    """

    client: Sidecar
    voice: Voice
    owner: str = ""
    tenant: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The address and identity of calls; without a token, the local dev key is used."""

    address: str
    token: str | None
    tenant: str
    owner: str


def securable(work: Command) -> Command:
    """Add `tls` to a command, made from --tls-ca, --tls-name, --tls-cert and --tls-key; None without them."""
    file = click.Path(exists=True, dir_okay=False, path_type=Path)

    @click.option("--tls-key", type=file, envvar="SIDECAR_CLIENT_KEY", help="The key of --tls-cert, PEM.")
    @click.option("--tls-cert", type=file, envvar="SIDECAR_CLIENT_CERT", help="A client certificate, PEM.")
    @click.option(
        "--tls-name", envvar="SIDECAR_TLS_NAME", default="", help="The name in its certificate, if not the address."
    )
    @click.option("--tls-ca", type=file, envvar="SIDECAR_TLS_CA", help="Use TLS and trust these roots, PEM.")
    @functools.wraps(work)
    def command(
        *, tls_ca: Path | None, tls_name: str, tls_cert: Path | None, tls_key: Path | None, **options: Any
    ) -> Any:
        return work(tls=_tls(tls_ca, tls_name, (tls_cert, tls_key)), **options)

    return command


def _tls(roots: Path | None, name: str, own: tuple[Path | None, Path | None]) -> Tls | None:
    if not (roots or name or any(own)):
        return None
    if own.count(None) == 1:
        raise click.UsageError("--tls-cert and --tls-key must be set together.")
    ca, chain = (_pem("--tls-ca", roots, "CERTIFICATE"), _pem("--tls-cert", own[0], "CERTIFICATE"))
    return Tls(ca, _pem("--tls-key", own[1], "PRIVATE KEY"), chain, name)


def _pem(option: str, file: Path | None, kind: str) -> bytes | None:
    """Return the file's bytes, None without a file. Raises UsageError if it has no block of that kind."""
    content = file.read_bytes() if file else None
    if content is not None and f"{kind}-----".encode() not in content:
        raise click.UsageError(f"{option}: {file} contains no {kind.lower()}; give a PEM file with one.")
    return content


def connected(work: Command) -> Command:
    """Add a `session` to a command: --address, --token, --tenant, --owner, the TLS options, and --json."""

    @click.option("--owner", default="", help="The owner of context, memories and threads. Default: the token's own.")
    @click.option("--tenant", default="", help="The tenant. Default: the token's own.")
    @click.option(
        "--token", envvar="SIDECAR_TOKEN", help="A token. Default: $SIDECAR_TOKEN, or a token of the dev key."
    )
    @click.option(
        "--address", envvar="SIDECAR_ADDRESS", default=DEFAULT_ADDRESS, show_default=True, help="The sidecar."
    )
    @securable
    @functools.wraps(work)
    def command(
        *, voice: Voice, tls: Tls | None, address: str, token: str | None, tenant: str, owner: str, **options: Any
    ) -> Any:
        token = os.environ.get("SIDECAR_TOKEN") if token is None else token
        caller = as_caller(Caller(address, token, tenant, owner), voice)
        with Sidecar(caller.address, caller.token or "", tls=tls, stance=Stance(caller.tenant, caller.owner)) as client:
            return work(session=CommandSession(client, voice, caller.owner, caller.tenant), **options)

    return speaking(command)


def as_caller(caller: Caller, voice: Voice) -> Caller:
    """Return the caller with a token: the given one, or one minted with the local dev key and a note to the user.

    Raises TokenEmpty, TokenMissing, or the errors of minting.
    """
    if caller.token is not None and not caller.token.strip():
        raise failures.TokenEmpty
    if caller.token:
        return caller

    tenant, owner = caller.tenant or DEFAULT_NAME, caller.owner or DEFAULT_NAME
    token = dev_token(os.environ, tenant=tenant, now_s=time.time(), token_id=uuid4().hex)
    voice.note(f"No token given: using this machine's dev key, as tenant {tenant!r} and owner {owner!r}.")
    return Caller(caller.address, token, tenant, owner)
