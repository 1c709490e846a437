"""Kill switches: a source off for a tenant by its profile, a backend off by its own switch. The next turn sees it."""

from __future__ import annotations

from starlette.responses import RedirectResponse, Response

from sidecar.http.console.desk import Visit


async def switch_source(visit: Visit) -> Response:
    """Switch a source off or on for the visitor's tenant."""
    visit.require_admin()
    name, is_on = visit.form.get("source", ""), visit.form.get("on") == "1"
    author = visit.identity.subject
    await visit.services.profiles.switch_source(visit.identity.tenant_id, name, is_on=is_on, author=author)
    state = "asked again" if is_on else "no longer asked"
    visit.tell(
        f"{name} is {state} by the turns of this tenant.", undo="/sources/switch", source=name, on=_flag(not is_on)
    )
    return RedirectResponse("/sources", 303)


async def switch_backend(visit: Visit) -> Response:
    """Switch a configured backend off or on for the visitor's tenant."""
    visit.require_admin()
    name, is_on = visit.form.get("backend", ""), visit.form.get("on") == "1"
    reason, author = visit.form.get("reason", ""), visit.identity.subject
    await visit.services.backends.switch(visit.identity.tenant_id, name, is_off=not is_on, reason=reason, author=author)
    state = "asked again" if is_on else "no longer asked"
    visit.tell(f"The backend {name} is {state}.", undo="/sources/backend", backend=name, on=_flag(not is_on))
    return RedirectResponse("/sources", 303)


def _flag(is_on: bool) -> str:
    return "1" if is_on else "0"
