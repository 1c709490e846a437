"""Embedders: local and remote."""
