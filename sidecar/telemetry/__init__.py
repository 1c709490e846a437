"""What the sidecar says about itself: logs, spans and metrics. All names stand in `names`; nothing here decides a turn."""

from sidecar.telemetry.logs import JsonLines, log_to_stderr

__all__ = ["JsonLines", "log_to_stderr"]
