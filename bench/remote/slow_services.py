"""Slow HTTP services in a separate process: a knowledge base, AgentCore's records and Hindsight's recall.

They check nothing and always answer the same, so that only the client is measured.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import uvloop

_PASSAGES, _WORDS = 10, 150
_REFUSAL: Final = b'{"message": "Rate exceeded"}'
_REFUSED_S = 0.02
_MOST_WAITING = 1_024


@dataclass(frozen=True, slots=True)
class Pace:
    """How a service answers: half of its answers within `median_s`, none later than `longest_s`, a share of calls refused.

    Times are log-normal with `spread`; a median of 0 answers at once.
    """

    median_s: float = 0.0
    spread: float = 0.55
    longest_s: float = 3.0
    throttled: float = 0.0


@asynccontextmanager
async def answering(pace: Pace, namespace: str = "") -> AsyncIterator[str]:
    """Yield the address of services that answer at this pace, records of AgentCore being of the namespace."""
    spawning = multiprocessing.get_context("spawn")
    ours, theirs = spawning.Pipe()
    process = spawning.Process(target=_serve, args=(pace, namespace, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        yield await asyncio.to_thread(ours.recv)
    finally:
        process.kill()
        await asyncio.to_thread(process.join)


def _serve(pace: Pace, namespace: str, line: Connection) -> None:
    uvloop.run(_listening(_Services(pace, namespace), line))


async def _listening(services: _Services, line: Connection) -> None:
    server = await asyncio.start_server(services.converse, "127.0.0.1", 0, backlog=_MOST_WAITING)
    line.send(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
    await server.serve_forever()


class _Services:
    def __init__(self, pace: Pace, namespace: str) -> None:
        self._pace = pace
        self._chance = random.Random(7)
        self._answers = {ending: json.dumps(body).encode() for ending, body in _answers(namespace).items()}

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the calls of one connection, one after the other."""
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                await reader.readexactly(_length(head))
                writer.write(await self._answer(head.split(b" ", 2)[1].decode()))
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()  # the client has gone

    async def _answer(self, path: str) -> bytes:
        pace = self._pace
        if pace.throttled and self._chance.random() < pace.throttled:
            await asyncio.sleep(_REFUSED_S)
            return _framed(429, _REFUSAL, "x-amzn-errortype: ThrottlingException\r\n")
        if pace.median_s:
            await asyncio.sleep(min(pace.longest_s, self._chance.lognormvariate(0.0, pace.spread) * pace.median_s))
        return _framed(200, next(body for ending, body in self._answers.items() if path.endswith(ending)))


def _length(head: bytes) -> int:
    named = (line.partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in named if name.lower() == b"content-length"), 0)


def _framed(status: int, body: bytes, headers: str = "") -> bytes:
    head = f"HTTP/1.1 {status} x\r\nContent-Type: application/json\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def _answers(namespace: str) -> Mapping[str, object]:
    """Return the answer for this path: ten texts of about a kilobyte each."""
    texts = [f"Passage {number} of the handbook. " + "harbour " * _WORDS for number in range(_PASSAGES)]
    passages = [
        {
            "content": {"type": "TEXT", "text": text},
            "location": {"type": "S3", "s3Location": {"uri": "s3://handbook/boats.md"}},
            "metadata": {"x-amz-bedrock-kb-chunk-id": f"chunk-{number}"},
            "score": 0.9 - number / 100,
        }
        for number, text in enumerate(texts)
    ]
    records = [
        {
            "memoryRecordId": f"mem-{number:036d}",
            "content": {"text": text},
            "memoryStrategyId": "semantic-1",
            "namespaces": [namespace],
            "createdAt": 1_770_000_000,
        }
        for number, text in enumerate(texts)
    ]
    units = [
        {"id": f"unit-{number}", "text": text, "type": "world", "mentioned_at": "2026-05-01T00:00:00Z", "metadata": {}}
        for number, text in enumerate(texts)
    ]
    return {
        "/memories/recall": {"results": units},
        "/retrieve": {"retrievalResults": passages, "memoryRecordSummaries": records},
    }
