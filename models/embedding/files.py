"""Files of installed wheels: located without importing the package, and checked by sha256."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from models.errors import EmbedderUnusable

WheelFile = tuple[str, str]
"""A package and a path inside it."""


def located(file: WheelFile, sha256: str) -> Path:
    """Return where a wheel's file stands. Raises EmbedderUnusable if it is missing or altered."""
    package, path = file
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnusable(f"{package} is not installed")
    found = Path(spec.submodule_search_locations[0], path)
    try:
        with found.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnusable(f"{package}/{path}: {type(error).__name__}") from error
    if digest != sha256:
        raise EmbedderUnusable(f"{package}/{path}: wrong sha256")
    return found
