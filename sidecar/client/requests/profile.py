"""Requests about profiles: one frozen class per RPC, as in `requests`."""

from __future__ import annotations

from dataclasses import dataclass, field

from sidecar.client.answers import Page, ProfileInForce, ProfileVersion
from sidecar.client.decoding import Inner, Listed, Whole
from sidecar.client.encoding import KNOBS, PROFILE_LEVEL
from sidecar.client.knobs import Knobs
from sidecar.client.requests.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class GetProfile(Request[ProfileInForce]):
    """Return one level's newest knobs, or without a level the merged profile of an agent and a space."""

    reads = Whole(ProfileInForce)
    level: str = field(default="", metadata=PROFILE_LEVEL)
    ref: str = ""
    agent_id: str = ""
    space_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProfile(Request[ProfileVersion]):
    """Write one level's knobs, whole. With an expected version, refused when another is newer."""

    reads = Inner("version")
    level: str = field(metadata=PROFILE_LEVEL)
    ref: str = ""
    profile: Knobs = field(metadata=KNOBS)
    expected_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListProfileVersions(Request[Page[ProfileVersion]]):
    """List one level's versions, newest first."""

    reads = Listed("versions")
    level: str = field(metadata=PROFILE_LEVEL)
    ref: str = ""
    page_size: int = 0
    page_token: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackProfile(Request[ProfileVersion]):
    """Write an earlier version of one level again, as its newest."""

    reads = Inner("version")
    level: str = field(metadata=PROFILE_LEVEL)
    ref: str = ""
    version: int
