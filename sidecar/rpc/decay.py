"""The decay service: decay jobs, episodes, and the attestations that allow a model to write summaries.

Converts between messages and values; the use cases are in `sidecar.services.aging`.
"""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from compiler.decay.policy import DecayPolicy
from sidecar.rpc.transport.call import Call
from sidecar.rpc.transport.paging import ListCall
from sidecar.rpc.transport.validation import read_time, write_time
from sidecar.runtime.errors import InvalidArgument
from sidecar.services.aging.attestations import Attestations
from sidecar.services.aging.decay import Decay, DecayOrder
from sidecar.services.aging.episodes import Episodes
from sidecar.services.validation import read_uuid
from sidecar.v1 import decay_pb2 as pb
from store.compile.attestations import Attestation
from store.compile.decay_jobs import DecayJob, DecayKind, SummaryMethod
from store.content.episodes import Episode

SERVICE = pb.DESCRIPTOR.services_by_name["DecayService"]

_KINDS = {kind.value: kind for kind in DecayKind}
_METHODS = {method.value: method for method in (SummaryMethod.DETERMINISTIC, SummaryMethod.LLM)}


class DecayService:
    """Compresses aged memories, makes episodes, and manages attestations."""

    def __init__(self, decay: Decay, episodes: Episodes, attestations: Attestations) -> None:
        self._decay = decay
        self._episodes = episodes
        self._attestations = attestations

    async def explain_decay(self, request: pb.ExplainDecayRequest, call: Call) -> pb.ExplainDecayResponse:
        """Return the groups of candidates that a policy would compress, and the savings."""
        groups = await self._decay.explain(call.scope(request), self._policy(request))
        written = [
            pb.DecayGroup(memory_ids=one.source_ids, saved_bytes=one.saved_bytes, source_bytes=one.source_bytes)
            for one in groups
        ]
        return pb.ExplainDecayResponse(groups=written)

    async def schedule_decay(self, request: pb.ScheduleDecayRequest, call: Call) -> pb.ScheduleDecayResponse:
        """Queue a job for the given sources, or one for each group of candidates that a policy would compress."""
        if request.kind and request.kind not in _KINDS:
            raise InvalidArgument("kind", f"is {request.kind[:40]!r}", f"send one of {', '.join(_KINDS)}")
        method = request.summary_method or SummaryMethod.DETERMINISTIC.value
        if method not in _METHODS:
            raise InvalidArgument("summary_method", f"is {method[:40]!r}", f"send one of {', '.join(_METHODS)}")
        if request.source_ids and not request.kind:
            raise InvalidArgument("kind", "is missing", "send the kind of job for source_ids, or leave them out")
        order = DecayOrder(
            self._policy(request),
            _KINDS.get(request.kind),
            _METHODS[method],
            tuple(request.source_ids),
            read_time("schedule_time", request.schedule_time) if request.HasField("schedule_time") else None,
        )
        jobs = await self._decay.schedule(call.scope(request), order)
        return pb.ScheduleDecayResponse(jobs=map(_write_job, jobs))

    async def run_decay(self, request: pb.RunDecayRequest, call: Call) -> pb.RunDecayResponse:
        """Run a decay job. Raises NotFound for an unknown job, FailedPrecondition for a job that only a worker runs."""
        job_id = read_uuid("job_id", request.job_id) if request.job_id else None
        job = await self._decay.run(call.scope(request), job_id)
        return pb.RunDecayResponse(job=None if job is None else _write_job(job))

    async def cancel_decay(self, request: pb.CancelDecayRequest, call: Call) -> pb.CancelDecayResponse:
        """Cancel a decay job that has not started. Raises NotFound or FailedPrecondition."""
        job = await self._decay.cancel(call.scope(request), read_uuid("job_id", request.job_id))
        return pb.CancelDecayResponse(job=_write_job(job))

    async def list_decay_jobs(self, request: pb.ListDecayJobsRequest, call: Call) -> pb.ListDecayJobsResponse:
        """Return a page of the owner's decay jobs, newest first."""
        scope = call.scope(request)
        listing = ListCall("ListDecayJobs", (str(scope.tenant_id), str(scope.owner_id)), (datetime, UUID))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._decay.page(scope, limit=page.limit, **page.starting("before"))
        written, token = listing.cut(rows, page, lambda job: (job.created_at, job.job_id), _write_job)
        return pb.ListDecayJobsResponse(jobs=written, next_page_token=token)

    async def list_episodes(self, request: pb.ListEpisodesRequest, call: Call) -> pb.ListEpisodesResponse:
        """Return a page of the owner's episodes, newest first."""
        scope, thread_id = call.scope(request), request.thread_id
        listing = ListCall("ListEpisodes", (str(scope.tenant_id), str(scope.owner_id), thread_id), (datetime, str))
        page = listing.read(request.page_size, request.page_token)
        rows = await self._episodes.page(scope, thread_id=thread_id, limit=page.limit, **page.starting("before"))
        written, token = listing.cut(rows, page, lambda one: (one.ended_at, one.episode_id), _write_episode)
        return pb.ListEpisodesResponse(episodes=written, next_page_token=token)

    async def close_episode(self, request: pb.CloseEpisodeRequest, call: Call) -> pb.CloseEpisodeResponse:
        """Close a thread's episode now. Raises NotFound for an unknown thread."""
        episode = await self._episodes.close(call.scope(request), request.thread_id)
        return pb.CloseEpisodeResponse(episode=None if episode is None else _write_episode(episode))

    async def add_attestation(self, request: pb.AddAttestationRequest, call: Call) -> pb.AddAttestationResponse:
        """Add an operator's attestation. Raises InvalidArgument if it is not signed or not valid now."""
        tenant_id = call.admin_tenant(request)
        added = await self._attestations.add(tenant_id, request.envelope, request.signature)
        return pb.AddAttestationResponse(attestation=_write_attestation(added))

    async def revoke_attestation(
        self, request: pb.RevokeAttestationRequest, call: Call
    ) -> pb.RevokeAttestationResponse:
        """Revoke an attestation. Raises NotFound."""
        tenant_id = call.admin_tenant(request)
        revoked = await self._attestations.revoke(tenant_id, read_uuid("attestation_id", request.attestation_id))
        return pb.RevokeAttestationResponse(attestation=_write_attestation(revoked))

    async def list_attestations(self, request: pb.ListAttestationsRequest, call: Call) -> pb.ListAttestationsResponse:
        """Return a tenant's attestations, newest first."""
        attestations = await self._attestations.of_tenant(call.admin_tenant(request))
        return pb.ListAttestationsResponse(attestations=map(_write_attestation, attestations))

    def _policy(self, request: pb.ExplainDecayRequest | pb.ScheduleDecayRequest) -> DecayPolicy:
        defaults = self._decay.policy
        return DecayPolicy(
            age_days=request.age_days if request.HasField("age_days") else defaults.age_days,
            most_sources=request.most_sources or defaults.most_sources,
            most_salience=request.most_salience if request.HasField("most_salience") else defaults.most_salience,
            most_reads=request.most_reads if request.HasField("most_reads") else defaults.most_reads,
            most_share=request.most_share if request.HasField("most_share") else defaults.most_share,
            read_days=request.read_days if request.HasField("read_days") else defaults.read_days,
        )


def _write_job(job: DecayJob) -> pb.DecayJob:
    return pb.DecayJob(
        job_id=str(job.job_id),
        kind=job.kind,
        summary_method=job.summary_method,
        source_ids=job.source_ids,
        state=job.state,
        schedule_time=write_time(job.scheduled_for),
        create_time=write_time(job.created_at),
        end_time=write_time(job.ended_at) if job.ended_at else None,
        result_id=job.result_id,
        failure=job.failure,
        expired=[
            pb.ExpiredPrinciple(
                memory_id=one["memory_id"], expire_time=write_time(datetime.fromisoformat(one["expired_at"]))
            )
            for one in job.findings
        ],
    )


def _write_episode(episode: Episode) -> pb.Episode:
    return pb.Episode(
        episode_id=episode.episode_id,
        thread_id=episode.thread_id,
        text=episode.text,
        turn_ids=episode.turn_ids,
        start_time=write_time(episode.started_at),
        end_time=write_time(episode.ended_at),
        create_time=write_time(episode.created_at),
        update_time=write_time(episode.updated_at),
        summary_id=episode.summary_id,
    )


def _write_attestation(attestation: Attestation) -> pb.Attestation:
    revoked_at = attestation.revoked_at
    return pb.Attestation(
        attestation_id=str(attestation.attestation_id),
        model_id=attestation.model_id,
        prompt_hash=attestation.prompt_hash,
        key_id=attestation.key_id,
        issue_time=write_time(attestation.issued_at),
        expire_time=write_time(attestation.expires_at),
        revoke_time=write_time(revoked_at) if revoked_at else None,
    )
