"""An agent reaches its template's documents, its own, and those of its token's spaces, by RPC and console."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio
from google.protobuf.json_format import MessageToJson

from sidecar.v1 import admin_pb2, knowledge_pb2, profile_pb2
from sidecar.v1 import context_pb2 as pb
from tests.support.databases import database_clone
from tests.support.served.site import Caller, Site, ready, served
from tests.support.served.turns import asking, assembled, explained, refusal

LEVELS = {"template": 1, "agent": 2, "space": 3}
BASES = {
    "handbook": ("template", "default"),
    "board-papers": ("template", "board"),
    "own-notes": ("agent", "assistant"),
    "other-notes": ("agent", "other"),
    "salaries": ("space", "hr"),
    "runbooks": ("space", "ops"),
    "drafts": ("", ""),
}
OWN = ["handbook", "own-notes"]
SECRET = "Wages of the harbour crew rise by nine percent"
DENIED = grpc.StatusCode.PERMISSION_DENIED
SPACE_REFUSED = (DENIED, "SPACE_FORBIDDEN")
SPACE_LEVEL = profile_pb2.PROFILE_LEVEL_SPACE
Call = Callable[[Caller], Awaitable[Any]]

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def world(migrated_template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    """A sidecar with its console, and a tenant with a base for every way to reach one."""
    home = tmp_path_factory.mktemp("spaces")
    async with (
        database_clone(migrated_template) as dsn,
        served(await ready(dsn, home, console_listen="127.0.0.1:0")) as site,
    ):
        admin = site.caller(admin=True)
        for base, (level, ref) in BASES.items():
            await admin.CreateBase(knowledge_pb2.CreateBaseRequest(name=base, description=f"About {base}"))
            text = f"# Crew {base}\n\n{SECRET if base == 'salaries' else 'The harbour crew'}: {base}."
            await admin.Ingest(knowledge_pb2.IngestRequest(base=base, path="a.md", content=text.encode()))
            if level:
                named: Any = {"base": base, "level": LEVELS[level], "ref": ref}
                await admin.AssignBase(knowledge_pb2.AssignBaseRequest(**named))
        await admin.PutAgent(admin_pb2.PutAgentRequest(agent_id="chair", template_id="board"))
        for number, ref in ((SPACE_LEVEL, "hr"), (profile_pb2.PROFILE_LEVEL_TEMPLATE, "board")):
            knobs = profile_pb2.Profile(lead_lines=7)
            await admin.SetProfile(profile_pb2.SetProfileRequest(level=number, ref=ref, profile=knobs))
        yield site


async def bases_of(caller: Caller) -> list[str]:
    """Return the bases that a caller is shown, over all pages."""
    names, token = [], ""
    while True:
        page = await caller.ListBases(knowledge_pb2.ListBasesRequest(page_size=1, page_token=token))
        names += [base.name for base in page.bases]
        if not (token := page.next_page_token):
            return names


NAMING_A_SPACE: dict[str, Call] = {
    "a turn": lambda caller: caller.AssembleContext(asking("harbour crew", space_id="hr")),
    "a merged profile": lambda caller: caller.GetProfile(profile_pb2.GetProfileRequest(space_id="hr")),
    "its own knobs": lambda caller: caller.GetProfile(profile_pb2.GetProfileRequest(level=SPACE_LEVEL, ref="hr")),
    "their versions": lambda caller: caller.ListProfileVersions(
        profile_pb2.ListProfileVersionsRequest(level=SPACE_LEVEL, ref="hr")
    ),
}


@pytest.mark.parametrize("spaces", [None, (), ("ops",), ("HR",), (" hr",), ("h",), ("hr2",)])
@pytest.mark.parametrize("way", NAMING_A_SPACE)
async def test_space_that_is_not_held_is_refused_by_every_call(
    world: Site, way: str, spaces: tuple[str, ...] | None
) -> None:
    code, reason, _ = await refusal(NAMING_A_SPACE[way](world.caller(spaces=spaces)))
    assert (code, reason) == SPACE_REFUSED


@pytest.mark.parametrize("way", NAMING_A_SPACE)
async def test_held_space_is_open(world: Site, way: str) -> None:
    for caller in (world.caller(spaces=("ops", "hr")), world.caller(spaces=("*",))):
        assert await NAMING_A_SPACE[way](caller)
    if way != "a turn":
        assert await NAMING_A_SPACE[way](world.caller(admin=True))


async def test_turn_searches_the_bases_of_its_held_space(world: Site) -> None:
    holder = world.caller(spaces=("hr", "ops"))
    assert SECRET in str(await assembled(holder, asking("harbour crew wages", space_id="hr")))
    assert SECRET not in str(await assembled(holder, asking("harbour crew wages", space_id="ops")))
    assert SECRET not in str(await assembled(holder, asking("harbour crew wages")))


@pytest.mark.parametrize(
    ("caller", "shown"),
    [
        ({}, OWN),
        ({"spaces": ("hr",)}, [*OWN, "salaries"]),
        ({"spaces": ("*",)}, [*OWN, "runbooks", "salaries"]),
        ({"agent": "other"}, ["handbook", "other-notes"]),
        ({"agent": "chair", "spaces": ("ops",)}, ["board-papers", "runbooks"]),
        ({"admin": True}, sorted(BASES)),
        ({"tenant": "evil", "spaces": ("*",)}, []),
    ],
)
async def test_bases_and_documents_are_shown_within_the_callers_reach(
    world: Site, caller: dict[str, Any], shown: list[str]
) -> None:
    calling = world.caller(**caller)
    assert await bases_of(calling) == shown
    unknown = await refusal(calling.ListDocuments(knowledge_pb2.ListDocumentsRequest(base="no-such-base")))
    for base in BASES:
        listing = calling.ListDocuments(knowledge_pb2.ListDocumentsRequest(base=base))
        if base in shown:
            assert len((await listing).documents) == 1
        else:
            assert await refusal(listing) == unknown


@pytest.mark.parametrize("is_list", [False, True])
@pytest.mark.parametrize(
    ("level", "ref", "is_open"),
    [
        (profile_pb2.PROFILE_LEVEL_TENANT, "", True),
        (profile_pb2.PROFILE_LEVEL_TEMPLATE, "default", True),
        (profile_pb2.PROFILE_LEVEL_TEMPLATE, "board", False),
        (profile_pb2.PROFILE_LEVEL_TEMPLATE, "no such template", False),
        (profile_pb2.PROFILE_LEVEL_AGENT, "assistant", True),
        (profile_pb2.PROFILE_LEVEL_AGENT, "chair", False),
    ],
)
async def test_only_knobs_of_the_callers_own_levels_are_shown(
    world: Site, level: profile_pb2.ProfileLevel.ValueType, ref: str, *, is_open: bool, is_list: bool
) -> None:
    def asked(caller: Caller) -> Awaitable[Any]:
        if is_list:
            return caller.ListProfileVersions(profile_pb2.ListProfileVersionsRequest(level=level, ref=ref))
        return caller.GetProfile(profile_pb2.GetProfileRequest(level=level, ref=ref))

    assert await asked(world.caller(admin=True))
    if is_open:
        assert await asked(world.caller())
    else:
        assert (await refusal(asked(world.caller())))[:2] == (DENIED, "SCOPE_FORBIDDEN")


async def made_in_hr(site: Site) -> str:
    """Assemble a turn in the space hr, and return its receipt once it is written."""
    holder = site.caller(spaces=("hr",))
    receipt_id = (await assembled(holder, asking("harbour crew wages", space_id="hr"))).receipt_id
    assert "Crew salaries" in MessageToJson(await explained(holder, receipt_id))
    return receipt_id


READING_A_RECEIPT: dict[str, Callable[[Caller, str], Awaitable[Any]]] = {
    "ExplainAssembly": lambda caller, receipt: caller.ExplainAssembly(pb.ExplainAssemblyRequest(receipt_id=receipt)),
    "ReplayAssembly": lambda caller, receipt: caller.ReplayAssembly(pb.ReplayAssemblyRequest(receipt_id=receipt)),
    "DiffAssemblies": lambda caller, receipt: caller.DiffAssemblies(
        pb.DiffAssembliesRequest(before_receipt_id=receipt, after_receipt_id=receipt)
    ),
    "ReportUsage": lambda caller, receipt: caller.ReportUsage(
        pb.ReportUsageRequest(receipt_id=receipt, input_tokens=9)
    ),
}
OUT_OF_REACH: dict[str, dict[str, Any]] = {
    "no spaces": {},
    "another space": {"spaces": ("ops",)},
    "another agent of the owner": {"agent": "other", "spaces": ("*",)},
    "another owner": {"owner": "eve", "spaces": ("*",)},
}


@pytest.mark.parametrize("way", READING_A_RECEIPT)
async def test_receipt_is_shown_to_its_agent_only_with_its_space(world: Site, way: str) -> None:
    receipt_id, ask = await made_in_hr(world), READING_A_RECEIPT[way]
    unknown = await refusal(ask(world.caller(), "00000000-0000-4000-8000-000000000000"))
    for caller in OUT_OF_REACH.values():
        assert await refusal(ask(world.caller(**caller), receipt_id)) == unknown
    assert await ask(world.caller(spaces=("hr",)), receipt_id)


async def test_receipts_and_turns_are_listed_for_their_own_agent(world: Site) -> None:
    receipt_id = await made_in_hr(world)

    async def listed(**caller: Any) -> bool:
        page = await world.caller(**caller).ListAssemblies(pb.ListAssembliesRequest(page_size=1000))
        of_thread = pb.ListAssembliesRequest(page_size=1000, thread_id="harbour")
        same = await world.caller(**caller).ListAssemblies(of_thread)
        found = [receipt_id in {one.receipt_id for one in rows.receipts} for rows in (page, same)]
        assert found[0] == found[1]
        return found[0]

    assert await listed(spaces=("hr",))
    assert [await listed(**caller) for caller in OUT_OF_REACH.values()] == [False] * len(OUT_OF_REACH)
    request = pb.ListAssembliesRequest(owner_id="mara", page_size=1000)
    everything = await world.caller(admin=True).ListAssemblies(request)
    assert receipt_id in {one.receipt_id for one in everything.receipts}


async def browsed(site: Site, page: str, **caller: Any) -> httpx.Response:
    """Return a page of the console as a caller's token shows it."""
    base = f"http://{site.app.console_address}"
    async with httpx.AsyncClient(base_url=base, headers={"origin": base}, timeout=60) as client:
        assert (await client.post("/login", data={"token": site.token(**caller)})).status_code == 303
        return await client.get(page)


async def test_console_shows_a_token_the_same_as_the_api(world: Site) -> None:
    receipt_id = await made_in_hr(world)
    receipt = json.loads(MessageToJson((await explained(world.caller(spaces=("hr",)), receipt_id)).details))
    items = [
        item for row in receipt["sources"] for item in row["items"] if SECRET in str(item) or "salaries" in str(item)
    ]
    chunk_id = re.search(r"chunk:([0-9a-f-]{36})", str(items))
    assert chunk_id is not None
    pages = (f"/turns/{receipt_id}", f"/sources/tried/{receipt_id}", f"/from/chunk?id={chunk_id[1]}")
    for page in pages:
        assert SECRET in (await browsed(world, page, spaces=("hr",))).text, page
        for name in ("no spaces", "another space"):
            answer = await browsed(world, page, **OUT_OF_REACH[name])
            assert (answer.status_code, SECRET in answer.text) == (404, False), (page, name)
    for page in ("/turns", "/thread?id=harbour"):
        assert receipt_id in (await browsed(world, page, spaces=("hr",))).text
        assert receipt_id not in (await browsed(world, page, agent="other")).text, page


@pytest.mark.parametrize("setting", ["deny", "allow"])
async def test_token_without_the_claim_holds_every_space_only_if_that_is_allowed(
    migrated_template: str, tmp_path: Path, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    values = {"spaces_unclaimed": setting, "http_listen": "127.0.0.1:0"}
    async with (
        database_clone(migrated_template) as dsn,
        served(await ready(dsn, tmp_path, **values)) as site,
    ):
        ask = NAMING_A_SPACE["a merged profile"]
        for spaces in ((), ("ops",)):
            assert (await refusal(ask(site.caller(spaces=spaces))))[:2] == SPACE_REFUSED
        if setting == "deny":
            assert (await refusal(ask(site.caller())))[:2] == SPACE_REFUSED
        else:
            for _ in range(3):
                await ask(site.caller())
        async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client:
            counted = (await client.get("/metrics")).text
    told = [record for record in caplog.records if record.msg == "spaces_unclaimed"]
    assert len(told) == (1 if setting == "allow" else 0)
    assert f"sidecar_spaces_unclaimed {3 if setting == 'allow' else 0}.0" in counted
