"""Maps errors to gRPC statuses in one table, and answers failed calls.

A class missing from the table is a bug: the caller gets INTERNAL with an id, and the log has the details under that id.
Texts of errors not meant for callers are never sent.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import uuid4

import grpc
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, ErrorInfo, PreconditionFailure, QuotaFailure, RetryInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from models import errors as models
from sidecar.backends import errors as backends
from sidecar.context.ports import BackendError
from sidecar.ingest import errors as ingest
from sidecar.runtime import errors
from sidecar.turn.profile import InvalidKnob
from store import errors as store
from store.scope import InvalidExternalId

DOMAIN = "context-sidecar"
MAX_TEXT_BYTES = 500  # four of them, percent-encoded or in base64, stay well below gRPC's 8 KiB of metadata

_LEAST_RETRY_S = 0.2
_NO_RETRY = ("grpc-retry-pushback-ms", "-1")

_log = logging.getLogger(__name__)

Code = grpc.StatusCode
Answer = TypeVar("Answer")
Details = Callable[[Any], Any]  # the generated detail messages have no types


@dataclass(frozen=True, slots=True)
class Row:
    """The status of one error class.

    `message` replaces the error's own text if that is meant for operators; `facts` names the attributes sent as metadata of
    the ErrorInfo; the caller of a hidden row gets no details, which are logged.
    """

    code: grpc.StatusCode
    reason: str
    message: str = ""
    facts: tuple[str, ...] = ()
    details: Details | None = None
    is_hidden: bool = False


def _retry_after(delay_s: float) -> Any:
    delay = Duration()
    delay.FromNanoseconds(int(delay_s * 1e9))
    return RetryInfo(retry_delay=delay)


def _retry_in_a_second(error: Exception) -> Any:
    return _retry_after(1.0)


def _retry_after_error(error: errors.Overloaded) -> Any:
    return _retry_after(error.retry_after_s)


def _bad_field(error: errors.InvalidArgument) -> Any:
    description = cut(f"{error.problem}; {error.fix}.")
    return BadRequest(field_violations=[BadRequest.FieldViolation(field=cut(error.field), description=description)])


def _bad_model(error: models.UnknownModel) -> Any:
    return BadRequest(field_violations=[BadRequest.FieldViolation(field="model_id", description=message_of(error))])


def _violated(error: errors.FailedPrecondition) -> Any:
    violation = PreconditionFailure.Violation(type=DOMAIN, subject=cut(error.subject), description=message_of(error))
    return PreconditionFailure(violations=[violation])


def _over_quota(error: store.QuotaExceeded) -> Any:
    violation = QuotaFailure.Violation(subject="SIDECAR_OWNER_QUOTA_MB", description=message_of(error))
    return QuotaFailure(violations=[violation])


def _too_many(error: store.TooManyMemories) -> Any:
    violation = QuotaFailure.Violation(subject="SIDECAR_OWNER_MAX_MEMORIES", description=message_of(error))
    return QuotaFailure(violations=[violation])


_REMOTE_FAILED = "A remote service that this call depends on does not answer; try again."

_ANSWER_UNUSABLE = "The model's answer cannot be used; send less at once, or name another model."

HIDDEN = Row(Code.INTERNAL, "INTERNAL", is_hidden=True)

_NOT_FOR_CALLERS = (
    errors.SidecarError,
    errors.StartRefused,
    errors.ProcessNotStarted,
    errors.SettingInvalid,
    errors.PlainTextRefused,
    errors.SocketDirectoryUnsafe,
    errors.KeyFileInvalid,
    errors.DevKeyUnsafe,
    errors.DevTokensOff,
    errors.MigrationsPending,
    errors.FenceKeyMissing,
    errors.ServiceIncomplete,
    ingest.InvalidLimits,
    models.ModelsError,
    models.TokenizerError,
    models.RankFileUnusable,
    models.TokenizerPanicked,
    models.EmbedderError,
    models.EmbedderUnusable,
    models.EmbedderFailed,
    models.EmbedderClosed,
    models.VectorsUnusable,
    models.CredentialsMissing,
    models.AccessDenied,
    models.ModelNotFound,
    models.InvalidRequest,
    store.StoreError,
    store.TransactionAborted,
    store.RoleNotGranted,
    store.SchemaOutdated,
    store.DatabaseFaulty,
    store.ServerUnsuitable,
    store.UnexpectedDatabaseError,
    store.QueryFileInvalid,
    store.EmbeddedPostgresError,
    store.BinariesUnusable,
    store.DataDirectoryUnusable,
    store.PostgresDidNotStart,
    store.MigrationError,
    store.MigrationFileInvalid,
    store.MigrationEdited,
    store.MigrationMissing,
    store.MigrationOutOfOrder,
    store.MigrationFailed,
    store.NotACluster,
    store.DistributionFailed,
    store.MigrationLocked,
    store.LedgerUnreadable,
    store.LedgerForeign,
    store.RightsLost,
)

TABLE: Mapping[type[Exception], Row] = {
    **dict.fromkeys(_NOT_FOR_CALLERS, HIDDEN),
    TimeoutError: Row(
        Code.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED", "The call took longer than its deadline; send it with more time."
    ),
    errors.InvalidArgument: Row(Code.INVALID_ARGUMENT, "INVALID_ARGUMENT", facts=("field",), details=_bad_field),
    errors.Unauthenticated: Row(Code.UNAUTHENTICATED, "UNAUTHENTICATED"),
    errors.IdentityMissing: Row(Code.UNAUTHENTICATED, "CREDENTIALS_MISSING"),
    errors.TokenMalformed: Row(Code.UNAUTHENTICATED, "TOKEN_MALFORMED"),
    errors.TokenUntrusted: Row(Code.UNAUTHENTICATED, "TOKEN_UNTRUSTED", facts=("check",)),
    errors.TokenExpired: Row(Code.UNAUTHENTICATED, "TOKEN_EXPIRED"),
    errors.TokenNotYetValid: Row(Code.UNAUTHENTICATED, "TOKEN_NOT_YET_VALID"),
    errors.TokenRevoked: Row(Code.UNAUTHENTICATED, "TOKEN_REVOKED"),
    errors.KeyUnknown: Row(Code.UNAUTHENTICATED, "KEY_UNKNOWN"),
    errors.CertificateUnknown: Row(Code.UNAUTHENTICATED, "CERTIFICATE_UNKNOWN"),
    errors.CertificateExpired: Row(Code.UNAUTHENTICATED, "CERTIFICATE_EXPIRED"),
    errors.PermissionDenied: Row(Code.PERMISSION_DENIED, "PERMISSION_DENIED"),
    errors.ScopeForbidden: Row(Code.PERMISSION_DENIED, "SCOPE_FORBIDDEN"),
    errors.SpaceForbidden: Row(Code.PERMISSION_DENIED, "SPACE_FORBIDDEN"),
    errors.AdminRequired: Row(Code.PERMISSION_DENIED, "ADMIN_REQUIRED"),
    errors.NotFound: Row(Code.NOT_FOUND, "NOT_FOUND", facts=("kind",)),
    errors.ReceiptDropped: Row(Code.NOT_FOUND, "RECEIPT_DROPPED", facts=("kind",)),
    errors.FailedPrecondition: Row(Code.FAILED_PRECONDITION, "FAILED_PRECONDITION", details=_violated),
    errors.PoolTooSmall: Row(
        Code.FAILED_PRECONDITION,
        "POOL_TOO_SMALL",
        facts=("largest_term", "largest_tokens", "pool_tokens"),
        details=_violated,
    ),
    errors.TextsDropped: Row(Code.FAILED_PRECONDITION, "TEXTS_DROPPED", details=_violated),
    errors.RequestIdReused: Row(Code.ALREADY_EXISTS, "REQUEST_ID_REUSED"),
    errors.Overloaded: Row(Code.RESOURCE_EXHAUSTED, "OVERLOADED", details=_retry_after_error),
    errors.DeadlinePassed: Row(Code.DEADLINE_EXCEEDED, "DEADLINE_PASSED"),
    errors.Unavailable: Row(Code.UNAVAILABLE, "UNAVAILABLE", details=_retry_in_a_second),
    errors.Stopping: Row(Code.UNAVAILABLE, "STOPPING", details=_retry_in_a_second),
    errors.KeysUnavailable: Row(
        Code.UNAVAILABLE, "KEYS_UNAVAILABLE", "The token signing keys could not be fetched; try again in a minute."
    ),
    errors.RequiredSourceFailed: Row(
        Code.UNAVAILABLE, "REQUIRED_SOURCE_FAILED", facts=("source",), details=_retry_in_a_second
    ),
    ingest.IngestError: Row(Code.INVALID_ARGUMENT, "DOCUMENT_REFUSED"),
    ingest.UnsupportedFormat: Row(Code.INVALID_ARGUMENT, "UNSUPPORTED_FORMAT"),
    ingest.UnreadableDocument: Row(Code.INVALID_ARGUMENT, "UNREADABLE_DOCUMENT"),
    ingest.NotMemories: Row(Code.INVALID_ARGUMENT, "NOT_MEMORIES"),
    ingest.NotConversations: Row(Code.INVALID_ARGUMENT, "NOT_CONVERSATIONS"),
    ingest.UnreadableExport: Row(Code.INVALID_ARGUMENT, "UNREADABLE_EXPORT"),
    ingest.NewerExport: Row(Code.INVALID_ARGUMENT, "NEWER_EXPORT"),
    ingest.TooLarge: Row(Code.INVALID_ARGUMENT, "DOCUMENT_TOO_LARGE"),
    ingest.UnreadablePath: Row(Code.INVALID_ARGUMENT, "UNREADABLE_PATH"),
    InvalidExternalId: Row(Code.INVALID_ARGUMENT, "INVALID_ID"),
    InvalidKnob: Row(Code.INVALID_ARGUMENT, "INVALID_KNOB", facts=("field",), details=_bad_field),
    models.UnknownModel: Row(Code.INVALID_ARGUMENT, "UNKNOWN_MODEL", details=_bad_model),
    models.UncountableText: Row(Code.INVALID_ARGUMENT, "UNCOUNTABLE_TEXT"),
    BackendError: Row(Code.UNAVAILABLE, "BACKEND_FAILED", facts=("backend",)),
    backends.BackendDenied: Row(Code.FAILED_PRECONDITION, "BACKEND_DENIED", facts=("backend",)),
    backends.BackendMissing: Row(Code.FAILED_PRECONDITION, "BACKEND_MISSING", facts=("backend",)),
    backends.BackendMisused: Row(Code.FAILED_PRECONDITION, "BACKEND_MISUSED", facts=("backend",)),
    backends.BackendThrottled: Row(Code.UNAVAILABLE, "BACKEND_THROTTLED", facts=("backend",)),
    backends.BackendBusy: Row(Code.UNAVAILABLE, "BACKEND_BUSY", facts=("backend",)),
    backends.BackendUnavailable: Row(Code.UNAVAILABLE, "BACKEND_UNAVAILABLE", facts=("backend",)),
    backends.BackendTimedOut: Row(Code.UNAVAILABLE, "BACKEND_TIMED_OUT", facts=("backend",)),
    backends.BackendResting: Row(Code.UNAVAILABLE, "BACKEND_RESTING", facts=("backend",)),
    backends.AnswerUnreadable: Row(Code.UNAVAILABLE, "BACKEND_ANSWER_UNREADABLE", facts=("backend",)),
    models.CallError: Row(Code.UNAVAILABLE, "REMOTE_FAILED", _REMOTE_FAILED),
    models.CallTimedOut: Row(Code.UNAVAILABLE, "REMOTE_TIMED_OUT", _REMOTE_FAILED),
    models.BreakerOpen: Row(Code.UNAVAILABLE, "REMOTE_RESTING", _REMOTE_FAILED),
    models.AttemptsFailed: Row(Code.UNAVAILABLE, "REMOTE_ATTEMPTS_FAILED", _REMOTE_FAILED),
    models.ProviderError: Row(Code.UNAVAILABLE, "MODEL_FAILED", _REMOTE_FAILED),
    models.Throttled: Row(Code.UNAVAILABLE, "MODEL_THROTTLED", _REMOTE_FAILED),
    models.ModelUnavailable: Row(Code.UNAVAILABLE, "MODEL_UNAVAILABLE", _REMOTE_FAILED),
    models.ModelTimeout: Row(Code.UNAVAILABLE, "MODEL_TIMED_OUT", _REMOTE_FAILED),
    models.PromptTooLong: Row(Code.FAILED_PRECONDITION, "PROMPT_TOO_LONG", _ANSWER_UNUSABLE),
    models.PromptRefused: Row(Code.FAILED_PRECONDITION, "PROMPT_REFUSED", _ANSWER_UNUSABLE),
    models.AnswerUnusable: Row(Code.FAILED_PRECONDITION, "MODEL_ANSWER_UNUSABLE", _ANSWER_UNUSABLE),
    models.OutputTruncated: Row(Code.FAILED_PRECONDITION, "MODEL_OUTPUT_TRUNCATED", _ANSWER_UNUSABLE),
    models.MalformedOutput: Row(Code.FAILED_PRECONDITION, "MODEL_OUTPUT_MALFORMED", _ANSWER_UNUSABLE),
    models.ModelRefused: Row(Code.FAILED_PRECONDITION, "MODEL_REFUSED", _ANSWER_UNUSABLE),
    store.DatabaseUnavailable: Row(
        Code.UNAVAILABLE, "DATABASE_UNAVAILABLE", "The database does not answer; try again.", details=_retry_in_a_second
    ),
    store.DatabaseRefused: Row(
        Code.UNAVAILABLE,
        "DATABASE_REFUSED",
        "The database refuses this service; try again.",
        details=_retry_in_a_second,
    ),
    store.DatabaseBusy: Row(
        Code.UNAVAILABLE, "DATABASE_BUSY", "The database is busy; try again.", details=_retry_in_a_second
    ),
    store.DatabaseFull: Row(
        Code.UNAVAILABLE, "DATABASE_FULL", "The database's disk is full; try again when its operator has made room."
    ),
    store.DatabaseReadOnly: Row(
        Code.UNAVAILABLE,
        "DATABASE_READ_ONLY",
        "The database takes no writes at the moment; try again.",
        details=_retry_in_a_second,
    ),
    store.QueryTimeout: Row(
        Code.DEADLINE_EXCEEDED, "QUERY_TIMEOUT", "A query timed out; request less, or set a longer deadline."
    ),
    store.TransactionConflict: Row(
        Code.ABORTED, "TRANSACTION_CONFLICT", "A concurrent write changed the same data first; send the call again."
    ),
    store.VersionConflict: Row(
        Code.ABORTED,
        "VERSION_CONFLICT",
        "A newer version was written in the meantime; read it, then write again.",
        facts=("newest_version",),
    ),
    store.ConstraintViolated: Row(
        Code.FAILED_PRECONDITION, "CONSTRAINT_VIOLATED", "A value violates a rule of the stored data; send another."
    ),
    store.AlreadyExists: Row(Code.ALREADY_EXISTS, "ALREADY_EXISTS", "This id exists already; use another one."),
    store.ReferenceMissing: Row(
        Code.FAILED_PRECONDITION, "REFERENCE_MISSING", "Something that the request names does not exist; create it."
    ),
    store.UnstorableValue: Row(
        Code.INVALID_ARGUMENT,
        "UNSTORABLE_VALUE",
        "A value cannot be stored; remove NUL characters and lone surrogates, and keep within its bounds.",
    ),
    store.QuotaExceeded: Row(
        Code.RESOURCE_EXHAUSTED, "OWNER_QUOTA_EXCEEDED", facts=("held_bytes", "quota_bytes"), details=_over_quota
    ),
    store.TooManyMemories: Row(Code.RESOURCE_EXHAUSTED, "TOO_MANY_MEMORIES", facts=("most",), details=_too_many),
    store.WalkTooLarge: Row(Code.INVALID_ARGUMENT, "WALK_TOO_LARGE"),
    store.AccessRefused: Row(Code.PERMISSION_DENIED, "ACCESS_REFUSED", "This identity may not do that."),
}


async def answer(context: Any, method: str, work: Awaitable[Answer]) -> Answer:
    """Return the work's result; if it fails, end the call with the failure's status.

    Cancellation passes through, as does an AbortError of a call that has already ended.
    """
    try:
        return await work
    except grpc.aio.AbortError:
        raise
    except Exception as error:  # noqa: BLE001 gRPC sends the text of every exception that gets past here to the caller
        status = _reported(error, method)
    await context.abort_with_status(_sent(status, context.time_remaining()))
    raise AssertionError("abort always raises")


def _sent(status: Status, remaining_s: float | None) -> Any:
    """Return the status to send. Near the deadline, a retry would make the client report the deadline instead."""
    sent = rpc_status.to_status(status)
    if remaining_s is None or remaining_s >= _LEAST_RETRY_S:
        return sent
    return sent._replace(trailing_metadata=(*sent.trailing_metadata, _NO_RETRY))


def status_of(error: Exception, error_id: str) -> Status:
    """Return the google.rpc.Status of an error: code, message, one ErrorInfo and the row's details."""
    deciding = _telling(error)
    row = row_of(deciding)
    if row.is_hidden:
        message = f"An internal error occurred; quote {error_id} to the operator of this service."
        facts = {"error_id": error_id}
    else:
        message = cut(row.message) or message_of(deciding)
        facts = {name: cut(str(getattr(deciding, name))) for name in row.facts}
    status = Status(code=row.code.value[0], message=message)
    status.details.add().Pack(ErrorInfo(reason=row.reason, domain=DOMAIN, metadata=facts))
    if row.details is not None:
        status.details.add().Pack(row.details(deciding))
    return status


def row_of(error: Exception) -> Row:
    """Return the row of the error's class or of its nearest listed ancestor."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), HIDDEN)


def code_name(error: BaseException) -> str:
    """Return the name of the status code for an error that ends a call; CANCELLED if the caller went away."""
    return str(row_of(_telling(error)).code.name if isinstance(error, Exception) else grpc.StatusCode.CANCELLED.name)


def message_of(error: Exception) -> str:
    """Return the error's text for a caller, at most 500 bytes; without one, its class's docstring."""
    return cut(str(error) or inspect.cleandoc(type(error).__doc__ or ""))


def cut(text: str) -> str:
    """Return the text fit for a status: valid Unicode on one line, at most 500 bytes."""
    line = " ".join(text[:MAX_TEXT_BYTES].split())
    return line.encode(errors="replace")[:MAX_TEXT_BYTES].decode(errors="ignore")


def _reported(error: Exception, method: str) -> Status:
    error_id = uuid4().hex
    if row_of(_telling(error)).is_hidden:
        _log.error("rpc_failed", extra={"error_id": error_id, "method": method}, exc_info=error)
    return status_of(error, error_id)


def _telling(error: Exception) -> Exception:
    """Return the error that decides the status: in a group, the first hidden error, or else the first."""
    if not isinstance(error, ExceptionGroup):
        return error
    leaves = list(_leaves(error))
    return next((leaf for leaf in leaves if row_of(leaf).is_hidden), leaves[0])


def _leaves(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _leaves(error)
        else:
            yield error
