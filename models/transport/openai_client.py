"""JSON over HTTP to a server with OpenAI's API: vLLM, Ollama, a gateway, OpenAI itself.

One connection pool for one event loop. The API key is looked up at each call and never appears in a message.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import httpx

from models.errors import CredentialsMissing, InvalidRequest, ModelUnavailable
from models.transport.refusals import ProviderRefusal, provider_error, retry_after_s, why_unreadable

# A long answer with logprobs is a few megabytes; a larger response is not a valid answer.
_MOST_BYTES: Final = 32 * 2**20


@dataclass(frozen=True, slots=True)
class OpenAIConfig:
    """The server's address (`http://127.0.0.1:11434/v1`), and the concurrency of its use.

    `api_key` is called for the key at each call; None sends no key, as for a local server.
    """

    base_url: str
    api_key: Callable[[], str] | None = field(default=None, repr=False)
    max_calls: int = 16
    connect_timeout_s: float = 2.0


class OpenAIClient:
    """Posts requests to one server."""

    def __init__(self, config: OpenAIConfig) -> None:
        """Raises InvalidRequest for an invalid address."""
        try:
            address = httpx.URL(config.base_url)
        except httpx.InvalidURL as error:
            raise InvalidRequest("base_url is not a URL") from error
        if address.scheme not in {"http", "https"} or not address.host or address.userinfo:
            raise InvalidRequest("base_url must be http:// or https:// with a host, and hold no credentials")
        self._api_key = config.api_key
        self._client = httpx.AsyncClient(
            base_url=address,
            # The caller's deadline cancels the request.
            timeout=httpx.Timeout(None, connect=config.connect_timeout_s),
            limits=httpx.Limits(max_connections=config.max_calls, max_keepalive_connections=config.max_calls),
        )

    async def post(self, path: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Post once and return the JSON object of the response. Raises a ProviderError. Cancelling closes the connection."""
        key = self._key()
        # A small compressed response could fill the memory.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        content = json.dumps(payload, default=dict).encode()
        try:
            async with self._client.stream("POST", path, content=content, headers=headers) as response:
                body = await _read(response)
        except httpx.HTTPError as error:
            raise ModelUnavailable(type(error).__name__) from error
        fields = _object(body)
        if response.is_success and fields is not None and not fields.get("error"):
            return fields
        raise provider_error(_refusal(response, fields, key))

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def _key(self) -> str:
        if self._api_key is None:
            return ""
        key = self._api_key()
        if not key:
            raise CredentialsMissing("there is no API key at the configured reference")
        if not (key.isascii() and key.isprintable()):
            raise CredentialsMissing("the API key holds characters that a header cannot hold")
        return key


async def _read(response: httpx.Response) -> bytes:
    body = bytearray()
    async for part in response.aiter_raw():
        body += part
        if len(body) > _MOST_BYTES:
            raise ModelUnavailable(f"{response.status_code} with more than {_MOST_BYTES} bytes")
    return bytes(body)


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None


def _refusal(response: httpx.Response, fields: Mapping[str, Any] | None, key: str) -> ProviderRefusal:
    """Return the server's refusal. Some gateways send errors with status 200; then the error's code is used as status."""
    unreadable = {"message": why_unreadable(response.headers, "a JSON object")}
    error_fields = unreadable if fields is None else _error_fields(fields)
    code, status = str(error_fields.get("code") or error_fields.get("type") or ""), response.status_code
    if response.is_success:
        status = int(code) if code.isdecimal() and len(code) == 3 else 502
    message = str(error_fields.get("message") or "")
    return ProviderRefusal(status, code, message.replace(key, "…") if key else message, retry_after_s(response.headers))


def _error_fields(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the error's fields. OpenAI nests them, older vLLM does not, and Ollama and FastAPI send a text."""
    error = fields.get("error")
    if isinstance(error, dict):
        return error
    return {"message": error or fields.get("detail")} if error or "detail" in fields else fields
