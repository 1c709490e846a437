"""Where a backend says that memories changed: `POST /webhooks/hindsight/ID`. All it can do is queue a compile.

Whose memories is said by our own row of the id, never by the request. The row's secret must have signed the raw body together
with a time at most five minutes away, and each delivery counts once. Who does not sign rightly learns nothing, not even whether
there is such an id.
"""

from __future__ import annotations

import hmac
import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from uuid import UUID

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sidecar.telemetry.watch import Watch
from store.compile import jobs
from store.compile.jobs import Enqueued
from store.db.postgres import Pool, installation, scoped
from store.errors import StoreError
from store.tenancy import webhooks
from store.tenancy.webhooks import Subscription

log = logging.getLogger(__name__)

PATH = "/webhooks/hindsight"
SIGNATURE = "x-hindsight-signature-v2"
MAX_BODY_BYTES = 256 * 1024
MAX_AGE_S = 300
_NOBODY = b"\0" * 32


@dataclass(frozen=True, slots=True)
class Delivery:
    """A notice as it came: the raw body, and the time and the MACs that its signature header names."""

    body: bytes
    timestamp: str
    macs: tuple[str, ...]

    @property
    def delivery_id(self) -> str:
        """What a repetition of this notice has in common with it: the same body, signed anew each time it is sent."""
        return sha256(self.body).hexdigest()

    def is_signed_with(self, secret: bytes, *, now: datetime) -> bool:
        """Return whether the secret, in hexadecimal as it was handed out, signed `time.body`, and the time is near `now`."""
        if not self.timestamp.isascii() or not self.timestamp.isdecimal() or len(self.timestamp) > 12:
            return False
        if abs(now.timestamp() - int(self.timestamp)) > MAX_AGE_S:
            return False
        signed = self.timestamp.encode() + b"." + self.body
        expected = hmac.new(secret.hex().encode(), signed, sha256).hexdigest().encode()
        return any(hmac.compare_digest(expected, mac.encode(errors="replace")) for mac in self.macs)


def webhook_routes(
    pool: Pool, *, now: Callable[[], datetime], is_compiled: Callable[[Subscription], bool], watch: Watch
) -> list[BaseRoute]:
    """Return the routes that take notices, to be served among others.

    `is_compiled` says of a subscription whether the owner's wiki is made from that backend's memories: else nothing is queued.
    A compile that is queued is linked to the notice's span.
    """

    async def hindsight(request: Request) -> Response:
        with watch.post(f"{PATH}/{{webhook_id}}", request.headers) as posted:
            response = await answered(request)
            posted.status = response.status_code
        return response

    async def answered(request: Request) -> Response:
        delivery = await _delivery(request)
        if delivery is None:
            return JSONResponse({"error": f"send at most {MAX_BODY_BYTES} bytes"}, 413)
        try:
            return await _taken(pool, request.path_params["webhook_id"], delivery, now(), is_compiled)
        except StoreError as error:
            log.warning("webhook_failed", extra={"error": type(error).__name__})
            return JSONResponse({"error": "try again later"}, 503, {"Retry-After": "30"})

    return [Route(f"{PATH}/{{webhook_id:uuid}}", hindsight, methods=["POST"])]


async def _taken(
    pool: Pool, webhook_id: UUID, delivery: Delivery, now: datetime, is_compiled: Callable[[Subscription], bool]
) -> Response:
    async with installation(pool, read_only=True) as connection:
        scope = await webhooks.scope_of(connection, webhook_id)
    if scope is None:
        # As much work as for a known id, and the same answer.
        delivery.is_signed_with(_NOBODY, now=now)
        return _refused()
    async with scoped(pool, scope) as connection:
        subscription = await webhooks.get(connection, scope, webhook_id)
        if subscription is None or not delivery.is_signed_with(subscription.secret, now=now):
            return _refused()
        if not await webhooks.is_first(connection, subscription, delivery.delivery_id, now=now):
            return JSONResponse({"outcome": "SEEN"})
        if not is_compiled(subscription):
            return JSONResponse({"outcome": Enqueued.SKIPPED_ADAPTER.value}, 202)
        ticket = await jobs.enqueue(connection, scope, trigger="webhook", now=now)
    return JSONResponse({"outcome": ticket.outcome.value}, 202)


def _refused() -> Response:
    return JSONResponse({"error": "no webhook of this id, or not signed with its secret within five minutes"}, 401)


async def _delivery(request: Request) -> Delivery | None:
    """Return the notice, or None for one that is too large or did not arrive whole."""
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                return None
    except ClientDisconnect:
        return None
    named = [part.partition("=") for part in request.headers.get(SIGNATURE, "")[:2000].split(",")]
    timestamp = next((value.strip() for name, _, value in named if name.strip() == "t"), "")
    macs = tuple(value.strip() for name, _, value in named if name.strip() == "v1")
    return Delivery(bytes(body), timestamp, macs[:5])
