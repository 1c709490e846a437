"""A served sidecar whose parts are killed while callers write, forget and ask, and a ledger of acknowledged writes."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import grpc

from sidecar.rpc.auth.devkey import mint
from sidecar.rpc.auth.identity import Grant, IdentitySettings, Role
from sidecar.v1 import admin_pb2, memory_pb2
from sidecar.v1 import context_pb2 as pb
from store.embedded import postmaster
from store.embedded.layout import Layout
from tests.support.compiler.compiling import DEEDS, NAMES
from tests.support.served.site import Caller
from tests.support.served.turns import asking, detailed, said
from tests.support.waiting import PATIENCE_S, think, until

CALL_S = 60.0
OWNERS = ("mara", "noor", "ivo")
NEW_CLIENT = [("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
# What tells a caller to send the call again.
CLEAR = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.CANCELLED,  # what gRPC says of a call that reaches a server while it closes
    }
)


@dataclass(slots=True)
class Ledger:
    """What was sent, and of it what was acknowledged."""

    turns: dict[tuple[str, str], dict[str, str]] = field(default_factory=lambda: defaultdict(dict))
    acknowledged_turns: dict[tuple[str, str], set[str]] = field(default_factory=lambda: defaultdict(set))
    memories: dict[tuple[str, str], set[str | None]] = field(default_factory=dict)  # texts it may have, None for none
    forgotten_words: dict[str, float] = field(default_factory=dict)  # by when that was acknowledged
    forgotten_owners: set[str] = field(default_factory=set)
    told_too_late: list[str] = field(default_factory=list)
    errors: Counter[tuple[str, str, str, str]] = field(default_factory=Counter)
    whole_at: float = 0.0
    written_at: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)


class Sidecar:
    """`sidecar serve` on a data directory: started, killed and started again."""

    def __init__(self, data_dir: Path, **variables: str) -> None:
        self.data_dir = data_dir
        self.address = f"unix:{data_dir}/api/s.sock"
        self.log = data_dir.with_name(f"{data_dir.name}.log")
        self._variables = variables
        self.process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Start it, and return at once."""
        own = {name: value for name, value in os.environ.items() if not name.startswith("SIDECAR_")}
        named = {
            "SIDECAR_DATA_DIR": str(self.data_dir),
            "SIDECAR_LISTEN": self.address,
            "SIDECAR_CONSOLE_LISTEN": "off",
            "SIDECAR_EMBEDDER": "none",
            "SIDECAR_WORKER_LEASE_S": "5",
            **self._variables,
        }
        with self.log.open("ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "sidecar", "serve", env=own | named, stderr=log, stdout=log
            )

    async def kill(self) -> None:
        """Kill it without a chance to tidy up."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.kill()
        await self.process.wait()

    async def stop(self) -> int:
        """Have it stop in order, and return its exit code."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), PATIENCE_S)

    def worker(self) -> int | None:
        """Return the process of its worker, if one runs."""
        assert self.process is not None
        return next((pid for pid in children(self.process.pid) if b"\0worker\0" in command(pid)), None)

    def backend(self) -> int | None:
        """Return a process of the database that serves a connection, if one runs."""
        server = postmaster.serving_pid(self.data_dir / "pgdata")
        serving = [pid for pid in children(server) if b"sidecar" in command(pid)] if server else []
        return random.choice(serving) if serving else None

    def caller(self, channel: grpc.aio.Channel, owner: str = "", *, admin: bool = False) -> Caller:
        """Return stubs of an owner's agent, or of an admin."""
        grant = Grant("acme", role=Role.ADMIN) if admin else Grant("acme", (owner,), "assistant")
        token = mint(grant, IdentitySettings(self.data_dir), now_s=time.time(), token_id=uuid4().hex)
        return Caller(channel, (("authorization", f"Bearer {token}"),))


def _told(chosen: random.Random, number: int) -> str:
    """Return a sentence like no other about people and places of whom pages are made."""
    one, other = chosen.sample(NAMES, 2)
    return f"{one} and {other} met again on visit {number}. {one} {chosen.choice(DEEDS)}, receipt {uuid4().hex[:8]}."


def children(pid: int | None) -> list[int]:
    with suppress(OSError):
        return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def command(pid: int) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def _kill(pid: int | None) -> None:
    if pid is not None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


async def kill_serve(one: Sidecar) -> None:
    await one.kill()
    await one.start()


async def kill_postmaster(one: Sidecar) -> None:
    _kill(postmaster.serving_pid(one.data_dir / "pgdata"))


async def kill_backend(one: Sidecar) -> None:
    _kill(one.backend())


async def kill_worker(one: Sidecar) -> None:
    _kill(one.worker())


async def kill_all(one: Sidecar) -> None:
    _kill(one.worker())
    _kill(postmaster.serving_pid(one.data_dir / "pgdata"))
    await kill_serve(one)


async def lose_database_socket(one: Sidecar) -> None:
    Layout.of(one.data_dir).socket.unlink(missing_ok=True)


async def lose_api_socket(one: Sidecar) -> None:
    Path(one.address.removeprefix("unix:")).unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        Layout.of(one.data_dir).socket.unlink()


async def restart(one: Sidecar) -> None:
    assert await one.stop() == 0
    await one.start()


FAULTS: tuple[Callable[[Sidecar], Awaitable[None]], ...] = (
    kill_serve,
    kill_postmaster,
    kill_backend,
    kill_worker,
    kill_all,
    lose_database_socket,
    lose_api_socket,
    restart,
)


class Callers:
    """Eight writers and three that ask, each without a pause; what they are told goes into the ledger."""

    def __init__(self, one: Sidecar, channel: grpc.aio.Channel, seed: int) -> None:
        self.ledger = Ledger()
        self._one = one
        self._channel = channel
        self._random = random.Random(seed)
        self._callers: dict[str, Caller] = {}

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with asyncio.TaskGroup() as group:
            works = [
                *(self._append(owner, f"thread-{number}") for number, owner in enumerate((*OWNERS, OWNERS[0]))),
                self._retain(OWNERS[0]),
                self._retain(OWNERS[1]),
                self._retain_and_delete(OWNERS[2]),
                self._write_and_forget(),
                *(self._ask(owner) for owner in OWNERS),
            ]
            tasks = [group.create_task(work) for work in works]
            yield
            for task in tasks:
                task.cancel()

    async def until_well(self) -> None:
        """Wait until a write that begins now was taken, and a turn was whole."""
        now = time.monotonic()
        await until(lambda: min(self.ledger.whole_at, self.ledger.written_at) >= now)

    def caller(self, owner: str, *, admin: bool = False) -> Caller:
        if owner not in self._callers:
            self._callers[owner] = self._one.caller(self._channel, owner, admin=admin)
        return self._callers[owner]

    async def _sent(self, name: str, call: Awaitable[Any]) -> Any:
        """Return the answer, None for an error, which is counted."""
        try:
            answer = await call
        except grpc.aio.AioRpcError as error:
            reason = ""
            with suppress(AssertionError):
                reason = detailed(error)[0]
            self.ledger.errors[name, error.code().name, reason, (error.details() or "")[:160]] += 1
            await think(0.05)
            return None
        self.ledger.counts[name] += 1
        return answer

    async def _append(self, owner: str, thread: str) -> None:
        key = (owner, thread)
        for number in count():
            turns = said((f"question {number} of {thread}", f"answer {number}"), start=number)
            self.ledger.turns[key] |= {turn.client_turn_id: turn.text for turn in turns}
            request = pb.AppendTurnsRequest(thread_id=thread, turns=turns)
            began = time.monotonic()
            while True:
                if await self._sent("AppendTurns", self.caller(owner).AppendTurns(request, timeout=CALL_S)) is not None:
                    self.ledger.acknowledged_turns[key] |= {turn.client_turn_id for turn in turns}
                    self.ledger.written_at = began
                    break
                if self._random.random() < 0.3:
                    break

    async def _retain(self, owner: str) -> None:
        for number in count():
            ids = [f"memory-{number}", f"memory-{self._random.randrange(number + 1)}"]
            texts = {one: _told(self._random, number) for one in ids}
            new = [memory_pb2.NewMemory(memory_id=one, text=text) for one, text in texts.items()]
            for one, text in texts.items():
                self.ledger.memories.setdefault((owner, one), {None}).add(text)
            request = memory_pb2.RetainRequest(memories=new)
            if await self._sent("Retain", self.caller(owner).Retain(request, timeout=CALL_S)) is not None:
                self.ledger.memories |= {(owner, one): {text} for one, text in texts.items()}

    async def _retain_and_delete(self, owner: str) -> None:
        for number in count():
            memory_id, word = f"memory-{number}", f"zq{uuid4().hex[:10]}"
            text = f"The code of the harbour gate is {word}."
            self.ledger.memories[owner, memory_id] = {None, text}
            new = [memory_pb2.NewMemory(memory_id=memory_id, text=text)]
            request = memory_pb2.RetainRequest(memories=new)
            if await self._sent("Retain", self.caller(owner).Retain(request, timeout=CALL_S)) is None:
                continue
            self.ledger.memories[owner, memory_id] = {text}
            if number % 3 == 0:
                continue
            self.ledger.memories[owner, memory_id] = {None, text}
            delete = memory_pb2.DeleteMemoryRequest(memory_id=memory_id)
            while self._random.random() < 0.9:
                if (
                    await self._sent("DeleteMemory", self.caller(owner).DeleteMemory(delete, timeout=CALL_S))
                    is not None
                ):
                    self.ledger.memories[owner, memory_id] = {None}
                    self.ledger.forgotten_words[word] = time.monotonic()
                    break

    async def _write_and_forget(self) -> None:
        for number in count():
            owner, word = f"gone-{number}", f"zq{uuid4().hex[:10]}"
            agent = self.caller(owner)
            text = f"The password of the old dock is {word}."
            turns = said((text, "Noted."))
            await self._sent("AppendTurns", agent.AppendTurns(pb.AppendTurnsRequest(thread_id="t", turns=turns)))
            new = [memory_pb2.NewMemory(memory_id="m", text=text)]
            await self._sent("Retain", agent.Retain(memory_pb2.RetainRequest(memories=new), timeout=CALL_S))
            await self._sent("AssembleContext", agent.AssembleContext(asking(thread_id="t"), timeout=CALL_S))
            forget = admin_pb2.ForgetOwnerRequest(owner_id=owner)
            admin = self.caller("", admin=True)
            for _ in range(20):
                if await self._sent("ForgetOwner", admin.ForgetOwner(forget, timeout=CALL_S)) is not None:
                    self.ledger.forgotten_owners.add(owner)
                    self.ledger.forgotten_words[word] = time.monotonic()
                    break

    async def _ask(self, owner: str) -> None:
        for number in count():
            request = asking("What is the code of the harbour gate?", thread_id=f"thread-{number % 3}")
            began = time.monotonic()
            answer = await self._sent("AssembleContext", self.caller(owner).AssembleContext(request, timeout=CALL_S))
            if answer is None:
                continue
            if not answer.assembly.degraded:
                self.ledger.whole_at = began
            else:
                self.ledger.counts["degraded"] += 1
            told = str(answer.assembly)
            known = [word for word, at in self.ledger.forgotten_words.items() if at < began]
            self.ledger.told_too_late += [word for word in known[-200:] if word in told]
            await think(0.02)
