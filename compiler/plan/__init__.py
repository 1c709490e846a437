"""What changes in the wiki: pure decisions. Nothing here awaits, logs, reads a clock, an environment or a socket."""
