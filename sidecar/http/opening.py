"""Opens a sidecar's HTTP servers according to its settings."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack

from starlette.routing import BaseRoute
from starlette.types import ASGIApp

from sidecar.http.connection import HttpLimits
from sidecar.http.health import Health, health_app
from sidecar.http.listening import check_plain_text, opened, served
from sidecar.runtime.settings import Settings
from sidecar.telemetry import names
from sidecar.telemetry.figures import Figures

HTTP_PORT, CONSOLE_PORT = 7434, 7435


def check_addresses(settings: Settings) -> None:
    """Raise SettingInvalid for an address that would serve plain HTTP to other machines without the setting that allows this."""
    if not settings.http_plain:
        fix = "listen on 127.0.0.1 or [::1], or set SIDECAR_HTTP_PLAIN=yes if only probes and scrapers reach the port"
        check_plain_text("SIDECAR_HTTP_LISTEN", settings.http_listen, fix=fix)
    if not settings.console_tls_proxy:
        fix = "listen on 127.0.0.1 or [::1], or set SIDECAR_CONSOLE_TLS_PROXY=yes if a TLS proxy is in front of it"
        check_plain_text("SIDECAR_CONSOLE_LISTEN", settings.console_listen, fix=fix)


async def open_health(
    stack: AsyncExitStack, settings: Settings, health: Health, figures: Figures, *, extra: Sequence[BaseRoute] = ()
) -> str:
    """Serve health, metrics and the extra routes until the stack closes; return the address, empty if the server is off."""
    figures.watch_values(names.TASK_RESTARTS, health.restarts)
    listener = opened("SIDECAR_HTTP_LISTEN", settings.http_listen, HTTP_PORT)
    if listener is None:
        return ""
    app = health_app(health, figures, extra=extra)
    return await stack.enter_async_context(served(app, listener, _limits(settings)))


async def open_console(stack: AsyncExitStack, settings: Settings, console: ASGIApp) -> str:
    """Serve the console until the stack closes; return its address, empty if it is off."""
    listener = opened("SIDECAR_CONSOLE_LISTEN", settings.console_listen, CONSOLE_PORT)
    if listener is None:
        return ""
    return await stack.enter_async_context(served(console, listener, _limits(settings)))


def _limits(settings: Settings) -> HttpLimits:
    return HttpLimits(requests_per_s=settings.http_peer_requests_per_s)
