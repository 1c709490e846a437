"""The errors that end a compile.

CompileError
├── LeaseLost               another worker holds the scope
├── PlanSuperseded          the wiki was written since the plan was made
├── JobCancelled            an operator cancelled the job
├── CostCeilingReached      `.is_for_today`
├── ListingUnsafe           reconciliation would archive too many pages, or got no complete listing
├── MemoriesUnavailable     the memory service did not answer
├── ModelFailing            the model fails for a harmless memory too
├── CompressionRefused      the memories cannot be compressed into a summary
├── SupersessionRefused     a memory cannot supersede another
└── NotCompiledYet          an import's memories are not compiled yet
"""

from __future__ import annotations

from inspect import cleandoc


class CompileError(Exception):
    """The compile could not continue."""

    def __init__(self, detail: str = "") -> None:
        message = " ".join(cleandoc(type(self).__doc__ or type(self).__name__).split())
        super().__init__(f"{message} ({detail})" if detail else message)
        self.detail = detail


class LeaseLost(CompileError):
    """Another worker has taken over the scope; nothing was written, and no action is needed."""


class PlanSuperseded(CompileError):
    """The wiki changed after the plan was made; the job plans again."""


class JobCancelled(CompileError):
    """The job was cancelled; batches already applied stay, and the next job compiles the rest."""


class CostCeilingReached(CompileError):
    """The cost ceiling was reached; raise it in the settings, or wait: the job resumes by itself."""

    def __init__(self, detail: str = "", *, is_for_today: bool) -> None:
        super().__init__(detail)
        self.is_for_today = is_for_today


class ListingUnsafe(CompileError):
    """The memory service's listing was incomplete, or would archive most of the wiki; check the service, or confirm it."""


class ModelFailing(CompileError):
    """The model fails for a harmless memory too; check the model and its server. No memory is set aside, and the compile is
    tried again later by itself.
    """


class CompressionRefused(CompileError):
    """The memories cannot be compressed into a summary."""


class SupersessionRefused(CompileError):
    """The memory cannot supersede the others."""


class MemoriesUnavailable(CompileError):
    """The memory service did not answer; the job waits and resumes once it does."""


class NotCompiledYet(CompileError):
    """The memories of the import are not compiled yet; their places are named once they are."""
