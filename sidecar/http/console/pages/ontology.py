"""The ontology: its types, change sets with evidence and differences, versions and jobs; scan, review, approve and roll back.

For admins. The content is that of the tenant, independent of the chosen owner.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response
from starlette.routing import BaseRoute

from sidecar.http.console.desk import Desk, Visit, after, read_id, route
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.ontology.drafting import WantedChange
from sidecar.services.ontology.governance import MAX_VERSION, Governance
from sidecar.services.ontology.term_reading import choice
from sidecar.services.validation import read_int, read_uuid
from store.ontology.change_sets import ChangeAction, ItemDecision, ItemRuling
from store.ontology.terms import TermKind

_ROWS = 50
_VERSIONS = 20
_JOBS = 20
_CHANGES = "/ontology/changes"


def routes(desk: Desk) -> list[BaseRoute]:
    """Return the pages about the ontology."""
    return [
        route(desk, "/ontology", show_types),
        route(desk, _CHANGES, list_changes),
        route(desk, "/ontology/versions", list_versions),
        route(desk, "/ontology/seed", seed, methods=["POST"]),
        route(desk, "/ontology/scan", scan, methods=["POST"]),
        route(desk, "/ontology/draft", draft, methods=["POST"]),
        route(desk, "/ontology/rollback", roll_back, methods=["POST"]),
        route(desk, _CHANGES + "/{change_set_id}", show_change),
        route(desk, _CHANGES + "/{change_set_id}/item", rule, methods=["POST"]),
        route(desk, _CHANGES + "/{change_set_id}/approve", approve, methods=["POST"]),
        route(desk, _CHANGES + "/{change_set_id}/reject", reject, methods=["POST"]),
    ]


async def show_types(visit: Visit) -> Response:
    """Show the terms of a version, by default the one in force."""
    governance = _governance(visit)
    version = _number(visit.query.get("version", "0"), "version")
    return await visit.page("ontology.html", ontology=await governance.ontology(visit.identity.tenant_id, version))


async def list_changes(visit: Visit) -> Response:
    """Show the change sets, newest first, and a form that drafts a change."""
    governance = _governance(visit)
    lines = await governance.listed(visit.identity.tenant_id, limit=_ROWS + 1, after=after(visit, UUID))
    last = lines[_ROWS - 1].change_set if len(lines) > _ROWS else None
    more = f"{last.drafted_at.isoformat()}_{last.change_set_id}" if last else ""
    kinds, actions = [one.value for one in TermKind], [one.value for one in ChangeAction]
    return await visit.page("ontology_changes.html", rows=lines[:_ROWS], more=more, kinds=kinds, actions=actions)


async def show_change(visit: Visit) -> Response:
    """Show a change set for review."""
    governance = _governance(visit)
    view = await governance.view(visit.identity.tenant_id, read_id(visit, "change_set_id"))
    is_own = governance.has_four_eyes and visit.identity.subject in {
        view.change_set.drafted_by,
        *(name for one in view.items for name in one.item.editors),
    }
    return await visit.page("ontology_change.html", view=view, is_own=is_own, pretty=_pretty)


async def list_versions(visit: Visit) -> Response:
    """Show the versions, newest first, each with its changes, and the jobs that update pages to them."""
    governance, tenant_id = _governance(visit), visit.identity.tenant_id
    before = _number(visit.query.get("before", str(MAX_VERSION)), "before")
    found = await governance.history(tenant_id, limit=_VERSIONS + 1, before=before)
    rows = [
        (one, await governance.compare(tenant_id, one.version - 1 or None, one.version)) for one in found[:_VERSIONS]
    ]
    more = found[_VERSIONS - 1].version if len(found) > _VERSIONS else 0
    in_force = (await governance.ontology(tenant_id)).version
    jobs = await governance.jobs(tenant_id, limit=_JOBS)
    return await visit.page("ontology_versions.html", rows=rows, more=more, in_force=in_force, jobs=jobs)


async def seed(visit: Visit) -> Response:
    """Propose the packaged ontology, and show the change set."""
    view = await _governance(visit).draft_seed(visit.identity.tenant_id)
    visit.tell("The ontology is proposed. It is not in force before you approve it.")
    return _to(view.change_set.change_set_id)


async def scan(visit: Visit) -> Response:
    """Scan for suggestions, and show the change set with them."""
    visit.require_admin()
    report = await visit.services.scans.scan(visit.identity.tenant_id)
    visit.tell(f"{report.new_items:,} new suggestions; {report.known_items:,} were already proposed.")
    return (
        RedirectResponse(_CHANGES, 303)
        if report.change_set is None
        else _to(report.change_set.change_set.change_set_id)
    )


async def draft(visit: Visit) -> Response:
    """Draft one change, in a change set of its own."""
    form = visit.form
    change = WantedChange(
        form.get("kind", ""),
        form.get("action", ""),
        _object("term", form["term"]) if form.get("term", "").strip() else {},
        form.get("key", "").strip(),
        form.get("why", ""),
    )
    title = form.get("title", "").strip() or f"{change.action} {change.kind.replace('_', ' ')} {change.key}".strip()
    author = visit.identity.subject
    view = await _governance(visit).draft(visit.identity.tenant_id, title, [change], author=author)
    visit.tell("The change is drafted.")
    return _to(view.change_set.change_set_id)


async def rule(visit: Visit) -> Response:
    """Accept, reject or edit an item."""
    change_set_id, form = read_id(visit, "change_set_id"), visit.form
    edited = _object("edited", form["edited"]) if form.get("edited", "").strip() else None
    ruling = ItemRuling(
        read_uuid("item_id", form.get("item_id", "")),
        choice("decision", form.get("decision", ""), ItemDecision),
        edited,
    )
    revision = _number(form.get("revision", "0"), "revision")
    author = visit.identity.subject
    await _governance(visit).rule(visit.identity.tenant_id, change_set_id, ruling, author=author, revision=revision)
    visit.tell("The item is edited." if edited is not None else f"The item is {ruling.decision.value}.")
    return _to(change_set_id)


async def approve(visit: Visit) -> Response:
    """Approve a change set, and show the version that it made."""
    change_set_id = read_id(visit, "change_set_id")
    revision = _number(visit.form.get("revision", "0"), "revision")
    author = visit.identity.subject
    version = await _governance(visit).approve(
        visit.identity.tenant_id, change_set_id, author=author, revision=revision
    )
    visit.tell(f"Version {version.version} is in force. Pages are updated in the background.")
    return RedirectResponse("/ontology/versions", 303)


async def reject(visit: Visit) -> Response:
    """Reject a change set."""
    change_set_id = read_id(visit, "change_set_id")
    await _governance(visit).reject(visit.identity.tenant_id, change_set_id, author=visit.identity.subject)
    visit.tell("The change set is rejected. No scan proposes its items again.")
    return RedirectResponse(_CHANGES, 303)


async def roll_back(visit: Visit) -> Response:
    """Put an older version in force again."""
    version = _number(visit.form.get("version", ""), "version")
    new_version = await _governance(visit).roll_back(visit.identity.tenant_id, version, author=visit.identity.subject)
    visit.tell(f"Version {new_version.version} is in force, with the terms of version {version}.")
    return RedirectResponse("/ontology/versions", 303)


def _governance(visit: Visit) -> Governance:
    visit.require_admin()
    return visit.services.governance


def _to(change_set_id: UUID) -> Response:
    return RedirectResponse(f"{_CHANGES}/{change_set_id}", 303)


def _number(text: str, field: str) -> int:
    try:
        value = int(text[:20])
    except ValueError as error:
        raise InvalidArgument(field, "is not a whole number", "send a whole number") from error
    return read_int(field, value, least=0, most=MAX_VERSION)


def _object(field: str, text: str) -> Mapping[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise InvalidArgument(field, "is not a JSON object", 'write one such as {"name": "Ferry"}')
    return value


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)
