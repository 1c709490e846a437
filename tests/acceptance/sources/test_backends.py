"""Turns that ask remote backends: a served sidecar, a file of backends, and services that answer over HTTP as scripted."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import pytest

from sidecar.cli.root import run
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings, read
from sidecar.v1 import backends_pb2, items_pb2, profile_pb2
from sidecar.v1 import context_pb2 as pb
from store.scope import owner_uuid
from tests.stand_ins import hindsight
from tests.stand_ins.aws import Aws, Fault, Held, Reply
from tests.support.backends.aws_site import CANARY, use_credentials
from tests.support.served.backed import DOCUMENT, EXAMPLES, tool_server
from tests.support.served.site import Site, served
from tests.support.served.turns import THREAD, asking, assembled, explained, fill, refusal, report, statuses

WAITS_MS = 50_000
MODEL_EXAMPLES = re.findall(r"```sh\n(SIDECAR_.*?)\n```", DOCUMENT.read_text(), re.DOTALL)


def base(
    aws: Aws, name: str, *, tenant: str = "acme", assign: str = '"template:default"', deadline_s: float = 50.0
) -> str:
    """Return the entry of a knowledge base at the stand-in, which is known there by its name."""
    return f"""
[[bedrock_knowledge]]
name = "{name}"
tenant = "{tenant}"
knowledge_base_id = "{name.upper():X<10}"
region = "eu-central-1"
endpoint_url = "{aws.url}"
assign = [{assign}]
deadline_s = {deadline_s}
hedge = false
"""


@asynccontextmanager
async def backed(settings: Settings, folder: Path, *entries: str) -> AsyncIterator[Site]:
    """Yield a sidecar served with these entries in its file of backends."""
    path = folder / "backends.toml"
    path.write_text("".join(entries))
    async with served(replace(settings, backends=path)) as site:
        yield site


def patient() -> pb.AssembleContextRequest:
    """Return the question with more time for knowledge than a machine under load may need."""
    return asking(overrides={"sources": [{"source": items_pb2.SOURCE_KNOWLEDGE, "deadline_ms": WAITS_MS}]})


def found(*texts: str) -> Reply:
    """Return what a base answers."""
    return Reply({"retrievalResults": [{"content": {"type": "TEXT", "text": text}, "score": 0.4} for text in texts]})


KEEL = "The winter cradle for a boat keeps its keel dry and stands where the boat winters."


async def test_turn_holds_results_of_the_tenants_base_beside_the_built_in_ones(
    settings: Settings, tmp_path: Path, aws: Aws
) -> None:
    aws.script("Retrieve", found(KEEL))
    async with backed(settings, tmp_path, base(aws, "remote")) as site:
        agent = await fill(site)
        assembly = await assembled(agent, patient(), timeout=60)
        receipt = await explained(agent, assembly.receipt_id)
    assert statuses(assembly)["KNOWLEDGE"] == "OK"
    texts = "".join(block.text for block in assembly.system_blocks)
    assert KEEL in texts
    assert "stands on blocks" in texts
    (item,) = [one for one in assembly.items if one.id.startswith("remote:")]
    assert any(ref.kind == "backend" and ref.ref == "remote" for ref in item.provenance)
    assert CANARY not in str(receipt)
    (call,) = aws.calls("Retrieve")
    assert call.parameters["retrievalQuery"]["text"] == asking().message


async def test_another_tenant_never_reaches_the_base(settings: Settings, tmp_path: Path, aws: Aws) -> None:
    aws.script("Retrieve", found(KEEL))
    async with backed(settings, tmp_path, base(aws, "remote", tenant="rival")) as site:
        assembly = await assembled(await fill(site), patient(), timeout=60)
    assert statuses(assembly)["KNOWLEDGE"] == "OK"
    assert aws.seen == []


async def test_unassigned_base_is_not_queried(settings: Settings, tmp_path: Path, aws: Aws) -> None:
    aws.script("Retrieve", found(KEEL))
    entries = (base(aws, "nobodys", assign=""), base(aws, "agents", assign='"agent:somebody-else"'))
    async with backed(settings, tmp_path, *entries) as site:
        assembly = await assembled(await fill(site), patient(), timeout=60)
    assert statuses(assembly)["KNOWLEDGE"] == "OK"
    assert aws.seen == []


async def test_broken_base_hides_neither_the_other_nor_its_own_failure(
    settings: Settings, tmp_path: Path, aws: Aws, caplog: pytest.LogCaptureFixture
) -> None:
    aws.script("Retrieve", Fault("AccessDeniedException", 403, f"{CANARY} may not"))
    with caplog.at_level(logging.INFO):
        async with backed(settings, tmp_path, base(aws, "broken")) as site:
            agent = await fill(site)
            assembly = await assembled(agent, patient(), timeout=60)
            receipt = await explained(agent, assembly.receipt_id)
    told = report(assembly, items_pb2.SOURCE_KNOWLEDGE)
    assert "stands on blocks" in "".join(block.text for block in assembly.system_blocks)
    assert "broken: The service refuses our credentials" in told.reason
    assert CANARY not in f"{assembly} {receipt} {caplog.text}"


async def test_hanging_base_costs_only_its_own_results(settings: Settings, tmp_path: Path, aws: Aws) -> None:
    over = threading.Event()
    aws.script("Retrieve", Held(over, found(KEEL)))
    async with backed(settings, tmp_path, base(aws, "hung", deadline_s=0.5)) as site:
        assembly = await assembled(await fill(site), patient(), timeout=60)
        over.set()
    assert statuses(assembly)["KNOWLEDGE"] == "OK"
    assert "hung: The service did not answer in time" in report(assembly, items_pb2.SOURCE_KNOWLEDGE).reason
    assert assembly.degraded


async def test_disabled_base_is_not_queried_from_the_next_turn(settings: Settings, tmp_path: Path, aws: Aws) -> None:
    aws.script("Retrieve", found(KEEL))
    async with backed(settings, tmp_path, base(aws, "remote")) as site:
        agent, admin = await fill(site), site.caller("acme", admin=True)
        await assembled(agent, patient(), timeout=60)
        await admin.SwitchBackend(
            backends_pb2.SwitchBackendRequest(backend="remote", is_off=True, reason="re-indexing")
        )
        without = await assembled(agent, patient(), timeout=60)
        (listed,) = (await admin.ListBackends(backends_pb2.ListBackendsRequest())).backends
        await admin.SwitchBackend(backends_pb2.SwitchBackendRequest(backend="remote"))
        again = await assembled(agent, patient(), timeout=60)
    assert len(aws.calls("Retrieve")) == 2
    assert "remote: switched off" in report(without, items_pb2.SOURCE_KNOWLEDGE).reason
    assert not without.degraded
    assert (listed.is_off, listed.reason) == (True, "re-indexing")
    assert any(item.id.startswith("remote:") for item in again.items)


async def test_only_an_admin_of_the_tenant_switches_its_backends(settings: Settings, tmp_path: Path, aws: Aws) -> None:
    async with backed(settings, tmp_path, base(aws, "remote")) as site:
        switch = backends_pb2.SwitchBackendRequest(backend="remote", is_off=True)
        agent = await refusal(site.caller().SwitchBackend(switch))
        stranger = await refusal(site.caller("rival", admin=True).SwitchBackend(switch))
        listed = await site.caller("rival", admin=True).ListBackends(backends_pb2.ListBackendsRequest())
    assert agent[1] == "ADMIN_REQUIRED"
    assert stranger[:2] == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")
    assert not listed.backends


def tools_entry() -> str:
    """Return the entry of an MCP server that runs as a process."""
    command = json.dumps([sys.executable, "-m", "tests.stand_ins.tool_server", "stdio"])
    return f"""
[[tools]]
name = "harbour"
tenant = "acme"
command = {command}
env = {{ HARBOUR_KEY = "env:HARBOUR_KEY" }}
deadline_s = 60
"""


def asking_tools() -> pb.AssembleContextRequest:
    knobs = [{"source": items_pb2.SOURCE_TOOLS, "deadline_ms": WAITS_MS}]
    return asking(overrides={"sources": knobs, "spend": profile_pb2.SPEND_FULL})


async def test_tool_is_called_from_its_approval_to_its_revocation(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("HARBOUR_KEY", CANARY)
    with caplog.at_level(logging.INFO):
        async with backed(settings, tmp_path, tools_entry()) as site:
            agent, admin = await fill(site), site.caller("acme", admin=True)
            before = await assembled(agent, asking_tools(), timeout=60)
            listing = await admin.ListTools(backends_pb2.ListToolsRequest(), timeout=60)
            search = next(tool for tool in listing.tools if tool.name == "search")
            stale = backends_pb2.ApproveToolRequest(backend="harbour", tool="search", schema_hash="00")
            refused = await refusal(admin.ApproveTool(stale, timeout=60))
            unfit = await refusal(
                admin.ApproveTool(backends_pb2.ApproveToolRequest(backend="harbour", tool="writes"), timeout=60)
            )
            for name in ("search", "key"):
                await admin.ApproveTool(backends_pb2.ApproveToolRequest(backend="harbour", tool=name), timeout=60)
            during = await assembled(agent, asking_tools(), timeout=60)
            receipt = await explained(agent, during.receipt_id)
            for name in ("search", "key"):
                await admin.RevokeTool(backends_pb2.RevokeToolRequest(backend="harbour", tool=name))
            after = await assembled(agent, asking_tools(), timeout=60)
    assert [statuses(one)["TOOLS"] for one in (before, during, after)] == ["SKIPPED", "OK", "SKIPPED"]
    assert search.why_not == "its present declaration is not approved"
    assert refused == (grpc.StatusCode.FAILED_PRECONDITION, "FAILED_PRECONDITION", "schema_hash")
    assert unfit[2] == "tool"
    assert "Berth 12 is free." in "".join(item.text for item in during.items)
    assert "a key is there" in "".join(item.text for item in during.items)
    assert CANARY not in f"{during} {receipt} {listing} {caplog.text}"


@pytest.mark.parametrize("is_revoked", [True, False])
async def test_cached_results_of_a_tool_are_not_used_after_its_revocation(
    settings: Settings, tmp_path: Path, is_revoked: bool
) -> None:
    with ExitStack() as serving:
        url = serving.enter_context(tool_server())
        entry = f'[[tools]]\nname = "harbour"\ntenant = "acme"\nurl = "{url}"\ndeadline_s = 10\n'
        async with backed(settings, tmp_path, entry) as site:
            agent, admin = await fill(site), site.caller("acme", admin=True)
            for name in ("search", "key"):
                await admin.ApproveTool(backends_pb2.ApproveToolRequest(backend="harbour", tool=name), timeout=60)
            during = await assembled(agent, asking_tools(), timeout=60)
            if is_revoked:
                await admin.RevokeTool(backends_pb2.RevokeToolRequest(backend="harbour", tool="key"))
            serving.close()
            after = await assembled(agent, asking_tools(), timeout=60)
    assert statuses(during)["TOOLS"] == "OK"
    assert statuses(after)["TOOLS"] == ("ERROR" if is_revoked else "STALE")


async def test_tool_can_be_tried_before_its_approval(settings: Settings, tmp_path: Path) -> None:
    entry = tools_entry().replace("env = ", "# env = ")
    async with backed(settings, tmp_path, entry) as site:
        admin = site.caller("acme", admin=True)
        asked = backends_pb2.TestToolRequest(backend="harbour", tool="search", question="free?")
        texts = (await admin.TestTool(asked, timeout=60)).texts
        writing = backends_pb2.TestToolRequest(backend="harbour", tool="writes", question="free?")
        refused = await refusal(admin.TestTool(writing, timeout=60))
    assert texts[0] == "Berth 12 is free. You asked: free?"
    assert refused[0] is grpc.StatusCode.FAILED_PRECONDITION


async def test_commands_manage_tools_and_backends(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = tools_entry().replace("env = ", "# env = ")
    async with backed(settings, tmp_path, entry) as site:

        async def said(*words: str) -> tuple[int, dict[str, Any] | list[Any]]:
            whom = ("--address", site.app.addresses[0], "--token", site.token(admin=True), "--json")
            code = await asyncio.to_thread(run, [*words, *whom])
            return code, json.loads(capsys.readouterr().out)

        code, listing = await said("tools", "list")
        assert isinstance(listing, dict)
        search = next(tool for tool in listing["tools"] if tool["name"] == "search")
        tried = await said("tools", "test", "harbour", "search", "free?")
        approved = await said("tools", "approve", "harbour", "search", "--hash", search["schema_hash"])
        stale = await said("tools", "approve", "harbour", "search", "--hash", "00")
        revoked = [await said("tools", "revoke", "harbour", "search") for _ in range(2)]
        off = await said("backends", "off", "harbour", "--reason", "noisy")
        listed = await said("backends", "list")
        on = await said("backends", "on", "harbour")
        made = [await said("backends", "webhook", "harbour", "--owner", "mara") for _ in range(2)]
        gone = [await said("backends", "webhook", "harbour", "--owner", "mara", "--remove") for _ in range(2)]
        unknown = await said("backends", "off", "nothing")
    assert (code, search["is_approved"]) == (0, False)
    assert tried == (0, {"texts": ["Berth 12 is free. You asked: free?", "The crane works on Mondays."]})
    assert isinstance(approved[1], dict)
    assert approved[1]["is_approved"]
    assert [one[0] for one in (stale, unknown)] != [0, 0]
    assert [one[1]["was_approved"] for one in revoked if isinstance(one[1], dict)] == [True, False]
    assert (off[1], on[1]) == ({"backend": "harbour", "is_off": True}, {"backend": "harbour", "is_off": False})
    assert isinstance(listed[1], list)
    assert (listed[1][0]["is_off"], listed[1][0]["reason"]) == (True, "noisy")
    assert made[0] == made[1], "asked again, the webhook is the one there is"
    assert [one[1]["was_there"] for one in gone if isinstance(one[1], dict)] == [True, False]


async def test_owners_bank_is_recalled_beside_the_built_in_memories(settings: Settings, tmp_path: Path) -> None:
    with hindsight.serving() as server:
        server.retain(str(owner_uuid("mara")), [{"content": "The boat winters under a blue tarpaulin."}])
        server.retain(str(owner_uuid("tom")), [{"content": "The boat winters in secret."}])
        entry = f"""
[[hindsight]]
name = "memories"
tenant = "acme"
url = "{server.url}"
deadline_s = 50
"""
        async with backed(settings, tmp_path, entry) as site:
            request = asking(overrides={"sources": [{"source": items_pb2.SOURCE_MEMORY, "deadline_ms": WAITS_MS}]})
            assembly = await assembled(await fill(site), request, timeout=60)
    texts = "".join(item.text for item in assembly.items)
    assert "blue tarpaulin" in texts
    assert "old dock" in texts
    assert "secret" not in texts


async def test_thread_is_read_from_its_events_if_configured(settings: Settings, tmp_path: Path, aws: Aws) -> None:
    actor = str(owner_uuid("mara"))
    spoken = {"conversational": {"role": "USER", "content": {"text": "We bought a second boat, the Nereid."}}}
    event = {
        "memoryId": "acme_memory-ABCDEFGHIJ",
        "actorId": actor,
        "sessionId": THREAD,
        "eventId": "0000001#ab",
        "eventTimestamp": datetime(2026, 5, 1, tzinfo=UTC),
        "payload": [spoken],
    }
    aws.script("ListEvents", Reply({"events": [event]}))
    entry = f"""
[[agentcore]]
name = "sessions"
tenant = "acme"
memory_id = "acme_memory-ABCDEFGHIJ"
endpoint_url = "{aws.url}"
events = true
recall = false
deadline_s = 50
"""
    async with backed(settings, tmp_path, entry) as site:
        request = asking(overrides={"sources": [{"source": items_pb2.SOURCE_THREAD, "deadline_ms": WAITS_MS}]})
        assembly = await assembled(await fill(site), request, timeout=60)
    assert [message.text for message in assembly.messages] == ["We bought a second boat, the Nereid."]


async def test_unusable_backend_file_stops_the_start(settings: Settings, tmp_path: Path) -> None:
    with pytest.raises(SettingInvalid, match="bedrock is not a kind"):
        async with backed(settings, tmp_path, "[[bedrock]]\nname='a'"):
            pass


async def test_backend_examples_in_the_documents_start(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_credentials(monkeypatch)
    text = "\n".join(EXAMPLES)
    async with backed(settings, tmp_path, text) as site:
        listed = await site.caller("acme", admin=True).ListBackends(backends_pb2.ListBackendsRequest())
    assert {one.name for one in listed.backends} == set(re.findall(r'^name = "(.*)"$', text, re.MULTILINE))
    assert len(EXAMPLES) == 6


@pytest.mark.parametrize("example", MODEL_EXAMPLES, ids=["bedrock", "openai"])
async def test_model_examples_in_the_documents_start(
    settings: Settings, example: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_credentials(monkeypatch)
    given = read({line.partition("=")[0]: line.partition("=")[2] for line in example.splitlines()})
    named = {line.partition("=")[0].removeprefix("SIDECAR_").lower() for line in example.splitlines()}
    nowhere = dict.fromkeys(("bedrock_endpoint_url", "embedder_base_url", "compile_base_url"), "http://127.0.0.1:9")
    async with served(replace(settings, **{name: getattr(given, name) for name in named} | nowhere)) as site:
        assembly = await assembled(await fill(site))
    assert statuses(assembly)["MEMORY"] == "OK"


async def test_tool_with_a_name_of_several_words_is_approved_and_called(settings: Settings, tmp_path: Path) -> None:
    command = json.dumps([sys.executable, "-m", "tests.stand_ins.hostile_tool_process", "named"])
    name = "boats/find a berth"
    entry = f'[[tools]]\nname = "harbour"\ntenant = "acme"\ncommand = {command}\nsearch_safe = ["{name}"]\ndeadline_s = 10\n'
    async with backed(settings, tmp_path, entry) as site:
        agent, admin = await fill(site), site.caller("acme", admin=True)
        await admin.ApproveTool(backends_pb2.ApproveToolRequest(backend="harbour", tool=name), timeout=60)
        during = await assembled(agent, asking_tools(), timeout=60)
        await admin.RevokeTool(backends_pb2.RevokeToolRequest(backend="harbour", tool=name))
        after = await assembled(agent, asking_tools(), timeout=60)
    assert [statuses(one)["TOOLS"] for one in (during, after)] == ["OK", "SKIPPED"]
    assert "here" in {item.text for item in during.items}
