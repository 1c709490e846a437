"""What makes a request's field usable, and what a caller is told when it is not."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import orjson
import pytest
from google.protobuf.struct_pb2 import Struct
from google.protobuf.timestamp_pb2 import Timestamp

from sidecar.rpc.transport import validation
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.validation import check_count, read_id, read_int, read_name, read_text, read_uuid


def refusal(work: Callable[[], Any]) -> InvalidArgument:
    with pytest.raises(InvalidArgument) as caught:
        work()
    return caught.value


@pytest.mark.parametrize("value", ["", "   ", "\n\t"])
def test_blank_text_counts_as_empty(value: str) -> None:
    assert refusal(lambda: read_text("text", value, min_chars=1, max_chars=10)).problem == "is empty"


def test_text_is_returned_unchanged() -> None:
    assert read_text("text", "  é\r\n", min_chars=1, max_chars=10) == "  é\r\n"
    assert read_text("text", "", max_chars=10) == ""


def test_text_may_reach_its_limit_and_not_exceed_it() -> None:
    assert read_text("text", "😀" * 10, max_chars=10)
    error = refusal(lambda: read_text("memories[3].text", "x" * 11, max_chars=10))
    assert (error.field, error.problem, error.fix) == ("memories[3].text", "has 11 characters", "send at most 10")


@pytest.mark.parametrize("value", ["a\0b", "\ud800", "x\udfffy"])
def test_text_that_postgres_cannot_hold_is_refused_and_not_quoted(value: str) -> None:
    error = refusal(lambda: read_text("text", value, max_chars=10))
    assert error.field == "text"
    assert value not in str(error)


@pytest.mark.parametrize("value", ["a", "A.b-c_9", "x" * 100])
def test_a_name_holds_letters_digits_dots_dashes_and_underscores(value: str) -> None:
    assert read_name("name", value) == value


@pytest.mark.parametrize("value", ["", "a b", "é", "a/b", "x" * 101, "a\n", "٣"])
def test_any_other_name_is_refused(value: str) -> None:
    assert refusal(lambda: read_name("name", value)).field == "name"


@pytest.mark.parametrize("value", ["", " ", "x" * 201, "a\0", "a\nb", "\u200b", "\ud800"])
def test_an_id_is_printable_and_bounded(value: str) -> None:
    assert refusal(lambda: read_id("memory_id", value)).field == "memory_id"


def test_an_optional_id_may_be_empty_but_not_blank() -> None:
    assert read_id("ref", "", is_optional=True) == ""
    assert refusal(lambda: read_id("ref", " ", is_optional=True)).field == "ref"


@pytest.mark.parametrize("value", ["", "x", "123", "{0}", "é" * 36])
def test_value_that_is_no_uuid_is_refused(value: str) -> None:
    assert refusal(lambda: read_uuid("receipt_id", value)).field == "receipt_id"


def test_numbers_and_counts_stay_within_both_bounds() -> None:
    assert [read_int("n", value, least=1, most=3) for value in (1, 3)] == [1, 3]
    for value in (0, 4, -(2**31)):
        error = refusal(partial(read_int, "n", value, least=1, most=3))
        assert error.problem == f"is {value}"
    check_count("ids", [], most=0)
    assert refusal(lambda: check_count("ids", ["a"], most=0)).problem == "has 1 entries"
    assert refusal(lambda: check_count("ids", [], least=1, most=2)).field == "ids"


@pytest.mark.parametrize("moment", [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)])
def test_extreme_instants_stay_distinct_from_infinity(moment: datetime) -> None:
    read = validation.read_time("time", validation.write_time(moment))
    assert read != moment
    assert validation.read_time("time", validation.write_time(read)) == read


@pytest.mark.parametrize(
    "stamp",
    [Timestamp(seconds=2**62), Timestamp(seconds=-(2**62)), Timestamp(nanos=-1), Timestamp(nanos=10**9)],
)
def test_value_that_is_no_instant_is_refused(stamp: Timestamp) -> None:
    assert refusal(lambda: validation.read_time("occurred_time", stamp)).field == "occurred_time"


def test_instants_are_in_utc() -> None:
    assert validation.read_time("time", Timestamp(seconds=0)).utcoffset() == timedelta(0)


def test_whole_numbers_stay_whole() -> None:
    found = validation.read_struct("metadata", validation.write_struct({"a": 3, "b": [2.5, {"c": -1}]}), max_bytes=100)
    assert orjson.dumps(found, option=orjson.OPT_SORT_KEYS) == b'{"a":3,"b":[2.5,{"c":-1}]}'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "a\0", ["\0"], {"k": {"\0": 1}}])
def test_object_that_postgres_cannot_hold_is_refused(value: Any) -> None:
    struct = validation.write_struct({"place": value})
    assert refusal(lambda: validation.read_struct("metadata", struct, max_bytes=1000)).field == "metadata"


def test_an_object_is_bounded_in_bytes_not_characters() -> None:
    struct = validation.write_struct({"a": "é" * 10})
    assert validation.read_struct("metadata", struct, max_bytes=28)
    assert refusal(lambda: validation.read_struct("metadata", struct, max_bytes=27)).problem == "takes 28 bytes as JSON"


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"deepest": levels}
    for level in range(levels - 1):
        value = {"list": [value]} if level % 3 == 0 else {"object": value}
    return value


def test_object_nested_too_deep_for_a_message_is_refused_or_returned_as_json() -> None:
    deepest = {"a": {"b": [nested(14)]}}
    assert validation.read_struct("metadata", validation.write_struct(deepest), max_bytes=1000) == deepest
    struct = Struct()
    struct.update(nested(24))
    assert refusal(lambda: validation.read_struct("metadata", struct, max_bytes=1000)).field == "metadata"
    for levels in (24, 60, 150):
        told = Struct.FromString(validation.write_struct(nested(levels)).SerializeToString())
        assert "deepest" in str(told)


def test_empty_object_counts_as_absent() -> None:
    assert validation.read_struct("metadata", Struct(), max_bytes=2) == {}
