"""The demo's own sidecar."""

from pathlib import Path

from sidecar.demo.story import private_settings
from sidecar.runtime.settings import Settings


def test_the_demos_sidecar_opens_no_port_beside_a_running_services() -> None:
    settings = private_settings(
        Settings(data_dir=Path("/var/lib/demo"), http_listen="127.0.0.1:7434"), Path("/run/demo/sidecar.sock")
    )
    assert (settings.listen, settings.http_listen, settings.console_listen) == (
        ("unix:/run/demo/sidecar.sock",), "off", "off",
    )  # fmt: skip
