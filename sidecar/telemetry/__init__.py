"""Telemetry: logs, spans and metrics. `names` holds all names; nothing here affects a turn."""

from sidecar.telemetry.logs import JsonLines, log_to_stderr

__all__ = ["JsonLines", "log_to_stderr"]
