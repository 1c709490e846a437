"""Bounds the bodies of boto3's answers in bytes and in time. botocore itself reads an answer without bounds, and its read timeout
begins anew with each byte.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Any, Final

import urllib3
from botocore import exceptions as aws
from botocore.awsrequest import AWSResponse

_READ_BYTES: Final = 64 * 1024


@dataclass(frozen=True, slots=True)
class BodyBounds:
    """The most bytes of an answer's body, and the seconds from its headers to its last byte."""

    most_bytes: int
    seconds: float


class AnswerTooLarge(ValueError):
    """An answer has more bytes than its bound."""


def bound(client: Any, bounds: BodyBounds) -> None:
    """Make a boto3 client's calls raise AnswerTooLarge or ReadTimeoutError for an answer beyond its bounds."""
    client.meta.events.register("before-send", partial(_sent, client, bounds))


def _sent(client: Any, bounds: BodyBounds, request: Any, **_: Any) -> Any:
    """Send a request in place of botocore, which would read the body itself or let the caller do so."""
    request.stream_output = True
    answer = client._endpoint.http_session.send(request)  # noqa: SLF001  # only it knows the proxies and certificates
    try:
        body = _Body(_read(answer.raw, bounds))
    except (TimeoutError, urllib3.exceptions.TimeoutError) as error:
        raise aws.ReadTimeoutError(endpoint_url=request.url, error=error) from error
    except (urllib3.exceptions.HTTPError, OSError) as error:
        raise aws.ConnectionClosedError(endpoint_url=request.url, error=error) from error
    finally:
        answer.raw.close()
    return AWSResponse(answer.url, answer.status_code, answer.headers, body)


def _read(raw: Any, bounds: BodyBounds) -> bytes:
    """Return an answer's bytes, read within their bounds; the connection is returned to its pool if they are whole."""
    read, ends_s = bytearray(), time.monotonic() + bounds.seconds
    while part := raw.read1(_READ_BYTES):
        read += part
        if len(read) > bounds.most_bytes:
            raise AnswerTooLarge
        if time.monotonic() > ends_s:
            raise TimeoutError
    raw.release_conn()
    return bytes(read)


class _Body(BytesIO):
    """An answer's bytes."""

    def stream(self) -> list[bytes]:
        """Return the bytes, as botocore reads them."""
        return [self.getvalue()]
