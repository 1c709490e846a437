"""The pure decisions about a turn's context.

Nothing here awaits, logs, or reads a clock, the environment or a socket. Time, token counts and keys are arguments, so the
same input gives the same bytes.
"""
