"""The names of all spans, attributes and metrics.

OpenTelemetry's conventions for generative AI and RPC are still in development, so their names are defined here instead of being
imported from a package that may drop them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SCOPE: Final = "context-sidecar"

ASSEMBLE: Final = "assemble_context"
FIT: Final = "fit_context"
COMPILE: Final = "compile_wiki"
BATCH: Final = "compile_batch"
APPLY: Final = "apply_plan"
SECTION: Final = "write_section"
PLAN: Final = "plan_batch"

RPC_SYSTEM: Final = "rpc.system.name"
RPC_METHOD: Final = "rpc.method"
RPC_STATUS: Final = "rpc.status_code"
HTTP_METHOD: Final = "http.request.method"
HTTP_ROUTE: Final = "http.route"
HTTP_STATUS: Final = "http.response.status_code"
ERROR_TYPE: Final = "error.type"
MESSAGES: Final = "sidecar.stream.messages"

OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
CONVERSATION: Final = "gen_ai.conversation.id"
AGENT: Final = "gen_ai.agent.id"
DATA_SOURCE: Final = "gen_ai.data_source.id"
REQUEST_MODEL: Final = "gen_ai.request.model"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHE_READ_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
CACHE_WRITE_TOKENS: Final = "gen_ai.usage.cache_creation.input_tokens"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
TEMPERATURE: Final = "gen_ai.request.temperature"
RESPONSE_MODEL: Final = "gen_ai.response.model"
PROMPT: Final = "gen_ai.prompt.name"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
USAGE_KIND: Final = "gen_ai.token.type"
QUERY_TEXT: Final = "gen_ai.retrieval.query.text"
DOCUMENTS: Final = "gen_ai.retrieval.documents"

RECEIPT: Final = "sidecar.receipt.id"
PROFILE: Final = "sidecar.profile.version"
DEGRADED: Final = "sidecar.degraded"
WINDOW_TOKENS: Final = "sidecar.window.tokens"
POOL_TOKENS: Final = "sidecar.pool.tokens"
USED_TOKENS: Final = "sidecar.used.tokens"
STABLE_TOKENS: Final = "sidecar.stable_prefix.tokens"
CONTENT_SHA256: Final = "sidecar.content.sha256"
TOKENIZER: Final = "sidecar.tokenizer"
SOURCE: Final = "sidecar.source"
STATUS: Final = "sidecar.source.status"
REASON: Final = "sidecar.source.reason"
ATTEMPTS: Final = "sidecar.source.attempts"
BREAKER_OPEN: Final = "sidecar.source.breaker_open"
CANDIDATES: Final = "sidecar.source.candidates"
INCLUDED: Final = "sidecar.source.included"
SOURCE_TOKENS: Final = "sidecar.source.tokens"
DECISION: Final = "sidecar.decision"
COUNT: Final = "sidecar.count"
JOB: Final = "sidecar.compile.job.id"
JOB_STATUS: Final = "sidecar.compile.status"
TRIGGER: Final = "sidecar.compile.trigger"
JOB_METRIC: Final = "sidecar.compile."
PLANNER_PART: Final = "sidecar.compile.pass"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric: its dotted name, unit, description, and dotted labels. No label names a tenant."""

    name: str
    unit: str
    text: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()

    @property
    def prometheus_labels(self) -> tuple[str, ...]:
        """Return the labels as Prometheus writes them."""
        return tuple(label.replace(".", "_") for label in self.labels)

    @property
    def prometheus_name(self) -> str:
        """Return the name as Prometheus writes it: with underscores, and with the unit as a suffix."""
        unit = {"s": "_seconds", "USD": "_usd", "{token}": "_tokens"}.get(self.unit, "")
        base = self.name.replace(".", "_")
        return base if base.endswith(unit) else base + unit


_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
_RATIOS = (0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 1.0)
_TOKENS = (64.0, 256.0, 1_024.0, 4_096.0, 16_384.0, 65_536.0, 262_144.0, 1_048_576.0)

CALL_DURATION: Final = Metric(
    "rpc.server.call.duration", "s", "How long calls took.", (RPC_METHOD, RPC_STATUS), _SECONDS
)
STREAM_MESSAGES: Final = Metric(
    "sidecar.stream.messages", "", "Messages sent by streams that have ended.", (RPC_METHOD,)
)
TURN_DURATION: Final = Metric("sidecar.assembly.duration", "s", "How long assembling took.", ("degraded",), _SECONDS)
SOURCE_DURATION: Final = Metric(
    "sidecar.source.duration", "s", "How long a source took to answer.", ("source", "status"), _SECONDS
)
SOURCE_TOKENS_USED: Final = Metric(
    "sidecar.source.tokens", "{token}", "Tokens of a source's items, by decision.", ("source", "decision")
)
SOURCE_ITEMS: Final = Metric("sidecar.source.items", "", "Items of a source, by decision.", ("source", "decision"))
FILL_RATIO: Final = Metric("sidecar.budget.fill_ratio", "", "Share of the pool that was used.", (), _RATIOS)
STABLE_PREFIX: Final = Metric(
    "sidecar.stable_prefix.tokens",
    "{token}",
    "Tokens at the start of the context that do not change from turn to turn.",
    (),
    _TOKENS,
)
TURN_CALLS: Final = Metric(
    "sidecar.assembly.calls", "", "Current calls of AssembleContext, by state: running or queued.", ("state",)
)
RECEIPTS_DROPPED: Final = Metric("sidecar.receipts.dropped", "", "Receipts dropped since the start.")
FORGOTTEN: Final = Metric("sidecar.forgotten", "", "Forget requests since the start, by target.", ("target",))
PURGE_WAITING: Final = Metric(
    "sidecar.purge.waiting", "", "Forget requests whose texts the database's files may still hold."
)
AUDIT_DROPPED: Final = Metric("sidecar.audit.dropped", "", "Audit entries dropped since the start.")
SPACES_UNCLAIMED: Final = Metric(
    "sidecar.spaces.unclaimed",
    "",
    "Calls allowed every space since the start, because their token or certificate has no spaces claim.",
)
TASK_RESTARTS: Final = Metric("sidecar.task.restarts", "", "Starts of a long-lived task after it failed.", ("task",))
BREAKER: Final = Metric("sidecar.source.breaker_open", "", "1 while a source's breaker is open.", ("source",))
BACKEND_BREAKER: Final = Metric(
    "sidecar.backend.breaker_open", "", "1 while a configured backend's breaker is open.", ("backend",)
)
EMBEDDER_FAILING: Final = Metric(
    "sidecar.embedder.failing", "", "1 while the configured embedder cannot be used, so that recall uses words alone."
)
COMPILE_JOBS: Final = Metric("sidecar.compile.jobs", "", "Compile jobs in the database, by status.", ("status",))
COMPILE_LAG: Final = Metric("sidecar.compile.lag", "s", "Age of the oldest waiting compile job.")
DECAY_JOBS: Final = Metric("sidecar.decay.jobs", "", "Decay jobs that have ended.", ("kind", "state"))
BRAIN_COPIES: Final = Metric("sidecar.brain.copies", "", "Copies in Brains, by event.", ("event",))
REPROCESS_JOBS: Final = Metric(
    "sidecar.ontology.reprocess.jobs", "", "Reprocess jobs of ontologies that have ended.", ("status",)
)
REPROCESSED_PAGES: Final = Metric(
    "sidecar.ontology.reprocess.pages", "", "Pages that finished reprocess jobs brought to a version of an ontology."
)
JOB_DURATION: Final = Metric(
    "sidecar.compile.duration", "s", "How long compile jobs took.", ("status",), (*_SECONDS, 30.0, 60.0, 300.0, 1800.0)
)
MODEL_TOKENS: Final = Metric(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of a compile's model call, by pass.",
    (OPERATION, PROVIDER, REQUEST_MODEL, USAGE_KIND, PLANNER_PART),
    (1.0, 4.0, 16.0, *_TOKENS[:7]),
)
MODEL_DURATION: Final = Metric(
    "gen_ai.client.operation.duration",
    "s",
    "How long a compile's model calls took.",
    (OPERATION, PROVIDER, REQUEST_MODEL, ERROR_TYPE),
    tuple(0.01 * 2**power for power in range(14)),
)
PLAN_REJECTIONS: Final = Metric("sidecar.compile.plan_rejections", "", "Rejected parts of plans.", ("reason",))
BUDGET_ALERTS: Final = Metric("sidecar.cost.alerts", "", "Spending thresholds crossed.", ("percent",))
