"""Memories that age: compression into summaries, and the jobs that run it."""
