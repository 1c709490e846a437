"""The sidecar's errors, in one tree. Each class's docstring is the message for callers.

This module does not know gRPC; `sidecar/rpc/transport/status.py` maps these classes to statuses. Facts that help a caller
(a field, a delay) are attributes; secrets and a caller's long texts are not.

    SidecarError
    ├── InvalidArgument            a request field, the problem, and the fix
    ├── Unauthenticated            the caller is unknown
    │   ├── IdentityMissing
    │   ├── TokenMalformed
    │   ├── TokenUntrusted
    │   ├── TokenExpired
    │   ├── TokenNotYetValid
    │   ├── TokenRevoked
    │   ├── KeyUnknown
    │   ├── CertificateUnknown
    │   └── CertificateExpired
    ├── PermissionDenied           a known caller without the right
    │   ├── ScopeForbidden
    │   ├── SpaceForbidden
    │   └── AdminRequired
    ├── NotFound
    │   └── ReceiptDropped
    ├── FailedPrecondition         the request is valid, but the state forbids it
    │   ├── PoolTooSmall
    │   └── TextsDropped
    ├── RequestIdReused
    ├── Overloaded
    ├── DeadlinePassed
    ├── Unavailable                the caller may retry
    │   ├── Stopping
    │   ├── KeysUnavailable
    │   └── RequiredSourceFailed
    └── StartRefused               the process or command cannot start; never sent to a caller
        ├── SettingInvalid
        ├── PlainTextRefused
        ├── SocketDirectoryUnsafe
        ├── KeyFileInvalid
        ├── DevKeyUnsafe
        ├── DevTokensOff
        ├── MigrationsPending
        ├── FenceKeyMissing
        ├── ServiceIncomplete
        └── ProcessNotStarted
"""

from __future__ import annotations

import inspect


class SidecarError(Exception):
    """The sidecar could not complete the request."""

    def __str__(self) -> str:
        """Return the instance's own text, or else its class's docstring on one line."""
        return super().__str__() or " ".join(inspect.cleandoc(type(self).__doc__ or type(self).__name__).split())


class InvalidArgument(SidecarError):
    """A field of the request is invalid; the error names it and the fix."""

    def __init__(self, field: str, problem: str, fix: str) -> None:
        super().__init__(f"{field}: {problem}; {fix}.")
        self.field = field
        self.problem = problem
        self.fix = fix


class Unauthenticated(SidecarError):
    """The caller is unknown; send a valid token or a registered client certificate."""


class IdentityMissing(Unauthenticated):
    """The call has no identity; send `authorization: Bearer TOKEN` once, or a registered client certificate."""


class TokenMalformed(Unauthenticated):
    """The token cannot be read; send one signed JWT with the claims that this service requires."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"The token cannot be used: {problem}.")
        self.problem = problem


class TokenUntrusted(Unauthenticated):
    """The token is not from an issuer that this service trusts, or not for this service; get one for this audience."""

    def __init__(self, check: str) -> None:
        super().__init__(f"The token is not trusted here: its {check} is not accepted.")
        self.check = check


class TokenExpired(Unauthenticated):
    """The token has expired; get a new one."""


class TokenNotYetValid(Unauthenticated):
    """The token is not valid yet; check the issuer's clock."""


class TokenRevoked(Unauthenticated):
    """The token was issued before the tenant's tokens were revoked; get a new one."""


class KeyUnknown(Unauthenticated):
    """The token names a signing key that is not in the trusted set; sign with a published key. `sidecar token` must run with the
    service's SIDECAR_DATA_DIR.
    """


class CertificateUnknown(Unauthenticated):
    """The client certificate's names are not registered for one caller; register a URI or DNS name, or send a token."""


class CertificateExpired(Unauthenticated):
    """The client certificate of this connection has expired; reconnect with a new one."""


class PermissionDenied(SidecarError):
    """This identity may not make this call."""


class ScopeForbidden(PermissionDenied):
    """This identity may not act for the named tenant, owner or agent; leave the fields empty, or name its own."""


class SpaceForbidden(PermissionDenied):
    """This identity does not have the named space; name one of the claim `spaces`, or have it added (`sidecar token --space`)."""


class AdminRequired(PermissionDenied):
    """This call needs the role admin; use an admin's token (`sidecar token --role admin`)."""


class NotFound(SidecarError):
    """There is no such object in this scope; check the id and the owner."""

    def __init__(self, kind: str = "", *, field: str = "") -> None:
        sent = f" (sent as {field})" if field else ""
        super().__init__(f"There is no such {kind} in this scope{sent}; check its id and the owner." if kind else "")
        self.kind = kind


class ReceiptDropped(NotFound):
    """The receipt was dropped: its writer fell behind, the database refused it, or its owner was forgotten in the meantime.

    The response itself contained the decisions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.kind = "receipt"


class FailedPrecondition(SidecarError):
    """The present state does not allow this; the error names the necessary change."""

    def __init__(self, subject: str, problem: str = "") -> None:
        super().__init__(f"{subject}: {problem}." if problem else "")
        self.subject = subject
        self.problem = problem


class PoolTooSmall(FailedPrecondition):
    """Too few tokens are left for context; change the term that the error names, or choose a larger window."""

    def __init__(self, pool_tokens: int, largest_term: str, largest_tokens: int, *, least_tokens: int) -> None:
        is_limit = largest_term in {"budget_tokens", "window_tokens"}
        verb, fix = ("is", "larger") if is_limit else ("takes", "smaller")
        left = f"leaves {pool_tokens} for context, which needs {least_tokens}"
        problem = f"{verb} {largest_tokens} tokens and {left}; make it {fix}"
        super().__init__(largest_term, problem)
        self.pool_tokens = pool_tokens
        self.largest_term = largest_term
        self.largest_tokens = largest_tokens


class TextsDropped(FailedPrecondition):
    """The receipt's texts are past their retention, so it can be explained but no longer replayed."""

    def __init__(self, missing_count: int) -> None:
        super().__init__(
            "receipt", f"no longer has all its texts ({missing_count} missing); explain it instead of replaying it"
        )
        self.missing_count = missing_count


class RequestIdReused(SidecarError):
    """This request id was used before with another request; use a new id for a new request."""


class Overloaded(SidecarError):
    """The service has as many calls as it accepts; try again after the named delay."""

    def __init__(self, retry_after_s: float) -> None:
        super().__init__()
        self.retry_after_s = retry_after_s


class DeadlinePassed(SidecarError):
    """The call's deadline passed before it began; send it with more time."""


class Unavailable(SidecarError):
    """A dependency of this call does not answer now; try again."""


class Stopping(Unavailable):
    """This process is stopping and takes no new calls; send the call again, and another process will answer it."""


class KeysUnavailable(Unavailable):
    """The token signing keys could not be fetched yet; try again in a minute."""


class RequiredSourceFailed(Unavailable):
    """A source that the profile marks required did not answer; try again, or make it optional."""

    def __init__(self, source: str) -> None:
        super().__init__(f"The required source {source} did not answer; try again, or make it optional in the profile.")
        self.source = source


class StartRefused(SidecarError):
    """The sidecar cannot start; the error names the setting and the fix."""


class SettingInvalid(StartRefused):
    """A setting is invalid; the error names it and the fix."""

    def __init__(self, setting: str, problem: str, fix: str) -> None:
        super().__init__(f"{setting}: {problem}; {fix}.")
        self.setting = setting


class PlainTextRefused(StartRefused):
    """Plain text is served on loopback addresses and unix sockets only; set up TLS or listen on 127.0.0.1."""

    def __init__(self, address: str) -> None:
        super().__init__(
            f"SIDECAR_LISTEN: {address!r} would serve plain text to the network; set SIDECAR_TLS_CERT and SIDECAR_TLS_KEY, "
            "or listen on 127.0.0.1, [::1] or a unix socket."
        )
        self.address = address


class SocketDirectoryUnsafe(StartRefused):
    """Only this user may have access to the unix socket's directory (mode 0700); fix it or name another."""

    def __init__(self, directory: str, problem: str) -> None:
        super().__init__(f"The socket directory {directory} {problem}; give a directory of your own with mode 0700.")
        self.directory = directory


class KeyFileInvalid(StartRefused):
    """A file of token signing keys cannot be used; give public keys as PEM or one JWKS."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"The key file {path} {problem}.")
        self.path = path


class DevKeyUnsafe(StartRefused):
    """The local dev key must be readable only by its owner; remove it to have a new one created."""

    def __init__(
        self, path: str, problem: str, fix: str = "run chmod 600 on it, or remove it to have a new one created"
    ) -> None:
        super().__init__(f"The dev key {path} {problem}; {fix}.")
        self.path = path


class DevTokensOff(StartRefused):
    """Dev tokens are off because real signing keys are configured; get a token from the issuer of those keys."""


class ServiceIncomplete(StartRefused):
    """A service's methods and their implementations do not match; implement each method of the descriptor once."""

    def __init__(self, service: str, methods: str) -> None:
        super().__init__(f"{service} does not match its implementation: {methods}.")
        self.service = service


class MigrationsPending(StartRefused):
    """The database's schema is behind this release; run `sidecar migrate`."""


class FenceKeyMissing(StartRefused):
    """The table installation_keys has no fence key; run `sidecar migrate`, which creates one."""


class ProcessNotStarted(StartRefused):
    """One of the service's processes ended before it served; its own message, above this one, names the fix. If a signal ended
    it, there is none."""

    def __init__(self, name: str, code: int) -> None:
        if code < 0:
            ending = f"was ended by signal {-code} before it served; if that was not you, the machine lacks memory."
        else:
            ending = f"ended with code {code} before it served; its message above names the fix."
        super().__init__(f"Process {name!r} of the service {ending}")
