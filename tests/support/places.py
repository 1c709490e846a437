"""Where the repository is, for tests and helpers at any depth."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
