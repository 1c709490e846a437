"""What a turn refuses, and how the caller can mend it.

    TurnError
    ├── InvalidKnob     a profile or an override holds a value that cannot be meant
    ├── PoolTooSmall    what is already spent leaves no room for context
    └── TextsDropped    a stored assembly's texts are gone, so it cannot be fitted again
"""

from __future__ import annotations


class TurnError(Exception):
    """The turn could not be fitted; the subclass says why."""


class InvalidKnob(TurnError):
    """A knob holds a value that cannot be meant: `field` names it, `problem` says what is wrong, `fix` what to send."""

    def __init__(self, field: str, problem: str, fix: str) -> None:
        super().__init__(f"{field}: {problem}; {fix}")
        self.field, self.problem, self.fix = field, problem, fix


class PoolTooSmall(TurnError):
    """Under 64 tokens are left for context: lower the largest term, which `largest_term` names, or use a larger model."""

    def __init__(self, pool_tokens: int, largest_term: str, largest_tokens: int) -> None:
        super().__init__(
            f"{pool_tokens} tokens are left for context and 64 are needed; "
            f"the largest term is {largest_term} with {largest_tokens}: lower it or use a model with a larger window"
        )
        self.pool_tokens, self.largest_term, self.largest_tokens = pool_tokens, largest_term, largest_tokens


class TextsDropped(TurnError):
    """Texts of this assembly are no longer kept, so it cannot be fitted again; explain it from its receipt instead."""

    def __init__(self, missing_count: int) -> None:
        super().__init__(f"{missing_count} texts of this assembly are no longer kept; explain it from its receipt instead")
        self.missing_count = missing_count
