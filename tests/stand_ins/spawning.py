"""Serves gRPC under load as the command does, and starts processes meanwhile: `python -m tests.stand_ins.spawning`.

It prints the exit codes of those processes, each once.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE

from sidecar.__main__ import prepare_grpc
from sidecar.cli.shared.event_loop import runner

_COUNT = 100


async def main() -> None:
    """Serve, call, and start processes."""
    import grpc

    async def echo(request: bytes, _: object) -> bytes:
        return request

    server = grpc.aio.server()
    port = server.add_insecure_port("127.0.0.1:0")
    handlers = {"Echo": grpc.unary_unary_rpc_method_handler(echo)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("test.Echo", handlers),))
    await server.start()
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:

        async def call() -> None:
            while True:
                await channel.unary_unary("/test.Echo/Echo")(bytes(100_000))

        calls = [asyncio.create_task(call()) for _ in range(3)]
        codes = [await _code() for _ in range(_COUNT)]
        for task in calls:
            task.cancel()
    await server.stop(0)
    print(sorted(set(codes)))


async def _code() -> int:
    process = await asyncio.create_subprocess_exec("sleep", "0.01", stdin=PIPE, stdout=PIPE, start_new_session=True)
    return await process.wait()


if __name__ == "__main__":
    prepare_grpc()
    with runner() as loop:
        loop.run(main())
