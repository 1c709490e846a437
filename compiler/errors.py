"""The errors that end a compile.

CompileError
├── LeaseLost               another worker holds the scope
├── PlanSuperseded          the wiki was written since the plan was made
├── JobCancelled            an operator cancelled the job
├── CostCeilingReached      `.is_for_today`
├── ListingUnsafe           a sweep would archive too much, or got no full listing
├── MemoriesUnavailable     the memory service did not answer
└── ModelFailing            the model fails for a harmless memory too
"""

from __future__ import annotations

from inspect import cleandoc


class CompileError(Exception):
    """The compile could not go on."""

    def __init__(self, detail: str = "") -> None:
        message = " ".join(cleandoc(type(self).__doc__ or type(self).__name__).split())
        super().__init__(f"{message} ({detail})" if detail else message)
        self.detail = detail


class LeaseLost(CompileError):
    """Another worker has taken the scope over; nothing was written, and nothing has to be done."""


class PlanSuperseded(CompileError):
    """The wiki was written since the plan was made; the plan is made anew."""


class JobCancelled(CompileError):
    """The job was cancelled; what was applied before stays, the rest is compiled by the next job."""


class CostCeilingReached(CompileError):
    """The cost ceiling was reached; raise it in the settings, or let the job resume later by itself."""

    def __init__(self, detail: str = "", *, is_for_today: bool) -> None:
        super().__init__(detail)
        self.is_for_today = is_for_today


class ListingUnsafe(CompileError):
    """The memory service's listing was incomplete, or would archive most of the wiki; check the service, or confirm it."""


class ModelFailing(CompileError):
    """The model fails for a harmless memory too; check the model and its server. No memory is set aside, and the compile is
    tried again later by itself.
    """


class MemoriesUnavailable(CompileError):
    """The memory service did not answer; the job waits and goes on by itself once it does."""


class NotCompiledYet(CompileError):
    """The memories of the import are not compiled yet; the names are given once they are."""
