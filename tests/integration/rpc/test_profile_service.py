"""The profile service on Postgres: own knobs, merged knobs, versions, rollback."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sidecar.rpc.admin import AdminService
from sidecar.rpc.messages.knobs import read_knobs
from sidecar.rpc.profile import SERVICE, ProfileService
from sidecar.rpc.transport.call import Call, behaviours_of
from sidecar.rpc.transport.validation import write_time
from sidecar.runtime.errors import AdminRequired, NotFound, ScopeForbidden
from sidecar.services.profiles import Profiles
from sidecar.services.tenants import Tenants
from sidecar.turn.profile import DEFAULTS, merge, parse_layer
from sidecar.v1 import admin_pb2, items_pb2
from sidecar.v1 import profile_pb2 as pb
from store.db.postgres import Pools
from store.errors import VersionConflict
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, now, refused, refused_field

TEMPLATE, AGENT, SPACE = pb.PROFILE_LEVEL_TEMPLATE, pb.PROFILE_LEVEL_AGENT, pb.PROFILE_LEVEL_SPACE


@pytest.fixture
def service(pools: Pools) -> ProfileService:
    return ProfileService(Profiles(pools, now=now))


async def put(
    service: ProfileService,
    profile: pb.Profile,
    *,
    level: pb.ProfileLevel.ValueType = TEMPLATE,
    ref: str = "default",
    expected: int = 0,
) -> pb.ProfileVersion:
    request = pb.SetProfileRequest(level=level, ref=ref, profile=profile, expected_version=expected)
    return (await service.set_profile(request, an_admin())).version


def test_profile_service_has_every_method_of_the_contract(service: ProfileService) -> None:
    assert set(behaviours_of(SERVICE, service)) == set(SERVICE.methods_by_name)


async def test_turn_without_knobs_has_the_built_in_profile(service: ProfileService) -> None:
    answer = await service.get_profile(pb.GetProfileRequest(), an_agent())
    assert merge(parse_layer(read_knobs("profile", answer.profile))) == DEFAULTS
    own = await service.get_profile(pb.GetProfileRequest(level=TEMPLATE, ref="default"), an_agent())
    assert own == pb.GetProfileResponse(profile=pb.Profile())


async def test_level_returns_its_own_knobs(service: ProfileService) -> None:
    wiki = pb.SourceKnobs(source=items_pb2.SOURCE_WIKI, enabled=False)
    profile = pb.Profile(history_turns=7, allocation=pb.ALLOCATION_POOLED, sources=[wiki])
    version = await put(service, profile)
    assert version == pb.ProfileVersion(
        level=TEMPLATE, ref="default", version=1, profile=profile, author="admin", create_time=write_time(NOW)
    )
    answer = await service.get_profile(pb.GetProfileRequest(level=TEMPLATE, ref="default"), an_agent())
    assert (answer.profile, answer.version) == (profile, "template:default@1")


async def test_nearer_level_wins_knob_by_knob(service: ProfileService, pools: Pools) -> None:
    await AdminService(Tenants(pools, now=now)).put_agent(
        admin_pb2.PutAgentRequest(agent_id="planner", template_id="travel"), an_admin()
    )
    await put(service, pb.Profile(history_turns=1, lead_lines=1, max_items=1), level=pb.PROFILE_LEVEL_TENANT, ref="")
    await put(service, pb.Profile(history_turns=2, lead_lines=2), ref="travel")
    await put(service, pb.Profile(history_turns=3), level=AGENT, ref="planner")
    await put(service, pb.Profile(history_turns=4), level=SPACE, ref="home")
    merged = await service.get_profile(pb.GetProfileRequest(space_id="home"), an_agent(spaces=("home",)))
    assert (merged.profile.history_turns, merged.profile.lead_lines, merged.profile.max_items) == (4, 2, 1)
    assert merged.version == "tenant:@1 template:travel@1 agent:planner@1 space:home@1"
    assert (await service.get_profile(pb.GetProfileRequest(), an_agent())).profile.history_turns == 3
    by_admin = await service.get_profile(pb.GetProfileRequest(agent_id="planner"), an_admin())
    assert by_admin.profile.history_turns == 3


async def test_agent_sees_only_the_knobs_of_its_own_turns(service: ProfileService) -> None:
    own = await service.get_profile(pb.GetProfileRequest(agent_id="planner"), an_agent())
    assert own.profile.HasField("history_turns")
    foreign = service.get_profile(pb.GetProfileRequest(agent_id="other"), an_agent())
    assert isinstance(await refused(foreign), ScopeForbidden)


async def test_one_of_two_writers_expecting_the_same_version_wins(service: ProfileService) -> None:
    await put(service, pb.Profile(history_turns=1))
    attempts = (put(service, pb.Profile(history_turns=n), expected=1) for n in range(2, 8))
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    assert sum(isinstance(one, pb.ProfileVersion) for one in outcomes) == 1
    assert sum(isinstance(one, VersionConflict) for one in outcomes) == 5


async def test_versions_are_listed_newest_first_and_rolled_back_forward(service: ProfileService) -> None:
    for n in range(1, 4):
        await put(service, pb.Profile(history_turns=n))
    request = pb.RollbackProfileRequest(level=TEMPLATE, ref="default", version=1)
    back = (await service.rollback_profile(request, an_admin())).version
    assert (back.version, back.profile) == (4, pb.Profile(history_turns=1))
    listed: list[pb.ProfileVersion] = []
    token = ""
    while True:
        page = await service.list_profile_versions(
            pb.ListProfileVersionsRequest(level=TEMPLATE, ref="default", page_size=3, page_token=token), an_agent()
        )
        listed += page.versions
        token = page.next_page_token
        if not token:
            break
    assert [(one.version, one.profile.history_turns) for one in listed] == [(4, 1), (3, 3), (2, 2), (1, 1)]
    missing = pb.RollbackProfileRequest(level=TEMPLATE, ref="default", version=9)
    assert isinstance(await refused(service.rollback_profile(missing, an_admin())), NotFound)


async def test_token_of_another_level_is_refused(service: ProfileService) -> None:
    for _ in range(2):
        await put(service, pb.Profile())
    first = pb.ListProfileVersionsRequest(level=TEMPLATE, ref="default", page_size=1)
    token = (await service.list_profile_versions(first, an_admin())).next_page_token
    foreign = pb.ListProfileVersionsRequest(level=AGENT, ref="default", page_token=token)
    assert await refused_field(service.list_profile_versions(foreign, an_admin())) == "page_token"


async def test_profiles_are_written_only_by_an_admin_of_the_tenant(service: ProfileService) -> None:
    await put(service, pb.Profile(history_turns=1))
    for work in _every_change(service, an_agent()):
        assert isinstance(await refused(work), AdminRequired)
    for work in _every_change(service, an_admin("globex"), tenant_id="acme"):
        assert isinstance(await refused(work), ScopeForbidden)
    theirs = await service.get_profile(pb.GetProfileRequest(level=TEMPLATE, ref="default"), an_admin("globex"))
    assert theirs.version == ""


async def test_unusable_profile_request_is_refused_by_field(service: ProfileService) -> None:
    for field, work in (
        ("level", put(service, pb.Profile(), level=pb.PROFILE_LEVEL_UNSPECIFIED)),
        ("ref", put(service, pb.Profile(), ref="")),
        ("ref", put(service, pb.Profile(), level=pb.PROFILE_LEVEL_TENANT, ref="x")),
        ("expected_version", put(service, pb.Profile(), expected=-1)),
        ("profile.lead_lines", put(service, pb.Profile(lead_lines=0))),
        ("version", service.rollback_profile(pb.RollbackProfileRequest(level=TEMPLATE, ref="x"), an_admin())),
        ("level", service.get_profile(pb.GetProfileRequest(ref="x"), an_admin())),
        ("agent_id", service.get_profile(pb.GetProfileRequest(agent_id=" "), an_admin())),
        ("space_id", service.get_profile(pb.GetProfileRequest(space_id="\0"), an_admin())),
    ):
        assert await refused_field(work) == field


def _every_change(service: ProfileService, call: Call, **scope: str) -> list[Any]:
    key: dict[str, Any] = {"level": TEMPLATE, "ref": "default", **scope}
    return [
        service.set_profile(pb.SetProfileRequest(profile=pb.Profile(), **key), call),
        service.rollback_profile(pb.RollbackProfileRequest(version=1, **key), call),
    ]
