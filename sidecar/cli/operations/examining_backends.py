"""What `sidecar doctor` looks at of backends and models: whether each that is configured can be reached, or loaded.

Nothing is asked of them: an address is connected to, a program is looked for, credentials are searched.
"""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
from collections.abc import Mapping
from urllib.parse import urlsplit

from models.errors import EmbedderUnusable
from sidecar.backends import configuration
from sidecar.backends.entries import Entry, HindsightEntry, ToolsEntry
from sidecar.cli.operations.doctor import Finding
from sidecar.runtime import embedders
from sidecar.runtime.errors import SidecarError
from sidecar.runtime.settings import Settings

_PATIENCE_S = 2.0
_PORTS = {"http": 80, "https": 443}
_AWS = "set AWS_PROFILE or the keys, or give the host a role"


async def backends(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Return a finding for each backend of the file, side by side; one for the file alone where it cannot be read."""
    if settings.backends is None:
        return [Finding("backends", is_well=True, told="none are configured; SIDECAR_BACKENDS would name their file")]
    try:
        entries = list(configuration.read(settings.backends, environ).entries())
    except SidecarError as error:
        return [
            Finding("backends", is_well=False, told=str(error), mend="correct the file that SIDECAR_BACKENDS names")
        ]
    return list(await asyncio.gather(*(asyncio.to_thread(_entry, one) for one in entries)))


async def models(settings: Settings) -> list[Finding]:
    """Return a finding for the planner's model, where it is a service, and one for the embedder, where one is set."""
    wanted = {
        "planner": (settings.compile_planner, settings.compile_base_url, "SIDECAR_COMPILE_BASE_URL"),
        "embedder": (settings.embedder, settings.embedder_base_url, "SIDECAR_EMBEDDER_BASE_URL"),
    }
    found = []
    for name, (kind, url, variable) in wanted.items():
        match kind.split(":")[0]:
            case "openai":
                found.append(await asyncio.to_thread(reach, name, url, mend=f"start it, or correct {variable}"))
            case "bedrock" | "titan":
                found.append(await asyncio.to_thread(_aws, name))
            case "minilm":
                found.append(await asyncio.to_thread(_local_embedder))
    return found


def _local_embedder() -> Finding:
    """Return whether the embedder of the install can be loaded."""
    try:
        embedders.local().close()
    except EmbedderUnusable as error:
        mend = (
            "install its packages again from the lock, or set another SIDECAR_EMBEDDER; until then recall is by words"
        )
        return Finding("embedder", is_well=False, told=str(error), mend=mend)
    return Finding("embedder", is_well=True, told="all-MiniLM-L6-v2 of the install, offline")


def reach(name: str, url: str, *, mend: str) -> Finding:
    """Return whether something takes connections at the address within 2 s."""
    parts = urlsplit(url if "://" in url else f"//{url}")
    began_s = time.monotonic()
    try:
        port = parts.port or _PORTS.get(parts.scheme, 0)
        socket.create_connection((parts.hostname or "", port), timeout=_PATIENCE_S).close()
    except (OSError, ValueError) as error:
        told = f"{url}: {getattr(error, 'strerror', None) or 'no answer'}"
        return Finding(name, is_well=False, told=told, mend=mend)
    return Finding(name, is_well=True, told=f"{url} in {(time.monotonic() - began_s) * 1000:.0f} ms")


def _entry(entry: Entry) -> Finding:
    name, mend = f"backend {entry.name}", "start it, or correct its entry; turns go on without it"
    match entry:
        case ToolsEntry(command=(program, *_)):
            found = shutil.which(program)
            told = f"{program} is {found}" if found else f"there is no program {program}"
            return Finding(name, is_well=bool(found), told=told, mend="" if found else mend)
        case HindsightEntry(url=url) | ToolsEntry(url=url):
            return reach(name, url, mend=mend)
    endpoint = str(getattr(entry, "endpoint_url", ""))
    return reach(name, endpoint, mend=mend) if endpoint else _aws(name)


def _aws(name: str) -> Finding:
    """Return whether the AWS default chain has credentials; they are not tried."""
    from botocore.exceptions import BotoCoreError
    from botocore.session import Session

    try:
        credentials = Session().get_credentials()
    except BotoCoreError as error:
        return Finding(name, is_well=False, told=str(error), mend=_AWS)
    if credentials is None:
        return Finding(name, is_well=False, told="the AWS default chain has no credentials", mend=_AWS)
    return Finding(name, is_well=True, told=f"AWS credentials from {credentials.method}")
