"""Audit entries of calls: the object of a call and its outcome."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from sidecar.rpc.auth.identity import Identity, Role
from sidecar.rpc.transport.status import code_name
from sidecar.services.audit import AuditLog
from store.accounting.audit import Entry
from store.scope import InvalidExternalId, owner_uuid

OK = "OK"
_MAX_OBJECT_CHARS = 300
_MOST_VALUES = 5
_NAMES = frozenset({"base", "backend", "knowledge_base", "name", "ref"})
"""Fields, besides ids, that name a request's object. None of them contains an owner's text."""


_PAGES = frozenset({"page", "into", "target"})

# Calls and forms that are audited for every caller.
_OF_EVERYBODY = frozenset({"Forget", "DeleteMemory", "ReportSentence", "wrong"})


def is_noted(identity: Identity, method: str) -> bool:
    """Return whether a call is audited: an admin's calls, and any caller's forgettings and reports of wrong sentences."""
    return identity.role is Role.ADMIN or method.rpartition("/")[2] in _OF_EVERYBODY


class Noting:
    """A running call. When it ends, its entry is recorded with `outcome`, or with the status code of its failure."""

    def __init__(
        self, audit: AuditLog, identity: Identity, via: str, method: str, *, owner: str = "", named: str = ""
    ) -> None:
        """Note a call; `owner` is a name or an id, `named` has the ids and names of the call's object."""
        self._audit = audit
        self._entry = Entry(
            tenant_id=identity.tenant_id,
            called_at=audit.clock(),
            role=identity.role.value,
            subject=identity.subject,
            token_id=identity.token_id,
            via=via,
            method=method,
            about_owner=_owner_id(owner),
            object=_storable(named[:_MAX_OBJECT_CHARS]),
            outcome=OK,
        )
        self.outcome = OK

    def __enter__(self) -> Noting:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self._audit.record(replace(self._entry, outcome=code_name(error) if error else self.outcome))


def of_request(request: Message) -> dict[str, Any]:
    """Return a request's arguments for `Noting`: the owner, and its ids and names, without other texts."""
    strings = [one.name for one in request.DESCRIPTOR.fields if one.type == FieldDescriptor.TYPE_STRING]
    fields = {name: getattr(request, name) for name in strings}
    return {"owner": fields.pop("owner_id", ""), "named": named(fields)}


def named(fields: Mapping[str, Any]) -> str:
    """Return the ids and names among the fields of a request or a form, as `field=value`; at most five of a repeated field."""
    parts = []
    for name, value in fields.items():
        values = [value] if isinstance(value, str) else list(value)[:_MOST_VALUES]
        shown = [one for one in values if one and name != "tenant_id" and _is_public(name, one)]
        parts += [f"{name}={','.join(shown)}"] if shown else []
    return " ".join(parts)


def _storable(text: str) -> str:
    """Replace unprintable characters of the text: the table refuses NUL, and with it a whole batch."""
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text)


def _is_public(name: str, value: str) -> bool:
    """Return whether a field's value is an id or an operator's name. A page may be named by its title, an owner's text."""
    return name.endswith(("_id", "_ids")) or name in _NAMES or (name in _PAGES and _is_uuid(value))


def _is_uuid(value: str) -> bool:
    try:
        UUID(value.removeprefix("brain:"))
    except ValueError:
        return False
    return True


def _owner_id(owner: str) -> UUID | None:
    try:
        return owner_uuid(owner) if owner else None
    except InvalidExternalId:
        return None
