"""Limits and costs of a compile: values with their defaults. Nothing here reads the environment."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.language.language import DEFAULT_MODEL_ID


@dataclass(frozen=True, slots=True)
class Caps:
    """Caps at which a job stops; its successor continues from there.

    `max_aggregation_pages` applies when a model is paid, `max_free_aggregation_pages` when the aggregation costs
    nothing.
    """

    record_page_size: int = 50
    max_records_per_job: int = 500
    max_records_per_bootstrap_job: int = 1000
    max_new_pages_per_job: int = 25
    max_sections_rewritten_per_job: int = 100
    max_aggregation_pages: int = 60
    max_free_aggregation_pages: int = 1_000


@dataclass(frozen=True, slots=True)
class Flags:
    """Flags from the environment; a tenant's own flags override them.

    `unread_pause_s`: minimum seconds between compiles of a wiki that no turn has read in that time. 0 disables.
    """

    aggregation_pass_enabled: bool = True
    deterministic_linking_enabled: bool = True
    unread_pause_s: int = 0


@dataclass(frozen=True, slots=True)
class Costs:
    """Ceilings in US dollars, checked before each call; None means no ceiling. Output caps in tokens, deadlines in seconds."""

    per_job_usd: float | None = 5.0
    per_tenant_day_usd: float | None = 50.0
    planner_output_tokens: int = 24_000
    section_output_tokens: int = 2_000
    call_deadline_s: float = 240.0
    writers_at_once: int = 8


@dataclass(frozen=True, slots=True)
class Sight:
    """Limits of the part of the wiki that a batch is shown, and the most characters of memories in one prompt.

    `likeness` and `nearness` are the least trigram and vector similarity (0 to 1) of candidate pages. With `has_outlines`, an
    aggregation without a model is shown those changed pages without their texts that cannot change a hub.
    """

    candidate_budget_tokens: int = 12_000
    max_candidates: int = 80
    max_mentions: int = 60
    top_hubs: int = 10
    likeness: float = 0.4
    nearness: float = 0.5
    max_memory_chars: int = 120_000
    has_outlines: bool = True


WHOLE_SIGHT = Sight(candidate_budget_tokens=10_000_000, max_candidates=2_000, max_mentions=20_000)


@dataclass(frozen=True, slots=True)
class Patience:
    """Retries, crashes, and the limits of a reconciliation that no operator confirmed.

    With `extractive_takes_over`, a job whose model fails is finished by the extractive planner. After
    `crashes_before_single_memory` crashes a batch is one memory, and after `crashes_before_quarantine` that one is set aside.
    """

    max_attempts: int = 5
    retry_delay_s: float = 30.0
    throttled_delay_s: float = 60.0
    failing_delay_s: float = 60.0
    longest_failing_delay_s: float = 3_600.0
    extractive_takes_over: bool = False
    crashes_before_single_memory: int = 3
    crashes_before_quarantine: int = 5
    largest_unconfirmed_archive_share: float = 0.2
    largest_unconfirmed_archive_pages: int = 10


@dataclass(frozen=True, slots=True)
class CompileSettings:
    """All settings of a compile. `model_id` is the default model."""

    caps: Caps = field(default_factory=Caps)
    flags: Flags = field(default_factory=Flags)
    costs: Costs = field(default_factory=Costs)
    sight: Sight = field(default_factory=Sight)
    patience: Patience = field(default_factory=Patience)
    model_id: str = DEFAULT_MODEL_ID
