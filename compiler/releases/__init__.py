"""Releases to a tenant's Brain: which memories are copied there, how far a copy is trusted, and how a copy leaves again."""
