"""Runs many cases of one rule as one test, since hundreds of small tests cost more in the runner than in themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def each(names: str | tuple[str, ...], cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run the test for one case after the other, named as pytest's `parametrize` names them; a failure tells its case."""
    given = [(case,) if isinstance(names, str) else case for case in cases]
    assert given, "a test without a case tests nothing"

    def decorated(test: Callable[..., None]) -> Callable[[], None]:
        def run() -> None:
            for case in given:
                try:
                    test(*case)
                except BaseException as error:
                    error.add_note(f"the case: {case!r:.1000}")
                    raise

        run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
        return run

    return decorated
