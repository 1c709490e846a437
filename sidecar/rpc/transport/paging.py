"""Paging of list calls: page size in rows and bytes, start position, and the token of the next page.

A token holds the last row's keys and a digest of these keys with the call's arguments. The digest prevents use with another
list by mistake; it is no security boundary, since rows are always read inside the caller's scope.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar
from uuid import UUID

import orjson
from google.protobuf.message import Message

from sidecar.runtime.errors import InvalidArgument

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 1000

MAX_PAGE_BYTES = 16 * 1024 * 1024

Row = TypeVar("Row")
Written = TypeVar("Written", bound=Message)
Keys = tuple[Any, ...]

_DIGEST_BYTES = 9
_MAX_TOKEN_CHARS = 4000


class Int4(int):
    """An integer that fits a four-byte column."""


_BOUNDS: Mapping[type, int] = {int: 2**63, Int4: 2**31}


@dataclass(frozen=True, slots=True)
class PageRequest:
    """A page to read: at most `size` rows, after the row with the keys `after`, or from the start if None."""

    size: int
    after: Keys | None

    @property
    def limit(self) -> int:
        """Return the number of rows to query: one more than the page, to detect whether there is another page."""
        return self.size + 1

    def starting(self, name: str) -> dict[str, Any]:
        """Return the start position as a keyword argument of the store: none for the first page, a single key unwrapped."""
        if self.after is None:
            return {}
        return {name: self.after[0] if len(self.after) == 1 else self.after}


@dataclass(frozen=True, slots=True)
class ListCall:
    """One list call: its name and arguments, to which its tokens are bound, and the types of its rows' keys.

    Kinds are `str`, `int`, `Int4`, `datetime` and `UUID`.
    """

    name: str
    arguments: tuple[object, ...]
    kinds: tuple[type, ...]

    def read(self, page_size: int, page_token: str) -> PageRequest:
        """Return the requested page. Raises InvalidArgument naming page_size or page_token."""
        return PageRequest(read_page_size(page_size), self._open(page_token) if page_token else None)

    def cut(
        self,
        rows: Sequence[Row],
        page: PageRequest,
        keys_of: Callable[[Row], Keys],
        write: Callable[[Row], Written],
        *,
        most_bytes: int = MAX_PAGE_BYTES,
        goes_on: Keys | None = None,
    ) -> tuple[list[Written], str]:
        """Return the page's rows as messages and the token of the next page; empty if this is the last.

        The next page begins after the keys `goes_on` if all rows are on this page and there may be more.
        `rows` are up to `page.limit` rows; they may end with the first row that exceeds `most_bytes`. The page ends before
        that row, but has at least one row.
        """
        messages: list[Written] = []
        remaining_bytes = most_bytes
        for row in rows[: page.size]:
            message = write(row)
            remaining_bytes -= message.ByteSize()
            if messages and remaining_bytes < 0:
                break
            messages.append(message)
        after = keys_of(rows[len(messages) - 1]) if len(messages) < len(rows) else goes_on
        return messages, self._seal(after) if after is not None else ""

    def _seal(self, keys: Keys) -> str:
        written = [_write(key) for key in keys]
        return base64.urlsafe_b64encode(orjson.dumps([self._digest(written), *written])).decode().rstrip("=")

    def _open(self, token: str) -> Keys:
        digest, *written = _decode(token)
        is_flat = all(
            isinstance(key, int | str) for key in written
        )  # orjson cannot write deeply nested lists for the digest
        if not is_flat or len(written) != len(self.kinds) or digest != self._digest(written):
            raise _foreign()
        return tuple(_read(kind, key) for kind, key in zip(self.kinds, written, strict=True))

    def _digest(self, written: Sequence[Any]) -> str:
        bound = orjson.dumps([self.name, self.arguments, list(written)])
        return base64.urlsafe_b64encode(hashlib.sha256(bound).digest()[:_DIGEST_BYTES]).decode()


def read_page_size(page_size: int) -> int:
    """Return the number of rows of a page: 50 for zero, at most 1000. Raises InvalidArgument for a negative size."""
    if page_size < 0:
        raise InvalidArgument("page_size", f"is {page_size}", f"send 0 to {MAX_PAGE_SIZE}")
    return min(page_size or DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)


def _decode(token: str) -> list[Any]:
    if len(token) > _MAX_TOKEN_CHARS or not token.isascii():
        raise _foreign()
    try:
        parts = orjson.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, orjson.JSONDecodeError) as error:
        raise _foreign() from error
    if not isinstance(parts, list) or not parts:
        raise _foreign()
    return parts


def _write(key: Any) -> Any:
    return key if isinstance(key, int | str) else key.isoformat() if isinstance(key, datetime) else str(key)


def _read(kind: type, key: Any) -> Any:
    """Return the key as its type. The digest is not a signature, so keys must be validated here."""
    try:
        if kind is datetime:
            moment = datetime.fromisoformat(key)
            return moment.astimezone(UTC) if moment.tzinfo else _refuse()
        if kind is UUID:
            return UUID(key)
        if kind is int or kind is Int4:
            return key if type(key) is int and abs(key) < _BOUNDS[kind] else _refuse()
        return key if type(key) is str and "\0" not in key else _refuse()
    except (TypeError, ValueError, AttributeError, OverflowError) as error:
        raise _foreign() from error


def _refuse() -> Any:
    raise _foreign()


def _foreign() -> InvalidArgument:
    fix = "send the next_page_token of the previous page, with the same arguments"
    return InvalidArgument("page_token", "is not a token of this list", fix)
