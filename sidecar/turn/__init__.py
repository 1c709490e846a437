"""What goes into a turn's context: pure decisions.

Nothing here awaits, logs, reads a clock, an environment or a socket. Time, token counting and keys come in as arguments,
so the same input gives the same bytes.
"""
