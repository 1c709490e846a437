"""Decisions about the wiki's content, pure: nothing here awaits, logs, or reads a clock, an environment or a socket."""
