"""Notices of backends about changed memories: `POST /webhooks/hindsight/ID`. The use case is in `sidecar.services.webhooks`.

The answer to a request without a valid signature reveals nothing, not even whether the id exists.
"""

from __future__ import annotations

import logging

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from sidecar.services.webhooks import Delivery, NoticeRefused, Webhooks
from sidecar.telemetry.watch import Watch
from store.errors import StoreError

log = logging.getLogger(__name__)

PATH = "/webhooks/hindsight"
SIGNATURE = "x-hindsight-signature-v2"
MAX_BODY_BYTES = 256 * 1024


def webhook_routes(webhooks: Webhooks, *, watch: Watch) -> list[BaseRoute]:
    """Return the routes of notices. A queued compile is linked to the notice's span."""

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
            outcome = await webhooks.take(request.path_params["webhook_id"], delivery)
        except NoticeRefused:
            problem = "there is no webhook with this id, or its secret did not sign the notice within five minutes"
            return JSONResponse({"error": problem}, 401)
        except StoreError as error:
            log.warning("webhook_failed", extra={"error": type(error).__name__})
            return JSONResponse({"error": "try again later"}, 503, {"Retry-After": "30"})
        return JSONResponse({"outcome": outcome.value}, 202) if outcome else JSONResponse({"outcome": "SEEN"})

    return [Route(f"{PATH}/{{webhook_id:uuid}}", hindsight, methods=["POST"])]


async def _delivery(request: Request) -> Delivery | None:
    """Return the notice; None if it is too large or incomplete."""
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
