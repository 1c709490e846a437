"""Trusted keys from one fixed JWKS URL, cached when the endpoint fails.

The URL comes from settings, never from a token. A fetch follows no redirects, is bounded in size and time, and happens at
most once a minute whatever kids callers send.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

from sidecar.rpc.auth.keys import MAX_KEY_BYTES, KeySet, PublicKey, parse_jwks
from sidecar.runtime.errors import KeysUnavailable, SettingInvalid

FETCH_TIMEOUT_S = 3.0
MIN_INTERVAL_S = 60.0
MAX_AGE_S = 3600.0

_log = logging.getLogger(__name__)


def check_jwks_url(url: str, *, is_http_allowed: bool = False) -> None:
    """Raise SettingInvalid unless the URL is https; http is accepted only for a loopback address and only when allowed."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError as error:
        raise SettingInvalid("SIDECAR_JWKS_URL", "cannot be read", "set an https URL") from error
    if not host or parts.username is not None or parts.fragment:
        raise SettingInvalid(
            "SIDECAR_JWKS_URL", "has no host, or carries a user or a fragment", "set a plain https URL"
        )
    if parts.scheme == "https" or (parts.scheme == "http" and is_http_allowed and is_loopback(host)):
        return
    raise SettingInvalid("SIDECAR_JWKS_URL", "is not https", "set an https URL")


def is_loopback(host: str) -> bool:
    """Return whether the host is `localhost` or a loopback address; other names are not looked up."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


async def fetch(url: str, *, timeout_s: float = FETCH_TIMEOUT_S) -> bytes:
    """Return the body at the URL: at most 256 KiB, within `timeout_s` seconds in total. Raises KeysUnavailable."""
    import httpx  # only where a JWKS URL is set: it costs 0.1 to 0.4 s at start

    is_https = url.startswith("https:")
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    try:
        async with (
            httpx.AsyncClient(follow_redirects=False, timeout=timeout_s, trust_env=is_https) as client,
            asyncio.timeout(timeout_s),  # excludes loading the trusted certificates
            client.stream("GET", url, headers=headers) as response,
        ):
            if response.status_code != 200:
                raise KeysUnavailable(f"it answered with HTTP status {response.status_code}")
            return await _bounded(response.aiter_raw())
    except TimeoutError as error:
        raise KeysUnavailable(f"there was no complete answer within {timeout_s:g} s") from error
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise KeysUnavailable(f"it could not be reached ({type(error).__name__})") from error


async def _bounded(chunks: AsyncIterator[bytes]) -> bytes:
    body = bytearray()
    async for chunk in chunks:
        body += chunk
        if len(body) > MAX_KEY_BYTES:
            raise KeysUnavailable(f"the answer is larger than {MAX_KEY_BYTES // 1024} KiB")
    return bytes(body)


class RemoteKeys:
    """Trusted keys from one URL: fetched on first use, on an unknown kid, and hourly in the background.

    At most one fetch a minute, one at a time; only callers with an unknown kid wait for it. A failed fetch is logged and
    keeps the last good set. Call `stop` before the loop closes.
    """

    def __init__(
        self,
        url: str,
        *,
        monotonic_s: Callable[[], float],
        fetch: Callable[[str], Awaitable[bytes]] = fetch,
    ) -> None:
        self._url = url
        self._monotonic_s = monotonic_s
        self._fetch = fetch
        self._keys: KeySet = {}
        self._loaded_s = -math.inf
        self._tried_s = -math.inf
        self._refresh: asyncio.Task[None] | None = None

    async def find(self, kid: str) -> PublicKey | None:
        """Return the trusted key with this id, or None. Raises KeysUnavailable until a set has been fetched."""
        key = self._keys.get(kid)
        if key is None or self._monotonic_s() - self._loaded_s >= MAX_AGE_S:
            self._start_refresh()
        if key is None and self._refresh is not None:
            await asyncio.shield(self._refresh)
            key = self._keys.get(kid)
        if not self._keys:
            raise KeysUnavailable
        return key

    async def stop(self) -> None:
        """Cancel a running fetch and wait for its end."""
        if self._refresh is not None:
            self._refresh.cancel()
            await asyncio.wait({self._refresh})

    def _start_refresh(self) -> None:
        now_s = self._monotonic_s()
        if self._refresh is None and now_s - self._tried_s >= MIN_INTERVAL_S:
            self._tried_s = now_s
            self._refresh = asyncio.create_task(self._read(), name="jwks-refresh")
            self._refresh.add_done_callback(self._forget)

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._refresh = None

    async def _read(self) -> None:
        try:
            self._keys = parse_jwks(await self._fetch(self._url))
        except (KeysUnavailable, ValueError) as error:
            _log.error("jwks_kept", extra={"problem": str(error), "keys": len(self._keys)})
        else:
            self._loaded_s = self._monotonic_s()
            _log.info("jwks_read", extra={"keys": len(self._keys)})
