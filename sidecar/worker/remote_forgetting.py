"""Builds the clients that forget at remote memory services, from the file of backends."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

from sidecar.backends import configuration
from sidecar.backends.entries import Configuration
from sidecar.services.forgetting.remote_forgetter import RemoteMemories


@asynccontextmanager
async def remote_memories(
    path: Path | None, environ: Mapping[str, str]
) -> AsyncIterator[Mapping[UUID, Sequence[RemoteMemories]]]:
    """Yield the memory services by tenant, without entries with `forget = false`. Raises SettingInvalid."""
    backends = Configuration() if path is None else configuration.read(path, environ)
    if not any(one.forget for one in backends.hindsight) and not any(one.forget for one in backends.agentcore):
        yield {}
        return
    from sidecar.backends.aws import Clients
    from sidecar.services.forgetting.agentcore_forgetting import AgentCoreForgetting
    from sidecar.services.forgetting.hindsight_forgetting import HindsightForgetting
    from sidecar.sources import backend_sources  # imports the SDKs, which a process without backends does not need

    memories: dict[UUID, list[RemoteMemories]] = defaultdict(list)
    async with AsyncExitStack() as stack:
        clients = Clients()
        stack.callback(clients.close)
        for entry in backends.hindsight:
            if entry.forget:
                hindsight = backend_sources.hindsight_client(entry)
                stack.push_async_callback(hindsight.close)
                memories[entry.tenant_id].append(HindsightForgetting(hindsight))
        for memory_entry in backends.agentcore:
            if memory_entry.forget:
                memory = backend_sources.agentcore_memory(memory_entry, clients)
                stack.callback(memory.close)
                memories[memory_entry.tenant_id].append(AgentCoreForgetting(memory))
        yield memories
