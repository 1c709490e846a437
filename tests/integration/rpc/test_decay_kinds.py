"""Decay jobs of every kind and method: reviews, policies by age, salience and reads, and summaries that a model writes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from compiler.decay.model_summary import PROMPT_HASH
from compiler.decay.policy import DecayPolicy
from compiler.job.worker import Handler
from models.language.language import DEFAULT_MODEL_ID
from sidecar.rpc.decay import DecayService
from sidecar.runtime.errors import FailedPrecondition, NotFound, SettingInvalid
from sidecar.runtime.settings import Settings
from sidecar.services.aging.attestations import Attestations, attestation_envelope, read_operator_keys
from sidecar.services.aging.decay import KIND, Decay, decay_policy
from sidecar.services.aging.episodes import Episodes
from sidecar.services.memories import Memories
from sidecar.v1 import decay_pb2 as pb
from sidecar.worker.decay_work import decay_deps, run_due_jobs
from store.accounting import receipts
from store.accounting.receipts import NewReceipt
from store.content.memories import NewMemory
from store.content.tiers import MemoryStatus
from store.db.postgres import Pools, scoped
from store.scope import Scope
from tests.stand_ins.model_script import Ask, Refuse, Say
from tests.stand_ins.model_server import ModelServer, model_server
from tests.support.backends.aws_site import CANARY
from tests.support.compiler.compiling import Clock, engine_on, fetch, worker_on
from tests.support.rpc.service_calls import NOW, an_admin, an_agent, refused, refused_field

OWNER = an_agent().identity
SCOPE = Scope(OWNER.tenant_id, next(iter(OWNER.owner_ids or ())))
LATER = NOW + timedelta(days=100)
DAY = timedelta(days=1)


class Operator:
    """An operator with a key, whose public half the settings name."""

    def __init__(self, folder: Path) -> None:
        self.key = Ed25519PrivateKey.generate()
        public = folder / f"{uuid4()}.pem"
        public.write_bytes(self.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        self.files = (str(public),)

    def signed(
        self,
        *,
        tenant_id: UUID = SCOPE.tenant_id,
        model_id: str = DEFAULT_MODEL_ID,
        prompt_hash: str = PROMPT_HASH,
        days: int = 30,
    ) -> pb.AddAttestationRequest:
        envelope = attestation_envelope(
            str(tenant_id), model_id, prompt_hash, issued_at=LATER, expires_at=LATER + days * DAY
        )
        return pb.AddAttestationRequest(envelope=envelope, signature=self.key.sign(envelope))


@pytest.fixture
def clock() -> Clock:
    return Clock(LATER)


@pytest.fixture
def operator(tmp_path: Path) -> Operator:
    return Operator(tmp_path)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """A model that keeps the first three words of each claim."""
    with model_server() as one:
        one.by_request = lambda ask: Say({"claims": [shorter(number, claim) for number, claim in shown(ask)]})
        yield one


def shown(ask: Ask) -> list[tuple[int, str]]:
    return [(one["number"], one["claim"]) for one in json.loads(ask.user)["claims"]]


def shorter(number: int, claim: str) -> dict[str, object]:
    return {"number": number, "claim": " ".join(claim.split()[:3])}


@pytest.fixture
def settings(operator: Operator, server: ModelServer) -> Settings:
    return Settings(
        Path("/nonexistent"),
        decay_summaries="openai",
        decay_attestation_keys=operator.files,
        compile_base_url=f"{server.url}/v1",
        compile_api_key=CANARY,
    )


@pytest.fixture
def service(pools: Pools, clock: Clock, settings: Settings) -> DecayService:
    return service_of(pools, clock, settings)


def service_of(pools: Pools, clock: Clock, settings: Settings) -> DecayService:
    attestations = Attestations.of_settings(settings, pools.background, now=clock)
    decay = Decay(pools, now=clock, attestations=attestations, policy=decay_policy(settings))
    return DecayService(decay, Episodes(pools.background, now=clock, pause=timedelta(minutes=30)), attestations)


async def remember(pools: Pools, *ids: str, **how: object) -> None:
    fields = {"status": MemoryStatus.CANDIDATE, "occurred_at": NOW} | how
    new = [NewMemory(f"Memory {one} was about the old boat.", one, **fields) for one in ids]  # type: ignore[arg-type]
    await Memories(pools, now=lambda: NOW).retain(SCOPE, new)


async def schedule(service: DecayService, **request: object) -> list[pb.DecayJob]:
    answer = await service.schedule_decay(pb.ScheduleDecayRequest(**{"most_share": 100} | request), an_agent())  # type: ignore[arg-type]
    return list(answer.jobs)


async def listed(service: DecayService) -> list[pb.DecayJob]:
    return list((await service.list_decay_jobs(pb.ListDecayJobsRequest(), an_agent())).jobs)


async def ran(pools: Pools, clock: Clock, settings: Settings) -> None:
    """Let a worker do what is due."""
    async with worker_deps(pools, clock, settings) as handle:
        worker = worker_on(pools, engine_on(pools, clock=clock))
        worker.handlers = {KIND: handle}
        await worker.drain_scope(SCOPE)


@asynccontextmanager
async def worker_deps(pools: Pools, clock: Clock, settings: Settings) -> AsyncIterator[Handler]:
    async with decay_deps(settings, pools.background, now=clock) as deps:

        async def handle(scope: Scope, subject: str) -> None:
            await run_due_jobs(deps, scope, subject)

        yield handle


async def attested(service: DecayService, operator: Operator) -> pb.Attestation:
    return (await service.add_attestation(operator.signed(), an_admin())).attestation


async def test_review_lists_expired_principles_with_dates_and_changes_nothing(
    service: DecayService, pools: Pools, clock: Clock, settings: Settings, database: str
) -> None:
    accepted = {"status": MemoryStatus.ACCEPTED, "memory_type": "principle"}
    await remember(pools, "old", "older", **accepted)
    await remember(pools, "young", **{**accepted, "occurred_at": NOW + 300 * DAY})
    await remember(pools, "candidate", memory_type="principle")
    await remember(pools, "fact", status=MemoryStatus.ACCEPTED)
    before = await fetch(database, "SELECT memory_id, status, change_seq FROM memories ORDER BY 1")
    clock.now = NOW + 400 * DAY
    [job] = await schedule(service, kind="expired_principle_review")
    await ran(pools, clock, settings)
    [done] = await listed(service)
    assert (done.job_id, done.state, done.summary_method, done.result_id) == (job.job_id, "completed", "none", "")
    found = [(one.memory_id, one.expire_time.ToDatetime()) for one in done.expired]
    assert found == [(one, (NOW + 365 * DAY).replace(tzinfo=None)) for one in ("old", "older")]
    assert await fetch(database, "SELECT memory_id, status, change_seq FROM memories ORDER BY 1") == before
    clock.now += DAY
    await schedule(service, kind="expired_principle_review", source_ids=["older", "fact"])
    await ran(pools, clock, settings)
    assert [[one.memory_id for one in job.expired] for job in await listed(service)] == [["older"], ["old", "older"]]


async def test_worker_runs_jobs_when_they_are_due_and_not_before(
    service: DecayService, pools: Pools, clock: Clock, settings: Settings
) -> None:
    await remember(pools, "a", "b")
    request = pb.ScheduleDecayRequest(most_share=100)
    request.schedule_time.FromDatetime(LATER + DAY)
    [job] = (await service.schedule_decay(request, an_agent())).jobs
    await ran(pools, clock, settings)
    assert [one.state for one in await listed(service)] == ["pending"]
    clock.now = LATER + DAY
    await ran(pools, clock, settings)
    [done] = await listed(service)
    assert (done.job_id, done.state) == (job.job_id, "completed")
    await ran(pools, clock, settings)
    assert await listed(service) == [done]


async def test_policy_spares_young_read_salient_or_pinned_and_freezes_inputs(
    service: DecayService, pools: Pools, database: str
) -> None:
    await remember(pools, "a", "b", "read")
    await remember(pools, "young", occurred_at=LATER - DAY)
    await remember(pools, "pinned", is_pinned=True)
    telling = NewMemory(
        "Ann, Ben, Cleo and Dan met in Lisbon on 4 May 2021.", "telling", NOW, status=MemoryStatus.CANDIDATE
    )
    await Memories(pools, now=lambda: NOW).retain(SCOPE, [telling])
    await read(pools, "read", "kept")
    await read(pools, "a", "below_worth")
    asked = {"most_salience": 8, "most_reads": 0, "age_days": 30, "most_share": 100}
    groups = (await service.explain_decay(pb.ExplainDecayRequest(**asked), an_agent())).groups  # type: ignore[arg-type]
    assert [list(one.memory_ids) for one in groups] == [["a", "b"]]
    assert groups[0].source_bytes == 2 * len("Memory a was about the old boat.")
    assert await listed(service) == []
    [job] = await schedule(service, **asked)
    [(policy,)] = await fetch(database, "SELECT policy FROM decay_jobs")
    frozen = policy if isinstance(policy, dict) else json.loads(policy)
    assert {name: frozen[name] for name in asked} == asked
    assert [(one["memory_id"], one["reads"], one["occurred_on"]) for one in frozen["inputs"]] == [
        ("a", 0, "2026-03-01"),
        ("b", 0, "2026-03-01"),
    ]
    await read(pools, "b", "kept")
    assert [list(one.source_ids) for one in await listed(service)] == [["a", "b"]]
    assert (await service.run_decay(pb.RunDecayRequest(job_id=job.job_id), an_agent())).job.state == "completed"


async def read(pools: Pools, memory_id: str, decision: str) -> None:
    """Write a receipt of a turn in whose context the memory stood, or did not."""
    item = {"id": f"memory:{memory_id}", "decision": decision}
    details = {"sources": [{"source": "memory", "items": [item]}, {"source": "wiki", "items": [item]}]}
    async with scoped(pools.background, SCOPE) as connection:
        receipt = NewReceipt(SCOPE, uuid4(), "planner", "t", "gpt-4o", False, 1.0, details, {}, LATER - DAY)
        await receipts.insert(connection, [receipt])


@pytest.mark.parametrize(
    "field", ["age_days", "most_sources", "most_salience", "most_reads", "read_days", "most_share"]
)
def test_policy_of_the_settings_is_bounded(field: str) -> None:
    with pytest.raises(SettingInvalid, match=f"SIDECAR_DECAY_{field.upper()}"):
        decay_policy(Settings(Path("/"), **{f"decay_{field}": 1_000_001 if field != "most_sources" else 1}))  # type: ignore[arg-type]
    assert decay_policy(Settings(Path("/"))) == DecayPolicy()


async def test_orders_out_of_bounds_are_refused(service: DecayService) -> None:
    assert await refused_field(schedule(service, kind="x")) == "kind"
    assert await refused_field(schedule(service, source_ids=["a", "b"])) == "kind"
    assert await refused_field(schedule(service, summary_method="x")) == "summary_method"
    assert await refused_field(schedule(service, kind="candidate_compression", source_ids=["a", "a"])) == "source_ids"
    assert await refused_field(schedule(service, most_reads=-1)) == "most_reads"


async def test_attested_model_writes_the_summary_and_the_job_says_so(
    service: DecayService, pools: Pools, clock: Clock, settings: Settings, operator: Operator
) -> None:
    await remember(pools, "a", "b")
    await attested(service, operator)
    [job] = await schedule(service, summary_method="llm_summary")
    with pytest.raises(FailedPrecondition, match="worker"):
        await service.run_decay(pb.RunDecayRequest(job_id=job.job_id), an_agent())
    await ran(pools, clock, settings)
    [done] = await listed(service)
    assert (done.state, done.summary_method, done.failure) == ("completed", "llm_summary", "")
    made = await Memories(pools, now=clock).get(SCOPE, done.result_id)
    assert made.text == "Memory a was\nMemory b was"
    assert (made.memory_type, made.status, made.authority) == ("summary", "candidate", "Agent")
    assert made.source_events == ("a", "b")


async def test_summary_of_a_model_is_refused_without_an_attestation_for_it(
    service: DecayService, pools: Pools, clock: Clock, operator: Operator, settings: Settings, database: str
) -> None:
    await remember(pools, "a", "b")
    for request in (None, operator.signed(model_id="another"), operator.signed(prompt_hash="0" * 64)):
        if request is not None:
            await service.add_attestation(request, an_admin())
        error = await refused(schedule(service, summary_method="llm_summary"))
        assert "none was added for this model and prompt" in str(error)
    without = service_of(pools, clock, replace(settings, decay_summaries="extractive"))
    assert "no model is set" in str(await refused(schedule(without, summary_method="llm_summary")))
    assert await listed(service) == []
    assert await fetch(database, "SELECT count(*) FROM memories WHERE memory_type = 'summary'") == [(0,)]


@pytest.mark.parametrize("end", ["expired", "revoked", "key withdrawn", "no model", "tampered"])
async def test_expired_attestation_fails_the_job_without_concatenation(
    service: DecayService,
    pools: Pools,
    clock: Clock,
    settings: Settings,
    operator: Operator,
    server: ModelServer,
    database: str,
    end: str,
) -> None:
    await remember(pools, "a", "b")
    added = await attested(service, operator)
    await schedule(service, summary_method="llm_summary")
    if end == "expired":
        clock.now += 31 * DAY
    elif end == "revoked":
        revoked = pb.RevokeAttestationRequest(attestation_id=added.attestation_id)
        answer = await service.revoke_attestation(revoked, an_admin())
        assert answer.attestation.HasField("revoke_time")
        assert await service.revoke_attestation(revoked, an_admin()) == answer
        again = await service.add_attestation(operator.signed(), an_admin())
        assert again.attestation.HasField("revoke_time"), "adding it again brings it back"
    elif end == "key withdrawn":
        settings = replace(settings, decay_attestation_keys=())
    elif end == "no model":
        settings = replace(settings, decay_summaries="extractive")
    else:
        statement = "UPDATE decay_attestations SET expires_at = '2999-01-01 00:00:00+00'"
        await fetch(database, statement)
    await ran(pools, clock, settings)
    [done] = await listed(service)
    reason = {
        "key withdrawn": "none of the operators' keys",
        "no model": "no model is configured",
        "tampered": "differs from",
    }
    assert (done.state, done.result_id) == ("failed", "")
    assert reason.get(end, end) in done.failure
    assert server.asks == []
    memories = await Memories(pools, now=clock).page(SCOPE, limit=9, most_bytes=9999)
    assert {one.memory_id for one in memories} == {"a", "b"}


async def test_model_that_drops_a_source_or_fails_writes_nothing(
    service: DecayService, pools: Pools, clock: Clock, settings: Settings, operator: Operator, server: ModelServer
) -> None:
    await remember(pools, "a", "b")
    await attested(service, operator)
    answers = {
        "left out": Say({"claims": [{"number": 1, "claim": "Memory a"}]}),
        "longer": Say({"claims": [{"number": 1, "claim": "Memory a"}, {"number": 2, "claim": "Memory b " * 9}]}),
        "the model failed": Refuse(400),
    }
    for answer in answers.values():
        server.by_request = lambda ask, answer=answer: answer  # type: ignore[misc]
        await schedule(service, summary_method="llm_summary")
        await ran(pools, clock, settings)
        clock.now += timedelta(seconds=1)
    failures = [one.failure for one in await listed(service)][::-1]
    assert all(reason in failure for reason, failure in zip(answers, failures, strict=True)), failures
    memories = await Memories(pools, now=clock).page(SCOPE, limit=9, most_bytes=9999)
    assert {one.memory_id for one in memories} == {"a", "b"}


async def test_attestations_that_are_not_an_operators_word_now_are_not_added(
    service: DecayService, operator: Operator, tmp_path: Path, clock: Clock
) -> None:
    good = operator.signed()
    stranger = Operator(tmp_path).signed()
    cut = pb.AddAttestationRequest(
        envelope=good.envelope, signature=bytes([good.signature[0] ^ 1]) + good.signature[1:]
    )
    no_json = pb.AddAttestationRequest(envelope=b"{", signature=operator.key.sign(b"{"))
    for request, field in (
        (stranger, "signature"),
        (cut, "signature"),
        (no_json, "envelope"),
        (operator.signed(tenant_id=uuid4()), "envelope"),
        (operator.signed(days=0), "envelope"),
    ):
        assert await refused_field(service.add_attestation(request, an_admin())) == field
    assert type(await refused(service.add_attestation(good, an_agent()))).__name__ == "AdminRequired"
    unknown = pb.RevokeAttestationRequest(attestation_id=str(uuid4()))
    assert isinstance(await refused(service.revoke_attestation(unknown, an_admin())), NotFound)
    added = await attested(service, operator)
    assert await attested(service, operator) == added
    [one] = (await service.list_attestations(pb.ListAttestationsRequest(), an_admin())).attestations
    assert (one, one.model_id, one.prompt_hash) == (added, DEFAULT_MODEL_ID, PROMPT_HASH)


def test_key_files_that_are_no_ed25519_public_keys_are_named(tmp_path: Path) -> None:
    file = tmp_path / "key.pem"
    file.write_text("-----BEGIN PUBLIC KEY-----")
    for name in (str(file), "/nonexistent.pem"):
        with pytest.raises(SettingInvalid, match=name):
            read_operator_keys((name,))
