"""Pages of a list call: sizes, tokens that lead on, and tokens that lead nowhere."""

from __future__ import annotations

import base64
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import orjson
import pytest
from google.protobuf.wrappers_pb2 import StringValue

from sidecar.rpc.transport.paging import Int4, ListCall, read_page_size
from sidecar.runtime.errors import InvalidArgument

KINDS = (datetime, str, int, UUID)
LISTING = ListCall("ListThings", ("tenant", "owner"), KINDS)
KEYS = (datetime(2026, 5, 4, 3, 2, 1, 7, tzinfo=UTC), "ключ/é", 2**40, UUID(int=5))


def shown(row: tuple[Any, ...]) -> StringValue:
    """Return the row's message: its second key, if it has one."""
    return StringValue(value="".join(map(str, row[1:2])))


def token_for(listing: ListCall, keys: tuple[Any, ...]) -> str:
    """Return the token that a page of one row, followed by another, ends with."""
    _, token = listing.cut([keys, keys], listing.read(1, ""), lambda row: row, shown)
    return token


@pytest.mark.parametrize(("asked", "given_size"), [(0, 50), (1, 1), (1000, 1000), (1001, 1000), (2**31 - 1, 1000)])
def test_page_size_has_a_default_and_a_maximum(asked: int, given_size: int) -> None:
    assert read_page_size(asked) == given_size


def test_a_negative_page_size_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgument) as caught:
        read_page_size(-1)
    assert caught.value.field == "page_size"


def test_one_extra_row_is_fetched_and_never_shown() -> None:
    page = LISTING.read(2, "")
    rows, token = LISTING.cut([(*KEYS[:1], name, *KEYS[2:]) for name in "abc"], page, lambda row: row, shown)
    assert (page.limit, len(rows)) == (3, 2)
    after = LISTING.read(2, token).after
    assert after is not None
    assert after[1] == "b"


def test_the_last_page_has_no_token() -> None:
    page = LISTING.read(2, "")
    assert LISTING.cut([KEYS, KEYS], page, lambda row: row, shown) == ([shown(KEYS)] * 2, "")
    assert LISTING.cut([], page, lambda row: row, shown) == ([], "")


@pytest.mark.parametrize(("most_bytes", "kept"), [(0, 1), (19, 1), (20, 2), (29, 2), (30, 3), (1000, 3)])
def test_page_of_large_rows_is_cut_by_bytes_with_a_token_for_the_rest(most_bytes: int, kept: int) -> None:
    rows = [(*KEYS[:1], letter * 8, *KEYS[2:]) for letter in "abcd"]
    assert [shown(row).ByteSize() for row in rows] == [10] * 4
    written, token = LISTING.cut(rows, LISTING.read(3, ""), lambda row: row, shown, most_bytes=most_bytes)
    assert written == [shown(row) for row in rows[:kept]]
    assert LISTING.read(3, token).after == rows[kept - 1]


def test_page_cut_by_the_store_has_a_token() -> None:
    rows = [(*KEYS[:1], letter * 8, *KEYS[2:]) for letter in "ab"]
    written, token = LISTING.cut(rows, LISTING.read(1000, ""), lambda row: row, shown, most_bytes=15)
    assert (len(written), LISTING.read(1000, token).after) == (1, rows[0])


@pytest.mark.parametrize(
    "other",
    [
        ListCall("ListOthers", LISTING.arguments, KINDS),
        ListCall("ListThings", ("tenant", "another"), KINDS),
        ListCall("ListThings", ("tenantowner",), KINDS),
        ListCall("ListThings", LISTING.arguments, KINDS[:3]),
    ],
)
def test_a_token_of_another_list_is_refused(other: ListCall) -> None:
    with pytest.raises(InvalidArgument) as caught:
        other.read(0, token_for(LISTING, KEYS))
    assert caught.value.field == "page_token"


@pytest.mark.parametrize(
    "token",
    ["x", "\0", "é", "💥" * 10, "a" * 5000, "====", "W10", "bnVsbA", "eyJhIjoxfQ", base64.b64encode(b"[").decode()],
)
def test_text_that_is_no_token_is_refused(token: str) -> None:
    with pytest.raises(InvalidArgument):
        LISTING.read(0, token)


@pytest.mark.parametrize(
    "keys",
    [
        ("2026-05-04", "x", 1, str(KEYS[3])),
        ("9" * 40, "x", 1, str(KEYS[3])),
        (KEYS[0].isoformat(), 7, 1, str(KEYS[3])),
        (KEYS[0].isoformat(), "a\0", 1, str(KEYS[3])),
        (KEYS[0].isoformat(), "x", True, str(KEYS[3])),
        (KEYS[0].isoformat(), "x", 2**63, str(KEYS[3])),
        (KEYS[0].isoformat(), "x", 1, "5"),
        (KEYS[0].isoformat(), "x", 1, None),
        (None, [], {}, 1.5),
    ],
)
def test_a_forged_token_with_keys_of_other_kinds_is_refused(keys: tuple[Any, ...]) -> None:
    forged = base64.urlsafe_b64encode(orjson.dumps([LISTING._digest(keys), *keys])).decode().rstrip("=")
    with pytest.raises(InvalidArgument) as caught:
        LISTING.read(0, forged)
    assert caught.value.field == "page_token"


def test_store_gets_a_start_key_only_after_the_first_page() -> None:
    single = ListCall("ListNames", (), (str,))
    assert single.read(1, "").starting("after") == {}
    assert single.read(1, token_for(single, ("b",))).starting("after") == {"after": "b"}
    assert LISTING.read(1, token_for(LISTING, KEYS)).starting("before") == {"before": KEYS}


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        (Int4, 2**31),
        (Int4, -(2**31)),
        (Int4, True),
        (int, 2**63),
        (datetime, "0001-01-01T00:00:00+23:59"),
        (datetime, "9999-12-31T23:59:59-23:59"),
        (datetime, "2026-05-04T03:02:01"),
        (UUID, "not one"),
        (str, "a\0b"),
    ],
)
def test_forged_key_outside_a_columns_range_is_refused_by_name(kind: type, key: Any) -> None:
    listing = ListCall("ListThings", (), (kind,))
    forged = token_for(ListCall("ListThings", (), (str,)), (key,))
    with pytest.raises(InvalidArgument) as caught:
        listing.read(1, forged)
    assert caught.value.field == "page_token"
