"""A served unix socket whose file is removed: the service makes it again, and calls over the old one go on."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from sidecar.runtime.settings import Settings
from tests.support.served.site import Site, served
from tests.support.served.turns import assembled
from tests.support.waiting import PATIENCE_S

NEW_CLIENT = [
    ("grpc.use_local_subchannel_pool", 1),  # else it would share the connection that another channel has
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 200),
]


async def answers(site: Site) -> bool:
    """Return whether a client that connects now is served."""
    async with grpc.aio.insecure_channel(site.settings.listen[0], NEW_CLIENT) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        answer = await health.Check(health_pb2.HealthCheckRequest(), wait_for_ready=True, timeout=PATIENCE_S)
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


async def test_removed_socket_is_recreated_and_open_connections_go_on(settings: Settings, tmp_path: Path) -> None:
    socket = tmp_path / "api" / "s.sock"
    async with served(replace(settings, listen=(f"unix:{socket}",))) as site:
        assert (await assembled(site.caller())).receipt_id
        socket.unlink()
        assert await answers(site)
        shutil.rmtree(socket.parent)
        assert await answers(site)
        assert socket.parent.stat().st_mode & 0o777 == 0o700
        assert (await assembled(site.caller())).receipt_id, "the channel from before was never interrupted"
        watch = health_pb2_grpc.HealthStub(site.channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == health_pb2.HealthCheckResponse.SERVING
    assert not socket.exists(), "nothing is left of it after the stop"


async def test_socket_of_another_process_at_the_same_path_is_kept(settings: Settings, tmp_path: Path) -> None:
    address = f"unix:{tmp_path}/api/s.sock"
    async with served(replace(settings, listen=(address,))) as first:
        await assembled(first.caller())
        async with served(replace(settings, listen=(address,))) as second:
            held = (tmp_path / "api" / "s.sock").stat().st_ino
            assert await answers(second)
            assert await answers(first)
            assert (tmp_path / "api" / "s.sock").stat().st_ino == held
