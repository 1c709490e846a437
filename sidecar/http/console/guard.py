"""The checks before every page: allowed hosts, allowed origins of posts, and the headers of each answer."""

from __future__ import annotations

import re
from collections.abc import Collection

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

# The hashes of the styles that the vendored graph library puts into the page; other inline styles are not allowed.
GRAPH_STYLES = (
    "'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"
    " 'sha256-jtRRMYY2VbEXuBKbHvqM1/fPT8vazFrEooXdvwUK4y8='"
    " 'sha256-9xjtvxMT1ApHlgn9ohbh2FNfvK5Tqtzy94BjfXBeMSY='"
)
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {GRAPH_STYLES}",
        "img-src 'self' data:",
        "connect-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_LOCAL = frozenset({"localhost", "127.0.0.1", "::1"})
_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\]|(?P<name>[\w.-]+))(?::\d{0,5})?", re.ASCII)


class Guard:
    """Wraps the application: refuses foreign hosts and origins, and adds the headers."""

    def __init__(self, inner: ASGIApp, *, hosts: Collection[str]) -> None:
        self._inner = inner
        self._hosts = _LOCAL | {host.lower() for host in hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(scope)
        await (refusal or self._inner)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if name_of(host) not in self._hosts:
            return PlainTextResponse("This host is not served here; name it in SIDECAR_CONSOLE_HOSTS.", 421)
        if scope["method"] in {"GET", "HEAD"}:
            return None
        if not _is_own(headers, host):
            return PlainTextResponse("This form was sent from another site.", 403)
        return None


def name_of(host: str) -> str:
    """Return the name or address in a Host header without its port; empty for an invalid header."""
    match = _HOST.fullmatch(host)
    return (match["address"] or match["name"]).lower() if match else ""


def _is_own(headers: Headers, host: str) -> bool:
    """Return whether a form comes from a page of this host: browsers send an Origin with every post."""
    origin = headers.get("origin")
    if origin is None:
        return headers.get("sec-fetch-site") == "same-origin"
    return origin.partition("://")[2].lower() == host.lower()
