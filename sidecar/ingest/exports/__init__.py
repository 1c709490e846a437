"""Reads conversations, memories and journals from exported files, with a reader per format."""
