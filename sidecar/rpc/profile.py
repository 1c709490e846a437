"""The profile service: reads the knobs of a level or of a turn, writes new versions, lists and rolls them back.

Converts between messages and values; the use cases are in `sidecar.services.profiles`.
"""

from __future__ import annotations

from sidecar.rpc.auth.identity import resolve_agent, resolve_space
from sidecar.rpc.messages.knobs import read_knobs, write_knobs
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import Int4, ListCall
from sidecar.rpc.transport.validation import names_of, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.profiles import Profiles, level_of
from sidecar.v1 import profile_pb2 as pb
from store.tenancy.templates import Layers, Level, ProfileVersion

SERVICE = pb.DESCRIPTOR.services_by_name["ProfileService"]

_LEVELS = names_of(pb.ProfileLevel)


class ProfileService:
    """Stores the versioned knobs of each level."""

    def __init__(self, profiles: Profiles) -> None:
        self._profiles = profiles

    async def get_profile(self, request: pb.GetProfileRequest, call: Call) -> pb.GetProfileResponse:
        """Return one level's own knobs, none if it has none, or, if no level is named, all knobs of a turn.

        An agent may request only the levels of its own turns; others raise ScopeForbidden or SpaceForbidden.
        """
        tenant_id = call.tenant(request)
        if request.level or request.ref:
            level = _read_level(request.level, request.ref)
            newest = await self._profiles.newest(tenant_id, level, reach=call.identity.reach)
            label = Layers("", (newest,)).label if newest else ""
            return pb.GetProfileResponse(profile=write_knobs(newest.knobs if newest else {}), version=label)
        agent_id = resolve_agent(call.identity, request.agent_id)
        space_id = resolve_space(call.identity, request.space_id)
        in_force = await self._profiles.in_force(tenant_id, agent_id=agent_id, space_id=space_id)
        return pb.GetProfileResponse(profile=write_knobs(in_force.profile.as_mapping()), version=in_force.label)

    async def set_profile(self, request: pb.SetProfileRequest, call: Call) -> pb.SetProfileResponse:
        """Write a level's knobs as its newest version. Raises VersionConflict."""
        tenant_id = call.admin_tenant(request)
        level, knobs = _read_level(request.level, request.ref), read_knobs("profile", request.profile)
        written = await self._profiles.put(
            tenant_id, level, knobs, author=call.identity.subject, expected_version=request.expected_version
        )
        return pb.SetProfileResponse(version=_write_version(written))

    async def list_profile_versions(
        self, request: pb.ListProfileVersionsRequest, call: Call
    ) -> pb.ListProfileVersionsResponse:
        """Return a page of a level's versions, newest first. Raises ScopeForbidden or SpaceForbidden for levels of others."""
        tenant_id = call.tenant(request)
        level = _read_level(request.level, request.ref)
        listing = ListCall("ListProfileVersions", (str(tenant_id), level.level, level.ref), (Int4,))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._profiles.versions(
            tenant_id, level, reach=call.identity.reach, limit=page.limit, **page.starting("before")
        )
        written, token = listing.cut(rows, page, lambda version: (version.version,), _write_version)
        return pb.ListProfileVersionsResponse(versions=written, next_page_token=token)

    async def rollback_profile(self, request: pb.RollbackProfileRequest, call: Call) -> pb.RollbackProfileResponse:
        """Write an earlier version of a level as its newest. Raises NotFound if there is no such version."""
        tenant_id = call.admin_tenant(request)
        level = _read_level(request.level, request.ref)
        written = await self._profiles.roll_back(tenant_id, level, request.version, author=call.identity.subject)
        return pb.RollbackProfileResponse(version=_write_version(written))


def _read_level(number: pb.ProfileLevel.ValueType, ref: str) -> Level:
    name = _LEVELS.get(number)
    if name is None:
        raise InvalidArgument("level", "is missing", "send TENANT, TEMPLATE, AGENT or SPACE")
    return level_of(name, ref)


def _write_version(version: ProfileVersion) -> pb.ProfileVersion:
    return pb.ProfileVersion(
        level=pb.ProfileLevel.Value(f"PROFILE_LEVEL_{version.level.level.upper()}"),
        ref=version.level.ref,
        version=version.version,
        profile=write_knobs(version.knobs),
        author=version.author,
        create_time=write_time(version.created_at),
    )
