"""Wikis compiled from memories that stand elsewhere: a notice, a job, pages that name those memories, a turn that reads them."""

from __future__ import annotations

import hmac
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from compiler.errors import MemoriesUnavailable
from compiler.job.reconciliation import Reconciled, reconcile
from sidecar.http.webhooks import SIGNATURE
from sidecar.runtime.settings import Settings
from sidecar.v1 import backends_pb2, compile_pb2, context_pb2, items_pb2, memory_pb2, wiki_pb2
from sidecar.worker import compile_engine
from store.scope import Scope, owner_uuid, tenant_uuid
from tests.stand_ins import hindsight
from tests.stand_ins.aws import Aws, Fault, Reply
from tests.stand_ins.hindsight import FakeHindsight, Refusal
from tests.support.backends.aws_site import stand_in
from tests.support.served.site import Site, served
from tests.support.served.turns import asking, assembled
from tests.support.served.wiki_site import WikiCaller, worked

MARA = Scope(tenant_uuid("acme"), owner_uuid("mara"))
BANK = str(MARA.owner_id)
TEXTS = (
    "Renee Castellano waited for two hours at Franklin Barbecue.",
    "Renee Castellano went back to Franklin Barbecue on a Friday.",
    "Dale Whitaker paid 54 dollars at Franklin Barbecue.",
)


@pytest.fixture(name="aws")
def _aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    yield from stand_in(monkeypatch)


@pytest.fixture
def bank() -> Iterator[FakeHindsight]:
    """Serve a Hindsight."""
    with hindsight.serving() as one:
        yield one


@asynccontextmanager
async def reading(settings: Settings, folder: Path, entry: str) -> AsyncIterator[Site]:
    """Yield a sidecar whose tenant's wikis are compiled from a backend."""
    path = folder / "backends.toml"
    path.write_text(f'{entry}\nname = "elsewhere"\ntenant = "acme"\ncompile = true\ndeadline_s = 50\nhedge = false\n')
    async with served(replace(settings, backends=path, http_listen="127.0.0.1:0")) as site:
        yield site


def of_hindsight(bank: FakeHindsight) -> str:
    return f'[[hindsight]]\nurl = "{bank.url}"\ncompile_lag_s = 0'


def of_agentcore(aws: Aws) -> str:
    return f'[[agentcore]]\nmemory_id = "acme_memory-ABCDEFGHIJ"\nregion = "eu-central-1"\nendpoint_url = "{aws.url}"'


def told(**texts: str) -> Reply:
    """Return what AgentCore lists: these records, by name."""
    return Reply(
        {
            "memoryRecordSummaries": [
                {
                    "memoryRecordId": f"mem-{name:0>36}",
                    "content": {"text": text},
                    "memoryStrategyId": "semantic-1",
                    "namespaces": [f"/actors/{BANK}"],
                    "createdAt": datetime(2026, 5, 1, 12, number, tzinfo=UTC),
                }
                for number, (name, text) in enumerate(texts.items())
            ]
        }
    )


async def sources_of(site: Site) -> dict[str, str]:
    """Return the text of every section of the owner's wiki, with the memories it cites."""
    agent, found = WikiCaller(site, "acme", "mara"), dict[str, str]()
    for one in (await agent.ListPages(wiki_pb2.ListPagesRequest())).pages:
        page = await agent.GetPage(wiki_pb2.GetPageRequest(page=one.page_id))
        for section in page.sections:
            assert all(source.is_there and source.is_current for source in section.sources)
            found |= {source.memory_id: section.body_md for source in section.sources}
    return found


async def swept(site: Site) -> Reconciled:
    async with compile_engine.engine(site.settings, site.app.pools.background) as engine:
        return await reconcile(engine, site.app.pools.background, MARA)


async def wiki_items(site: Site) -> str:
    """Return what a turn is told from the wiki."""
    patient = {"source": items_pb2.SOURCE_WIKI, "deadline_ms": 50_000}
    question = asking("Who waited at Franklin Barbecue?", thread_id="", overrides={"sources": [patient]})
    assembly = await assembled(site.caller(), question, timeout=60)
    return "".join(block.text for block in assembly.system_blocks if 'source="wiki"' in block.text)


async def notified(site: Site) -> int:
    """Send a signed notice of Hindsight's, and return how it was answered."""
    admin = site.caller("acme", admin=True)
    made = await admin.CreateWebhook(backends_pb2.CreateWebhookRequest(backend="elsewhere", owner_id="mara"))
    at, body = str(int(datetime.now(UTC).timestamp())), b'{"event": "retain.completed"}'
    mac = hmac.new(made.secret.encode(), f"{at}.".encode() + body, sha256).hexdigest()
    async with httpx.AsyncClient(base_url=f"http://{site.app.http_address}", timeout=60) as client:
        answer = await client.post(made.path, content=body, headers={SIGNATURE: f"t={at},v1={mac}"})
    return answer.status_code


async def test_hindsights_memories_become_pages_that_a_turn_reads(
    settings: Settings, tmp_path: Path, bank: FakeHindsight
) -> None:
    bank.retain(BANK, [{"content": text, "document_id": f"d{at}"} for at, text in enumerate(TEXTS)])
    async with reading(settings, tmp_path, of_hindsight(bank)) as site:
        assert await notified(site) == 202
        assert await worked(site) >= 1
        cited = await sources_of(site)
        assert any("waited for two hours" in body for body in cited.values())
        assert len(cited) == 3
        assert "waited for two hours" in await wiki_items(site)
        kept = await WikiCaller(site, "acme", "mara").Retain(
            memory_pb2.RetainRequest(memories=[memory_pb2.NewMemory(text="Kept here.")])
        )
        assert kept.compile_outcome == context_pb2.NOTIFY_OUTCOME_SKIPPED_ADAPTER
        assert await worked(site) == 0


async def test_edits_deletions_and_new_ids_in_hindsight_are_followed(
    settings: Settings, tmp_path: Path, bank: FakeHindsight
) -> None:
    bank.retain(BANK, [{"content": text, "document_id": f"d{at}"} for at, text in enumerate(TEXTS)])
    async with reading(settings, tmp_path, of_hindsight(bank)) as site:
        agent = site.caller()
        await agent.NotifyRetained(context_pb2.NotifyRetainedRequest())
        await worked(site)
        before = await sources_of(site)
        bank.retain(BANK, [{"content": TEXTS[0], "document_id": "d0"}])  # under a new id, with the same words
        assert await swept(site) == Reconciled()
        edited = TEXTS[1].replace("on a Friday", "on a Sunday with an accordion")
        bank.retain(BANK, [{"content": edited, "document_id": "d1"}])
        bank.units[BANK] = [unit for unit in bank.units[BANK] if unit["document_id"] != "d2"]
        found = await swept(site)
        assert (found.gone, found.missed) == (2, 1)
        await worked(site)
        after = await sources_of(site)
    assert len(before) == 3
    assert len(after) == 2
    assert any("accordion" in body for body in after.values())
    assert not any("on a Friday" in body or "54 dollars" in body for body in after.values())


async def test_unreachable_service_makes_the_job_wait_and_loses_nothing(
    settings: Settings, tmp_path: Path, bank: FakeHindsight
) -> None:
    bank.retain(BANK, [{"content": text, "document_id": f"d{at}"} for at, text in enumerate(TEXTS)])
    bank.refusals += [Refusal(401)]
    async with reading(settings, tmp_path, of_hindsight(bank)) as site:
        admin = WikiCaller(site, "acme", admin=True)
        asked = await admin.CompileNow(compile_pb2.CompileNowRequest(owner_id="mara"))
        await worked(site)
        job = (await admin.GetJob(compile_pb2.GetJobRequest(owner_id="mara", job_id=asked.job.job_id))).job
    assert job.status == compile_pb2.JOB_STATUS_PENDING
    assert "MemoriesUnavailable" in job.error
    assert job.attempt == 0


async def test_agentcores_records_become_pages_and_their_edits_are_followed(
    settings: Settings, tmp_path: Path, aws: Aws
) -> None:
    aws.script("ListMemoryRecords", told(a=TEXTS[0], b=TEXTS[1], c=TEXTS[2]))
    aws.script("RetrieveMemoryRecords", Reply({"memoryRecordSummaries": []}))
    async with reading(settings, tmp_path, of_agentcore(aws)) as site:
        agent = site.caller()
        answer = await agent.NotifyRetained(context_pb2.NotifyRetainedRequest())
        assert answer.outcome == context_pb2.NOTIFY_OUTCOME_ENQUEUED
        assert await worked(site) == 1, "read in full, nothing is left to wait for"
        before = await sources_of(site)
        assert "waited for two hours" in await wiki_items(site)
        aws.script("ListMemoryRecords", told(a=TEXTS[0].replace("two hours", "a whole day"), b=TEXTS[1], x=TEXTS[2]))
        await agent.NotifyRetained(context_pb2.NotifyRetainedRequest())
        await worked(site)
        found = await swept(site)
        await worked(site)
        after = await sources_of(site)
        aws.script("ListMemoryRecords", Fault("ThrottledException", 429))
        with pytest.raises(MemoriesUnavailable, match="limits our calls"):
            await swept(site)
        assert await sources_of(site) == after
    assert {one[-1] for one in before} == {"a", "b", "c"}
    assert (found.gone, found.renamed) == (1, 0)
    assert {one[-1] for one in after} == {"a", "b", "x"}
    assert any("a whole day" in body for body in after.values())
    assert not any("two hours" in body for body in after.values())
