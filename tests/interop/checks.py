"""The results of the checks, printed one line each as soon as they are known."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Checks:
    """Prints each check and remembers how many failed."""

    passed: int = 0
    failed: int = 0
    unproved: list[str] = field(default_factory=list)

    def say(self, name: str, problem: str = "") -> bool:
        """Print one check; an empty problem means that it holds. Return whether it does."""
        if problem:
            self.failed += 1
            print(f"FAILED   {name}: {problem}", flush=True)
        else:
            self.passed += 1
            print(f"ok       {name}", flush=True)
        return not problem

    def leave(self, what: str) -> None:
        """Remember something that cannot be proved here, to be printed at the end."""
        self.unproved.append(what)

    def close(self) -> int:
        """Print the end and return the exit code."""
        for what in self.unproved:
            print(f"unproved {what}")
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed else 0
