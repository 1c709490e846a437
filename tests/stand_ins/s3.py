"""A small S3 over HTTP: objects in memory, put, listed by prefix in pages, and fetched if they still are what they were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import md5
from http.server import BaseHTTPRequestHandler
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from tests.stand_ins.listening import listening

PAGE = 3


@dataclass(slots=True)
class FakeS3:
    """The stand-in: its objects by bucket and key, what was asked for and fetched, and refusals for whatever comes next.

    With `ignores_prefix` a listing has the whole bucket. `says` is the message of every refusal.
    """

    url: str = ""
    objects: dict[tuple[str, str], bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    refusals: list[tuple[int, str]] = field(default_factory=list)
    ignores_prefix: bool = False
    says: str = "no"


@contextmanager
def serving() -> Iterator[FakeS3]:
    """Yield a stand-in that listens."""
    fake = FakeS3()
    with listening(_Handler, fake) as fake.url:
        yield fake


class _Handler(BaseHTTPRequestHandler):
    stand_in: FakeS3
    protocol_version = "HTTP/1.1"

    def do_PUT(self) -> None:
        bucket, key, _ = self._asked()
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if key:
            self.stand_in.objects[(bucket, key)] = body
        self._send(200, b"", {"ETag": _etag(body)})

    def do_GET(self) -> None:
        bucket, key, query = self._asked()
        self.stand_in.asked.append(self.path)
        if self.stand_in.refusals:
            status, code = self.stand_in.refusals.pop(0)
            self._refuse(status, code)
        elif key:
            self._fetch(bucket, key)
        else:
            self._list(bucket, query)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""

    def _asked(self) -> tuple[str, str, Mapping[str, str]]:
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        return bucket, key, {name: values[0] for name, values in parse_qs(parts.query).items()}

    def _fetch(self, bucket: str, key: str) -> None:
        body = self.stand_in.objects.get((bucket, key))
        if body is None:
            self._refuse(404, "NoSuchKey")
        elif self.headers.get("If-Match", _etag(body)) != _etag(body):
            self._refuse(412, "PreconditionFailed")
        else:
            self.stand_in.fetched.append(key)
            self._send(200, body, {"ETag": _etag(body)})

    def _list(self, bucket: str, query: Mapping[str, str]) -> None:
        keys = sorted(key for name, key in self.stand_in.objects if name == bucket)
        if not self.stand_in.ignores_prefix:
            keys = [key for key in keys if key.startswith(query.get("prefix", ""))]
        begin = int(query.get("continuation-token", "0"))
        rows = "".join(
            f"<Contents><Key>{escape(key)}</Key><LastModified>2026-05-01T00:00:00.000Z</LastModified>"
            f"<ETag>{escape(_etag(self.stand_in.objects[(bucket, key)]))}</ETag>"
            f"<Size>{len(self.stand_in.objects[(bucket, key)])}</Size></Contents>"
            for key in keys[begin : begin + PAGE]
        )
        more = begin + PAGE < len(keys)
        token = f"<NextContinuationToken>{begin + PAGE}</NextContinuationToken>" if more else ""
        told = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{rows}"
        self._send(200, f"<ListBucketResult>{told}</ListBucketResult>".encode(), {"Content-Type": "application/xml"})

    def _refuse(self, status: int, code: str) -> None:
        told = f"<Code>{code}</Code><Message>{escape(self.stand_in.says)}</Message>"
        self._send(status, f"<Error>{told}</Error>".encode(), {})

    def _send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _etag(body: bytes) -> str:
    return f'"{md5(body, usedforsecurity=False).hexdigest()}"'
