"""Locates files of installed wheels without importing the packages, and checks them by SHA-256."""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path

from models.errors import EmbedderUnusable

WheelFile = tuple[str, str]
"""A package and a path inside it."""


def located(file: WheelFile, sha256: str) -> Path:
    """Return the path of a wheel's file. Raises EmbedderUnusable if it is missing or altered."""
    package, name_in_package = file
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnusable(f"{package} is not installed")
    file_path = Path(spec.submodule_search_locations[0], name_in_package)
    try:
        with file_path.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnusable(f"{package}/{name_in_package}: {type(error).__name__}") from error
    if digest != sha256:
        raise EmbedderUnusable(f"{package}/{name_in_package}: wrong sha256")
    return file_path
