"""A remote that answers by a script, and a clock that jumps to the next timer instead of waiting."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from models.transport.endpoint import Endpoint
from models.transport.resilience import CallAnswer, CallPolicy, Verdict, call


class Refused(Exception):
    """An endpoint's failure that the policy names."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__("refused")
        self.verdict = verdict


BUSY = Refused(Verdict(is_retryable=True))
BROKEN = Refused(Verdict(is_retryable=False))
BAD_REQUEST = Refused(Verdict(is_retryable=False, is_outage=False))
POLICY = CallPolicy(failures=(Refused,), judge=lambda error: getattr(error, "verdict"))  # noqa: B009 - judge takes any
READ = CallPolicy(failures=(Refused,), judge=POLICY.judge, may_hedge=True)


class JumpingSelector(selectors.DefaultSelector):
    """Says at once that nothing happened, and lets the clock jump by the time it was asked to wait."""

    now_s = 1000.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready now, or pass the time."""
        ready = super().select(0)
        if not ready:
            assert timeout is not None, "nothing is scheduled: this would wait for ever"
            self.now_s += timeout
        return ready


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop on the selector's clock."""

    def __init__(self) -> None:
        self.jumping = JumpingSelector()
        super().__init__(self.jumping)

    def time(self) -> float:
        """Return the selector's time."""
        return self.jumping.now_s


def run(story: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        runner.run(story)


async def pass_time(seconds: float) -> None:
    """Let the clock of `run` pass so many seconds, which takes none."""
    assert isinstance(asyncio.get_running_loop(), JumpingLoop)
    await asyncio.sleep(seconds)


def now_s() -> float:
    return asyncio.get_running_loop().time()


@dataclass
class Remote:
    """An endpoint whose attempts take and bring what the script says, in order; the last line repeats."""

    script: list[tuple[float, object]]
    begun_at: list[float] = field(default_factory=list)
    cancelled: int = 0
    running: int = 0

    async def __call__(self, remaining_s: float) -> object:
        """Answer as the script says."""
        assert remaining_s > 0
        takes_s, brings = self.script[min(len(self.begun_at), len(self.script) - 1)]
        self.begun_at.append(now_s())
        self.running += 1
        try:
            await pass_time(takes_s)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        if isinstance(brings, BaseException):
            raise brings
        return brings


async def ask(
    endpoint: Endpoint,
    remote: Callable[[float], Awaitable[object]],
    policy: CallPolicy = POLICY,
    deadline_s: float = 2.0,
) -> CallAnswer[object]:
    return await call(endpoint, remote, policy, deadline_s=deadline_s, jitter=lambda: 1.0)


async def known(latency_s: float = 0.1) -> Endpoint:
    """An endpoint that has answered twenty times in this time."""
    endpoint = Endpoint("known")
    for _ in range(20):
        await ask(endpoint, Remote([(latency_s, "ok")]))
    return endpoint
