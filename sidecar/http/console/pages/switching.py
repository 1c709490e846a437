"""Kill switches: a source off for a tenant by its profile, a backend off by its own switch. The next turn sees it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from sidecar.context import profile_cache
from sidecar.http.console.desk import Visit
from sidecar.runtime.errors import NotFound
from sidecar.services.validation import read_name, read_text
from sidecar.turn.items import Source
from sidecar.turn.profile import parse_layer
from store.db.postgres import tenant_scoped
from store.tenancy import backends, templates, tenants
from store.tenancy.backends import Switch
from store.tenancy.templates import Level, NewVersion

_TENANT = Level("tenant")
_MAX_REASON_CHARS = 500


@dataclass(frozen=True, slots=True)
class SwitchState:
    """Which sources the tenant's turns ask, which of the others its own level switched off, and its backends' switches."""

    enabled: frozenset[str]
    off_here: frozenset[str]
    backends: tuple[tuple[str, Switch | None], ...]


async def standing(visit: Visit) -> SwitchState:
    """Return how the switches of the visitor's tenant stand. What is off at a template, agent or space is not told."""
    tenant_id, switches = visit.identity.tenant_id, visit.desk.switches
    async with tenant_scoped(visit.desk.pools.background, tenant_id, read_only=True) as connection:
        newest = await templates.newest(connection, tenant_id, _TENANT)
        in_force = await profile_cache.read(connection, tenant_id, agent_id="", space_id="", base=switches.base)
        known = {one.backend: one for one in await backends.switches(connection, tenant_id)}
    own = newest.knobs.get("sources", {}) if newest else {}
    return SwitchState(
        enabled=frozenset(source.value for source in Source if in_force.profile.knobs(source).enabled),
        off_here=frozenset(name for name, knobs in own.items() if knobs.get("enabled") is False),
        backends=tuple((name, known.get(name)) for name in sorted(switches.backends.get(tenant_id, ()))),
    )


async def switch_source(visit: Visit) -> Response:
    """Switch a source off or on for the visitor's tenant."""
    visit.require_admin()
    name, is_on = visit.form.get("source", ""), visit.form.get("on") == "1"
    if name not in {source.value for source in Source}:
        raise NotFound("source")
    tenant_id, now = visit.identity.tenant_id, visit.desk.clocks.now()
    async with tenant_scoped(visit.desk.pools.background, tenant_id) as connection:
        await tenants.ensure_tenant(connection, tenant_id, now=now)
        newest = await templates.newest(connection, tenant_id, _TENANT)
        knobs = _with_switch(newest.knobs if newest else {}, name, is_on=is_on)
        seen = newest.version if newest else 0
        await templates.put(connection, tenant_id, NewVersion(_TENANT, knobs, visit.identity.subject, seen), now=now)
    visit.desk.switches.changed(tenant_id)
    state = "asked again" if is_on else "no longer asked"
    visit.tell(
        f"{name} is {state} by the turns of this tenant.", undo="/sources/switch", source=name, on=_flag(not is_on)
    )
    return RedirectResponse("/sources", 303)


def _with_switch(knobs: dict[str, Any], name: str, *, is_on: bool) -> dict[str, Any]:
    """Return a level's knobs with a source's switch set; other knobs stay. Raises InvalidKnob."""
    sources = knobs.get("sources", {})
    changed = {**knobs, "sources": {**sources, name: {**sources.get(name, {}), "enabled": is_on}}}
    parse_layer(changed)
    return changed


async def switch_backend(visit: Visit) -> Response:
    """Switch a configured backend off or on for the visitor's tenant."""
    visit.require_admin()
    tenant_id, now = visit.identity.tenant_id, visit.desk.clocks.now()
    name, is_on = read_name("backend", visit.form.get("backend", "")), visit.form.get("on") == "1"
    if name not in visit.desk.switches.backends.get(tenant_id, ()):
        raise NotFound("backend")
    reason = read_text("reason", visit.form.get("reason", ""), max_chars=_MAX_REASON_CHARS)
    await _put(visit, tenant_id, Switch(name, not is_on, reason, visit.identity.subject, now))
    state = "asked again" if is_on else "no longer asked"
    visit.tell(f"The backend {name} is {state}.", undo="/sources/backend", backend=name, on=_flag(not is_on))
    return RedirectResponse("/sources", 303)


async def _put(visit: Visit, tenant_id: UUID, switch: Switch) -> None:
    async with tenant_scoped(visit.desk.pools.background, tenant_id) as connection:
        await tenants.ensure_tenant(connection, tenant_id, now=switch.changed_at)
        await backends.put_switch(connection, tenant_id, switch)
        await templates.notify_changed(connection, tenant_id)
    visit.desk.switches.changed(tenant_id)


def _flag(is_on: bool) -> str:
    return "1" if is_on else "0"
