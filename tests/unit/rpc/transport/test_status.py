"""The one table: every error has its row, every row says something, and nothing hidden gets out."""

from __future__ import annotations

import asyncio
import importlib
import inspect
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2 as details
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from models.errors import UnknownModel
from sidecar.rpc.transport.status import DOMAIN, HIDDEN, MAX_TEXT_BYTES, TABLE, Row, answer, message_of, status_of
from sidecar.runtime import errors
from sidecar.turn.profile import InvalidKnob
from store.errors import AlreadyExists, DatabaseUnavailable, UnexpectedDatabaseError, VersionConflict
from tests.support.each import each
from tests.support.places import ROOT

PACKAGES = ("sidecar", "store", "models")
CLIENT = ROOT / "sidecar" / "client"  # its errors are raised in callers' processes and never answered here


class Secret(Exception):
    """An error of nobody's tree."""


class Ended(grpc.aio.AbortError):  # type: ignore[misc]  # grpcio ships no types
    """What a context raises when a call is ended."""


class Context:
    """Keeps the status that a call was ended with."""

    def __init__(self, remaining_s: float | None = None) -> None:
        self.ended_with: Any = None
        self._remaining_s = remaining_s

    def time_remaining(self) -> float | None:
        return self._remaining_s

    async def abort_with_status(self, status: Any) -> None:
        self.ended_with = status
        raise Ended


def error_classes() -> Iterator[type[Exception]]:
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("errors.py")):
            if CLIENT in path.parents:
                continue
            module = importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for _, found in inspect.getmembers(module, inspect.isclass):
                if issubclass(found, Exception) and found.__module__ == module.__name__:
                    yield found


ERRORS = list(error_classes())


def detail(status: Status, kind: Any) -> Any:
    """Return the status's one detail of that kind."""
    found = [entry for entry in status.details if entry.Is(kind.DESCRIPTOR)]
    assert len(found) == 1
    message = kind()
    found[0].Unpack(message)
    return message


def wire(status: Status) -> str:
    return str(status) + "".join(entry.value.decode(errors="replace") for entry in status.details)


@each("kind", ERRORS)
def test_every_error_class_has_its_own_row(kind: type[Exception]) -> None:
    assert kind in TABLE


def test_search_for_error_classes_finds_every_package() -> None:
    assert {errors.Overloaded, DatabaseUnavailable, UnknownModel} <= set(ERRORS)


def test_reasons_are_well_formed_and_each_names_one_error() -> None:
    shown = {row.reason: kind.__name__ for kind, row in TABLE.items() if not row.is_hidden}
    assert all(shown[row.reason] == kind.__name__ for kind, row in TABLE.items() if not row.is_hidden)
    assert all(re.fullmatch(r"[A-Z][A-Z0-9_]+[A-Z0-9]", reason) and len(reason) <= 63 for reason in shown)
    assert HIDDEN.reason not in shown


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (errors.InvalidArgument("top_k", "is -1", "send 1 to 100"), "INVALID_ARGUMENT", "INVALID_ARGUMENT"),
        (errors.IdentityMissing(), "UNAUTHENTICATED", "CREDENTIALS_MISSING"),
        (errors.ScopeForbidden(), "PERMISSION_DENIED", "SCOPE_FORBIDDEN"),
        (errors.ReceiptDropped(), "NOT_FOUND", "RECEIPT_DROPPED"),
        (errors.PoolTooSmall(12, "system", 9000, least_tokens=64), "FAILED_PRECONDITION", "POOL_TOO_SMALL"),
        (errors.TextsDropped(3), "FAILED_PRECONDITION", "TEXTS_DROPPED"),
        (InvalidKnob("top_k", "is -1", "send 1 to 100"), "INVALID_ARGUMENT", "INVALID_KNOB"),
        (VersionConflict(newest_version=4), "ABORTED", "VERSION_CONFLICT"),
        (errors.Overloaded(0.25), "RESOURCE_EXHAUSTED", "OVERLOADED"),
        (errors.RequiredSourceFailed("thread"), "UNAVAILABLE", "REQUIRED_SOURCE_FAILED"),
        (UnknownModel("gpt-9"), "INVALID_ARGUMENT", "UNKNOWN_MODEL"),
        (DatabaseUnavailable(), "UNAVAILABLE", "DATABASE_UNAVAILABLE"),
        (AlreadyExists("pages_key"), "ALREADY_EXISTS", "ALREADY_EXISTS"),
        (TimeoutError(), "DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"),
        (UnexpectedDatabaseError("x"), "INTERNAL", "INTERNAL"),
        (Secret(), "INTERNAL", "INTERNAL"),
    ],
)
def test_an_error_becomes_its_code_and_reason(error: Exception, code: str, reason: str) -> None:
    status = status_of(error, "id-1")
    info = detail(status, details.ErrorInfo)
    assert status.code == grpc.StatusCode[code].value[0]
    assert (info.domain, info.reason) == (DOMAIN, reason)
    assert status.message


def test_a_bad_field_is_named_with_its_fix() -> None:
    status = status_of(errors.InvalidArgument("budget.top_k", "is -1", "send 1 to 100"), "")
    (violation,) = detail(status, details.BadRequest).field_violations
    assert (violation.field, violation.description) == ("budget.top_k", "is -1; send 1 to 100.")


def test_unknown_model_is_a_bad_field_too() -> None:
    (violation,) = detail(status_of(UnknownModel("gpt-9"), ""), details.BadRequest).field_violations
    assert violation.field == "model_id"


def test_an_overload_says_when_to_come_back() -> None:
    delay = detail(status_of(errors.Overloaded(0.25), ""), details.RetryInfo).retry_delay
    assert delay.ToNanoseconds() == 250_000_000


def test_a_pool_that_is_too_small_names_the_largest_term() -> None:
    status = status_of(errors.PoolTooSmall(12, "system", 9000, least_tokens=64), "")
    (violation,) = detail(status, details.PreconditionFailure).violations
    assert violation.subject == "system"
    assert dict(detail(status, details.ErrorInfo).metadata) == {
        "largest_term": "system",
        "largest_tokens": "9000",
        "pool_tokens": "12",
    }


@pytest.mark.parametrize(
    "error",
    [
        Secret("password=hunter2"),
        UnexpectedDatabaseError("hunter2"),
        errors.KeyFileInvalid("/etc/hunter2", "hunter2"),
        AlreadyExists("hunter2"),
        DatabaseUnavailable("hunter2"),
        ExceptionGroup("hunter2", [errors.Overloaded(1), Secret("hunter2")]),
        UnicodeEncodeError("utf-8", "hunter2", 0, 1, "hunter2"),
    ],
)
def test_internal_texts_are_never_sent(error: Exception) -> None:
    assert "hunter2" not in wire(status_of(error, "id-1"))


def test_group_of_known_errors_is_answered_as_its_first_unless_one_is_hidden() -> None:
    known = ExceptionGroup("two", [ExceptionGroup("one", [DatabaseUnavailable()]), errors.Overloaded(1)])
    assert detail(status_of(known, ""), details.ErrorInfo).reason == "DATABASE_UNAVAILABLE"
    mixed = ExceptionGroup("two", [DatabaseUnavailable(), ExceptionGroup("one", [Secret()])])
    assert detail(status_of(mixed, ""), details.ErrorInfo).reason == "INTERNAL"


def test_subclass_without_a_row_is_answered_as_its_nearest_ancestor() -> None:
    class NewCase(errors.ScopeForbidden):
        """A case added elsewhere."""

    assert detail(status_of(NewCase(), ""), details.ErrorInfo).reason == "SCOPE_FORBIDDEN"


@pytest.mark.parametrize("hostile", ["\ud800", "a\0b", "x" * 100_000, "line\r\nline", "𝔘" * 600])
def test_hostile_text_in_an_error_still_makes_a_status_that_can_be_sent(hostile: str) -> None:
    status = status_of(errors.InvalidArgument(hostile, hostile, hostile), "")
    assert len(status.message.encode()) <= MAX_TEXT_BYTES
    assert status.ByteSize() < 3000
    assert rpc_status.to_status(status).details == status.message
    assert "\n" not in status.message


@each("kind", [kind for kind in ERRORS if kind in TABLE and not TABLE[kind].is_hidden])
def test_every_error_shown_to_callers_has_a_text(kind: type[Exception]) -> None:
    row: Row = TABLE[kind]
    assert row.message or inspect.cleandoc(kind.__doc__ or "").endswith((".", "\n"))


def test_error_without_a_text_shows_its_docstring() -> None:
    assert message_of(errors.TokenExpired()) == "The token has expired; get a new one."


async def test_result_of_successful_work_is_returned() -> None:
    async def work() -> int:
        return 7

    assert await answer(Context(), "/t.Echo/Say", work()) == 7


def failing(error: BaseException) -> Callable[[], Any]:
    async def work() -> None:
        raise error

    return work


async def test_failure_ends_the_call_with_its_status_and_no_traceback() -> None:
    context = Context()
    with pytest.raises(Ended) as caught:
        await answer(context, "/t.Echo/Say", failing(errors.TokenExpired())())
    assert context.ended_with.code is grpc.StatusCode.UNAUTHENTICATED
    assert caught.value.__context__ is None


async def test_unknown_failure_is_logged_under_the_id_sent_to_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    context = Context()
    with caplog.at_level(logging.ERROR), pytest.raises(Ended):
        await answer(context, "/t.Echo/Say", failing(Secret("hunter2"))())
    (record,) = caplog.records
    assert record.message == "rpc_failed"
    assert vars(record)["error_id"] in context.ended_with.details
    assert record.exc_info is not None
    assert "hunter2" not in context.ended_with.details


async def test_known_failure_is_not_logged_as_a_fault(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(Ended):
        await answer(Context(), "/t.Echo/Say", failing(errors.Overloaded(1))())
    assert caplog.records == []


@pytest.mark.parametrize("passing", [asyncio.CancelledError(), KeyboardInterrupt(), Ended()])
async def test_cancellation_and_finished_calls_pass_through(passing: BaseException) -> None:
    context = Context()
    with pytest.raises(type(passing)) as caught:
        await answer(context, "/t.Echo/Say", failing(passing)())
    assert caught.value is passing
    assert context.ended_with is None


@pytest.mark.parametrize("remaining_s", [None, 3.0, 0.05])
async def test_status_just_before_the_deadline_is_not_retried(remaining_s: float | None) -> None:
    context = Context(remaining_s)
    with pytest.raises(Ended):
        await answer(context, "/m", failing(errors.RequiredSourceFailed("thread"))())
    metadata = dict(context.ended_with.trailing_metadata)
    assert metadata.get("grpc-retry-pushback-ms") == ("-1" if remaining_s == 0.05 else None)
