"""The image: linted, built on a base made here, and run without a network."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from tests.interop.checks import Checks
from tests.interop.container import Container, Image, run_once
from tests.interop.programs import last_words, ran

ROOTFS = Path("/tmp/context-sidecar-rootfs")  # kept between runs: making it takes some two minutes
_PACKAGES = "python3,python3-venv,ca-certificates"
_START_DEADLINE_S = 120.0
_STOP_DEADLINE_S = 30.0
_DOORS = ["127.0.0.1:7433", "127.0.0.1:7435"]  # the contract's and the console's
# What a build step needs to reach the package index the way this machine does.
_LENT_TO_BUILD = ("/etc/ssl/certs", "/etc/pip.conf")


class ImageUnbuildable(Exception):
    """The image cannot be built here; the text says what is missing."""


@dataclass(frozen=True, slots=True)
class Buildah:
    """buildah with a store of its own under `directory`, so that nothing of it stays."""

    directory: Path

    def __call__(self, *arguments: str) -> str:
        """Return what buildah printed. Raises ImageUnbuildable with its last lines."""
        places = ["--root", str(self.directory / "store"), "--runroot", str(self.directory / "run")]
        command = ["buildah", "--storage-driver", "vfs", *places, *arguments]
        run = ran(command)
        if run.returncode:
            raise ImageUnbuildable(f"buildah {arguments[0]} failed:\n{last_words(run)}")
        return run.stdout.strip()


def check(checks: Checks, directory: Path) -> None:
    """Say what holds of the image. Raises ImageUnbuildable."""
    lint = _hadolint(directory)
    checks.say("hadolint has nothing to say", lint)
    _require_tools()
    buildah = Buildah(directory / "buildah")
    image = _built(buildah, _base(buildah))
    checks.say("the image builds on a base of this machine's own making")
    checks.say("its user is no root", "" if re.match("[1-9][0-9]*:", image.user) else f"it is {image.user}")
    volume = _volume(image, directory / "volume")
    _check_contents(checks, image, volume)
    receipt_id = ""
    for name in ("it serves, with no network and a read-only root", "it serves again"):
        with Container(image, volume=volume, log=directory / "container.log") as container:
            if not checks.say(name, _unhealthy(container, image, directory / "container.log")):
                return
            _check_place(checks, container, image)
            if receipt_id:
                checks.say(
                    "the receipt of before is still there", _failure(container, "sidecar", "explain", receipt_id)
                )
            receipt_id = _check_turn(checks, container)
            _check_stop(checks, container, volume)
    checks.leave("the image on python:3.11-slim: no image registry is reached here")
    checks.leave("limits on memory and processors, seccomp, user namespaces: not part of this runner")


def _hadolint(directory: Path) -> str:
    """Return what hadolint says of the Dockerfile; it is installed for this run alone."""
    venv = directory / "hadolint"
    wanted = Path(__file__).with_name("requirements.txt")
    make: list[str | Path] = [sys.executable, "-m", "venv", venv]
    fill: list[str | Path] = [venv / "bin/pip", "install", "--require-hashes", "-r", wanted]
    for step in (make, fill):
        done = ran(step)
        if done.returncode:
            return f"it cannot be installed: {last_words(done)}"
    run = ran([venv / "bin/hadolint", "Dockerfile"])
    return last_words(run) if run.returncode else ""


def _require_tools() -> None:
    missing = [tool for tool in ("buildah", "unshare", "nsenter", "setpriv", "ip") if not shutil.which(tool)]
    if not _has_base() and not shutil.which("debootstrap"):
        missing.append("debootstrap")
    if missing:
        packages = "apt-get install buildah debootstrap util-linux iproute2"
        raise ImageUnbuildable(f"missing: {', '.join(missing)}; on Debian: {packages}")
    if os.geteuid() != 0:
        raise ImageUnbuildable("building and running the image without a container runtime needs root")


def _has_base() -> bool:
    return (ROOTFS / "usr/lib/python3.11/ensurepip").is_dir()


def _base(buildah: Buildah) -> str:
    """Return the name of an image with Debian's Python and nothing else, made from nothing."""
    if not _has_base():
        unfinished = ROOTFS.with_name(f"{ROOTFS.name}.{os.getpid()}")
        made = ran(["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", "bookworm", unfinished])
        if made.returncode:
            raise ImageUnbuildable(f"debootstrap failed:\n{last_words(made)}")
        unfinished.rename(ROOTFS)
    dockerfile = buildah.directory / "Dockerfile"
    dockerfile.parent.mkdir()
    dockerfile.write_text("FROM scratch\nADD . /\n", encoding="ascii")
    buildah("bud", "--isolation", "chroot", "--tag", "localhost/base", "--file", str(dockerfile), str(ROOTFS.resolve()))
    return "localhost/base"


def _built(buildah: Buildah, base: str) -> Image:
    """Return the image built of the working tree on that base, unpacked."""
    lent = [part for path in _LENT_TO_BUILD if Path(path).exists() for part in ("--volume", f"{path}:{path}:ro")]
    name = "localhost/context-sidecar"
    build = ["bud", "--isolation", "chroot", "--format", "docker", "--build-arg", f"BASE={base}", *lent]
    buildah(*build, "--tag", name, ".")
    # A health check is Docker's, not OCI's: buildah shows it in that configuration alone.
    config = json.loads(buildah("inspect", "--type", "image", "--format", "{{.Config}}", name))["config"]
    return Image(
        root=Path(buildah("mount", buildah("from", name))),
        user=config["User"],
        environ=config["Env"],
        entrypoint=config["Entrypoint"],
        command=config["Cmd"],
        health_check=config["Healthcheck"]["Test"][1:],
        volume=next(iter(config["Volumes"])),
    )


def _volume(image: Image, place: Path) -> Path:
    """Return an empty folder that belongs to whom the image's own folder there belongs to, as a named volume would."""
    owned = (image.root / image.volume.lstrip("/")).stat()
    place.mkdir(mode=0o700)
    os.chown(place, owned.st_uid, owned.st_gid)
    return place


def _check_contents(checks: Checks, image: Image, volume: Path) -> None:
    listed = run_once(
        image,
        "python3",
        "-c",
        "import importlib.metadata as m; print(*{d.name for d in m.distributions()})",
        volume=volume,
    )
    installed = {_plain(name) for name in listed.stdout.split()}
    extra = sorted(installed & _development_tools())
    checks.say("no development tool is in it", ", ".join(extra) if installed else listed.stderr)
    shown = run_once(image, *image.entrypoint, "--help", volume=volume)
    is_helpful = shown.returncode == 0 and "serve" in shown.stdout
    checks.say("sidecar --help", "" if is_helpful else last_words(shown))
    told = run_once(image, *image.entrypoint, "demo", volume=volume)
    checks.say("sidecar demo", "" if told.returncode == 0 and "receipt" in told.stdout else last_words(told))


def _development_tools() -> set[str]:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = _with_what_they_need({_name(line) for line in project["dependencies"]})
    return {_name(line) for line in project["optional-dependencies"]["dev"]} - needed | {"pip", "setuptools"}


def _with_what_they_need(names: set[str]) -> set[str]:
    found: set[str] = set()
    while names:
        found |= names
        lines = (line for name in names for line in _requirements(name) if "extra ==" not in line)
        names = {_name(line) for line in lines} - found
    return found


def _requirements(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:  # for another system
        return []


def _name(requirement: str) -> str:
    return _plain(re.split(r"[\[<>=;!~ ]", requirement, maxsplit=1)[0])


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _unhealthy(container: Container, image: Image, log: Path) -> str:
    """Return an empty text once the image's own health check passes, else why it does not."""
    give_up_at = time.monotonic() + _START_DEADLINE_S
    last = ""
    while not container.has_ended and time.monotonic() < give_up_at:
        if container.pid:
            probe = container.run(*image.health_check)
            if probe.returncode == 0:
                return ""
            last = probe.stderr
        time.sleep(0.2)
    return f"{last}\n{log.read_text(encoding='utf-8', errors='replace')[-3000:]}"


def _check_place(checks: Checks, container: Container, image: Image) -> None:
    listening = container.listening()
    checks.say("it listens on loopback alone", "" if sorted(listening) == _DOORS else f"listens on {listening}")
    first = container.run("sh", "-c", "stat -c %u /proc/1; cat /proc/1/cmdline").stdout
    uid, _, command = first.partition("\n")
    is_ours = uid == image.user.split(":")[0] and "sidecar" in command
    checks.say("process 1 is the service, under the image's user", "" if is_ours else first)


def _check_turn(checks: Checks, container: Container) -> str:
    """Return the receipt's id, empty when no turn could be assembled."""
    asked = container.run("sidecar", "assemble", "Where is the harbour flat?", "--model", "gpt-4o", "--json")
    receipt_id = json.loads(asked.stdout)["receipt_id"] if asked.returncode == 0 else ""
    checks.say("it assembles a turn", "" if receipt_id else last_words(asked))
    return str(receipt_id)


def _failure(container: Container, *command: str) -> str:
    run = container.run(*command)
    return last_words(run) if run.returncode else ""


def _check_stop(checks: Checks, container: Container, volume: Path) -> None:
    try:
        code = container.stop(patience_s=_STOP_DEADLINE_S)
    except subprocess.TimeoutExpired:
        checks.say("SIGTERM ends it", f"not within {_STOP_DEADLINE_S:g} s")
        return
    left = [path.name for path in volume.glob("pgdata/postmaster.pid")]
    problem = f"exit code {code}" if code else f"its Postgres left {left}" if left else ""
    checks.say("SIGTERM ends it, and its Postgres before it", problem)
