"""Token counts, windows and prices."""
