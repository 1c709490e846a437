"""Memories that age: decay jobs, episodes, and the attestations that let a model write summaries."""
