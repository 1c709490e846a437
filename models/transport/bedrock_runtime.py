"""Bedrock's runtime API through boto3: one client, built once, and the threads for its blocking calls.

Credentials come from the SDK's default chain and are never seen here. The SDK's retries are disabled, since
`models/transport/provider.py` retries. The client is built at its first call, in a thread, because looking up credentials may
use the network.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, Final

import boto3
import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    CredentialRetrievalError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    ReadTimeoutError,
    UnauthorizedSSOTokenError,
)
from botocore.loaders import Loader, create_loader
from botocore.parsers import ResponseParserError
from botocore.utils import is_valid_endpoint_url

from models.errors import CredentialsMissing, InvalidRequest, ModelTimeout, ModelUnavailable, ProviderError
from models.transport.aws_bodies import BodyBounds, bound
from models.transport.refusals import ProviderRefusal, provider_error, retry_after_s
from models.transport.threads import BlockingCalls

# A larger response is not a valid answer; see `models/transport/openai_client.py`.
_MOST_BYTES: Final = 32 * 2**20
_NO_CREDENTIALS: Final = (
    NoCredentialsError,
    PartialCredentialsError,
    CredentialRetrievalError,
    UnauthorizedSSOTokenError,
)
# The errors of the SDK's parser for a body that does not match the service's model, or is nested too deep.
_UNREADABLE: Final = (
    ResponseParserError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class BedrockConfig:
    """The address of Bedrock and the concurrency of its use. Without a region, the SDK's default chain provides one.

    `read_timeout_s` bounds one answer, even after its caller was cancelled. A long plan takes minutes to generate.
    """

    region: str | None = None
    endpoint_url: str | None = None
    max_calls: int = 8
    connect_timeout_s: float = 2.0
    read_timeout_s: float = 300.0


class BedrockRuntime:
    """A client of bedrock-runtime for one event loop."""

    def __init__(self, config: BedrockConfig) -> None:
        """Create the client without a call. Raises InvalidRequest without a region, or for an invalid endpoint URL."""
        inner = botocore.session.Session()
        inner.register_component("data_loader", _service_models())
        self._session = boto3.session.Session(region_name=config.region, botocore_session=inner)
        if self._session.region_name is None:
            raise InvalidRequest("no region: set one for Bedrock, or AWS_DEFAULT_REGION")
        if config.endpoint_url is not None and not is_valid_endpoint_url(config.endpoint_url):
            raise InvalidRequest("the endpoint URL is not valid")
        self._config = config
        self._client: Any = None
        self._building = threading.Lock()
        self._threads = BlockingCalls(config.max_calls, failures=(BotoCoreError, ClientError, *_UNREADABLE))

    async def call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Call an operation once (`converse`, `invoke_model`) and return its decoded response. Raises a ProviderError.

        A streaming body is read to bytes.
        """
        try:
            return await self._threads.run(partial(self._call, operation, parameters))
        except ClientError as error:
            raise provider_error(_refusal(error)) from error
        except _NO_CREDENTIALS as error:
            raise CredentialsMissing(type(error).__name__) from error
        except (BotoCoreError, *_UNREADABLE) as error:
            raise _failure(error) from error

    async def close(self) -> None:
        """Close the idle connections. Running calls end by themselves."""
        if self._client is not None:
            self._client.close()

    def _call(self, operation: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        try:
            response: dict[str, Any] = getattr(self._built(), operation)(**parameters)
        except _NO_CREDENTIALS:
            # A client keeps the credentials that it was built with; a new client finds credentials added since.
            self._client = None
            raise
        body = response.get("body")
        return response if body is None else {**response, "body": body.read()}

    def _built(self) -> Any:
        with self._building:
            if self._client is None:
                client = self._session.client(
                    "bedrock-runtime",
                    endpoint_url=self._config.endpoint_url,
                    config=Config(
                        retries={"total_max_attempts": 1},
                        max_pool_connections=self._config.max_calls,
                        connect_timeout=self._config.connect_timeout_s,
                        read_timeout=self._config.read_timeout_s,
                    ),
                )
                bound(client, BodyBounds(_MOST_BYTES, self._config.read_timeout_s))
                self._client = client
            return self._client


@cache
def _service_models() -> Loader:
    """Return the SDK's service descriptions, cached because reading them takes 50 ms instead of 3 ms."""
    return create_loader()


def _refusal(error: ClientError) -> ProviderRefusal:
    response: Mapping[str, Any] = error.response
    fields, meta = response.get("Error", {}), response.get("ResponseMetadata", {})
    status = int(meta.get("HTTPStatusCode", 500))
    headers = {name.lower(): value for name, value in meta.get("HTTPHeaders", {}).items()}
    return ProviderRefusal(status, str(fields.get("Code", "")), str(fields.get("Message", "")), retry_after_s(headers))


def _failure(error: Exception) -> ProviderError:
    """Return the error for a client-side failure. The SDK's own text may quote addresses, so it stays in the cause."""
    if isinstance(error, ParamValidationError):
        return provider_error(ProviderRefusal(400, "ParamValidationError", str(error)))
    if isinstance(error, ReadTimeoutError):
        return ModelTimeout("no answer within the read timeout")
    if isinstance(error, ConnectTimeoutError):
        return ModelUnavailable("no connection within the connect timeout")
    return ModelUnavailable(type(error).__name__)
