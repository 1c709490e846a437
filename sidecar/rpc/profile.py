"""The profile service: reads the knobs of a level or of a turn, writes new versions, lists and rolls them back.

Only the way between messages and values stands here; what a knob may be is decided in `sidecar/turn/profile.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from uuid import UUID

from sidecar.context import profile_cache
from sidecar.rpc.auth.identity import Identity, Role, require_admin, resolve_agent, resolve_space, resolve_tenant
from sidecar.rpc.messages.knobs import read_knobs, write_knobs
from sidecar.rpc.transport.call import Behaviour, Call
from sidecar.rpc.transport.paging import Int4, ListCall
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import InvalidArgument, NotFound, ScopeForbidden
from sidecar.services.validation import read_id, read_int
from sidecar.v1 import profile_pb2 as pb
from store.db.postgres import Pools, tenant_scoped
from store.db.queries import Connection
from store.tenancy import templates, tenants
from store.tenancy.templates import Level, NewVersion, ProfileVersion

SERVICE = pb.DESCRIPTOR.services_by_name["ProfileService"]

_LEVELS: Mapping[pb.ProfileLevel.ValueType, str] = {
    pb.PROFILE_LEVEL_TENANT: "tenant",
    pb.PROFILE_LEVEL_TEMPLATE: "template",
    pb.PROFILE_LEVEL_AGENT: "agent",
    pb.PROFILE_LEVEL_SPACE: "space",
}
_LEVEL_NUMBERS = {name: number for number, name in _LEVELS.items()}
_MAX_VERSION = 2**31 - 1


class ProfileService:
    """Keeps the versioned knobs of each level; `now` tells the time of a write, `changed` hears whose knobs changed.

    Every process hears it by a notice in the end; the one that wrote need not wait for that.
    """

    def __init__(
        self,
        pools: Pools,
        *,
        now: Callable[[], datetime],
        changed: Callable[[UUID], None] = lambda _: None,
        base: profile_cache.Base = profile_cache.no_base,
    ) -> None:
        self._pools = pools
        self._base = base
        self._now = now
        self._changed = changed

    @property
    def behaviours(self) -> Mapping[str, Behaviour]:
        """Return the service's methods by their names in the contract."""
        return {
            "GetProfile": self.get_profile,
            "SetProfile": self.set_profile,
            "ListProfileVersions": self.list_profile_versions,
            "RollbackProfile": self.rollback_profile,
        }

    async def get_profile(self, request: pb.GetProfileRequest, call: Call) -> pb.GetProfileResponse:
        """Return one level's own knobs, none when it has none, or every knob of a turn when no level is named.

        An agent asks for the levels of its own turns. Raises ScopeForbidden or SpaceForbidden for another's.
        """
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        if request.level or request.ref:
            level = _read_level(request.level, request.ref)
            async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
                await _check_reach(connection, call.identity, level)
                newest = await templates.newest(connection, tenant_id, level)
            label = templates.Layers("", (newest,)).label if newest else ""
            return pb.GetProfileResponse(profile=write_knobs(newest.knobs if newest else {}), version=label)
        agent_id = resolve_agent(call.identity, request.agent_id)
        space_id = resolve_space(call.identity, request.space_id)
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            in_force = await profile_cache.read(
                connection, tenant_id, agent_id=agent_id, space_id=space_id, base=self._base
            )
        return pb.GetProfileResponse(profile=write_knobs(in_force.profile.as_mapping()), version=in_force.label)

    async def set_profile(self, request: pb.SetProfileRequest, call: Call) -> pb.SetProfileResponse:
        """Write a level's knobs as its newest version. Raises VersionConflict."""
        require_admin(call.identity)
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        expected_version = read_int("expected_version", request.expected_version, least=0, most=_MAX_VERSION)
        level, knobs = _read_level(request.level, request.ref), read_knobs("profile", request.profile)
        new = NewVersion(level, knobs, call.identity.subject, expected_version)
        now = self._now()
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            await tenants.ensure_tenant(connection, tenant_id, now=now)
            written = await templates.put(connection, tenant_id, new, now=now)
        self._changed(tenant_id)
        return pb.SetProfileResponse(version=_write_version(written))

    async def list_profile_versions(
        self, request: pb.ListProfileVersionsRequest, call: Call
    ) -> pb.ListProfileVersionsResponse:
        """Return a page of a level's versions, newest first. Raises ScopeForbidden or SpaceForbidden for another's level."""
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        level = _read_level(request.level, request.ref)
        listing = ListCall("ListProfileVersions", (str(tenant_id), level.level, level.ref), (Int4,))
        page = listing.read(request.page_size, request.page_token)
        async with tenant_scoped(self._pools.background, tenant_id, read_only=True) as connection:
            await _check_reach(connection, call.identity, level)
            rows = await templates.history(connection, tenant_id, level, limit=page.limit, **page.starting("before"))
        written, token = listing.cut(rows, page, lambda version: (version.version,), _write_version)
        return pb.ListProfileVersionsResponse(versions=written, next_page_token=token)

    async def rollback_profile(self, request: pb.RollbackProfileRequest, call: Call) -> pb.RollbackProfileResponse:
        """Write an earlier version of a level as its newest. Raises NotFound for a version that never was."""
        require_admin(call.identity)
        tenant_id = resolve_tenant(call.identity, request.tenant_id)
        level = _read_level(request.level, request.ref)
        version = read_int("version", request.version, least=1, most=_MAX_VERSION)
        author, now = call.identity.subject, self._now()
        async with tenant_scoped(self._pools.background, tenant_id) as connection:
            written = await templates.roll_back(
                connection, tenant_id, level, to_version=version, author=author, now=now
            )
        if written is None:
            raise NotFound("profile version")
        self._changed(tenant_id)
        return pb.RollbackProfileResponse(version=_write_version(written))


def _read_level(number: pb.ProfileLevel.ValueType, ref: str) -> Level:
    name = _LEVELS.get(number)
    if name is None:
        raise InvalidArgument("level", "is not said", "send TENANT, TEMPLATE, AGENT or SPACE")
    if name == "tenant":
        if ref:
            raise InvalidArgument("ref", "names something inside the tenant's own level", "leave it empty")
        return Level(name)
    return Level(name, read_id("ref", ref))


async def _check_reach(connection: Connection, identity: Identity, level: Level) -> None:
    """Raise ScopeForbidden or SpaceForbidden for a level that no turn of the caller's has."""
    if identity.role is Role.ADMIN or level.level == "tenant":
        return
    if level.level == "space":
        resolve_space(identity, level.ref)
    elif level.level == "agent":
        resolve_agent(identity, level.ref)
    elif level.ref != await templates.template_of(connection, identity.tenant_id, identity.agent_id):
        raise ScopeForbidden


def _write_version(version: ProfileVersion) -> pb.ProfileVersion:
    return pb.ProfileVersion(
        level=_LEVEL_NUMBERS[version.level.level],
        ref=version.level.ref,
        version=version.version,
        profile=write_knobs(version.knobs),
        author=version.author,
        create_time=write_time(version.created_at),
    )
