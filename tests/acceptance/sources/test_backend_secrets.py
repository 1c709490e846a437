"""Where secrets must not be: every backend is given one, and says it in its error."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path

import pytest

from sidecar.runtime.settings import Settings
from sidecar.telemetry import names
from sidecar.v1 import admin_pb2, backends_pb2, items_pb2, profile_pb2
from tests.acceptance.sources.test_backends import KEEL, WAITS_MS, base, found, tools_entry
from tests.stand_ins import hindsight, s3
from tests.stand_ins.aws import Aws, Fault
from tests.support.backends.aws_site import CANARY
from tests.support.served.backed import SOURCES
from tests.support.served.collector import collecting
from tests.support.served.traces import SAMPLED, SENDING, observed, traced
from tests.support.served.turns import asking, explained, fill, report


def _entries(aws: Aws, hindsight_url: str, files_url: str) -> str:
    """Return a file of backends of every kind, each with the canary for its secret where it takes one."""
    of_aws = f"""
[[agentcore]]
name = "sessions"
tenant = "acme"
memory_id = "acme_memory-ABCDEFGHIJ"
endpoint_url = "{aws.url}"
events = true

[[rerank]]
name = "order"
tenant = "acme"
model_arn = "arn:aws:bedrock:eu-central-1::foundation-model/amazon.rerank-v1:0"
endpoint_url = "{aws.url}"
deadline_s = 20
"""
    disk = f"""
[[workspace_s3]]
name = "files"
tenant = "acme"
bucket = "acme-agents"
prefix = "workspaces/acme"
endpoint_url = "{files_url}"
deadline_s = 50
"""
    bank = f"""
[[hindsight]]
name = "memories"
tenant = "acme"
url = "{hindsight_url}"
api_key = "env:CANARY"
"""
    tools = tools_entry().replace("env:HARBOUR_KEY", "env:CANARY")
    return f"{base(aws, 'broken')}{base(aws, 'well')}{of_aws}{bank}{disk}{tools}"


async def test_no_secret_is_in_a_log_a_span_a_receipt_or_an_answer(
    settings: Settings, tmp_path: Path, aws: Aws, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Every backend is given the canary as its secret, and those that fail say it in their error."""
    monkeypatch.setenv("CANARY", CANARY)
    aws.script("Retrieve", Fault("AccessDeniedException", 403, f"{CANARY} may not"))
    aws.script("Retrieve", found(KEEL, "Another."), to="WELLXXXXXX")
    aws.script("Rerank", Fault("ExpiredTokenException", 403, f"{CANARY} has expired"))
    aws.script("RetrieveMemoryRecords", Fault("ServiceException", 500, f"{CANARY} broke"))
    aws.script("ListEvents", Fault("ThrottledException", 429, f"{CANARY} is throttled"))
    with hindsight.serving() as server, s3.serving() as files, caplog.at_level(logging.INFO):
        server.refusals = [hindsight.Refusal(500, f'{{"detail": "{CANARY}"}}'.encode())] * 9
        files.refusals = [(403, "AccessDenied")] * 9
        files.says = f"{CANARY} may not"
        path = tmp_path / "backends.toml"
        path.write_text(_entries(aws, server.url, files.url))
        async with collecting() as collector:
            monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.target)
            monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
            async with observed(replace(settings, backends=path), SENDING) as site:
                agent, admin = await fill(site), site.caller("acme", admin=True)
                for name in ("broken", "key"):
                    approved = backends_pb2.ApproveToolRequest(backend="harbour", tool=name)
                    await admin.ApproveTool(approved, timeout=60)
                level = admin_pb2.WORKSPACE_LEVEL_TENANT
                await admin.PutWorkspace(admin_pb2.PutWorkspaceRequest(level=level, location="shared"))
                every = [getattr(items_pb2, f"SOURCE_{source.name}") for source in SOURCES]
                patience = [profile_pb2.SourceKnobs(source=source, deadline_ms=WAITS_MS) for source in every]
                patience[every.index(items_pb2.SOURCE_THREAD)].required = False  # its backend fails, too
                question = asking(overrides={"sources": patience})
                assembly = (await traced(site, SAMPLED).AssembleContext(question, timeout=60)).assembly
                receipt = await explained(agent, assembly.receipt_id)
                await collector.wait_for(lambda: bool(collector.named(names.FIT)))
        headers = str([seen[3] for seen in server.seen])
    for source in every:
        assert report(assembly, source).reason, "each of them failed, in part or whole, and says so"
    assert "order: " in report(assembly, items_pb2.SOURCE_KNOWLEDGE).reason
    assert CANARY in headers
    assert len(collector.spans) > 3
    assert CANARY not in f"{assembly}{receipt}{collector.spans}{caplog.text}"
