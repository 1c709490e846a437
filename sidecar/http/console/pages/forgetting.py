"""Forgetting: the form, a preview, and the forgetting itself. No URL contains content."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.responses import Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, route
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.forgetting.targets import Target

_CONFIRM = "confirm:"
_FIELDS = ("memory_id", "document_id", "thread_id", "since", "until", "phrase")
_NOTHING = dict.fromkeys(_FIELDS, "")


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages of forgetting."""
    return [
        route(desk, "/forget", show_form),
        route(desk, "/forget", forget, methods=["POST"]),
        route(desk, "/forget/preview", preview, methods=["POST"]),
    ]


async def show_form(visit: Visit) -> Response:
    """Show the form for the target; `memory_id` fills it in."""
    visit.require_admin()
    return await visit.page(
        "forget.html", fields={**_NOTHING, "memory_id": visit.query.get("memory_id", "")}, report=None
    )


async def preview(visit: Visit) -> Response:
    """Show the effects of a forgetting, or the hits of a word. Changes nothing."""
    visit.require_admin()
    report = await visit.services.memories.forgetting.forget(visit.scope, _target(visit), is_dry_run=True)
    return await visit.page("forget.html", fields=_fields_of(visit), report=report)


async def forget(visit: Visit) -> Response:
    """Forget the target, or the ticked hits of a word, and show the effects."""
    visit.require_admin()
    target = _target(visit)
    if target.word and not target.confirmed:
        raise InvalidArgument("phrase", "has no ticked hit", "tick the hits to forget")
    report = await visit.services.memories.forgetting.forget(visit.scope, target)
    visit.tell("Forgotten. The next purge removes it from the database's files.")
    return await visit.page("forget.html", fields=_NOTHING, report=report)


def _fields_of(visit: Visit) -> dict[str, str]:
    return {name: visit.form.get(name, "").strip() for name in _FIELDS}


def _target(visit: Visit) -> Target:
    fields = _fields_of(visit)
    return Target(
        memory_id=fields["memory_id"],
        document_id=fields["document_id"],
        thread_id=fields["thread_id"],
        since=_instant("since", fields["since"]),
        until=_instant("until", fields["until"]),
        word=fields["phrase"],
        confirmed=tuple(name.removeprefix(_CONFIRM) for name in visit.form if name.startswith(_CONFIRM)),
    )


def _instant(field: str, text: str) -> datetime | None:
    """Return an instant of a form in UTC; None for an empty one."""
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise InvalidArgument(
            field, f"is {text[:40]!r}", "send a day or an instant such as 2026-03-01T12:00"
        ) from error
