"""Releases to a tenant's Brain: which memories are copied there, the trust in a copy, and its withdrawal."""
