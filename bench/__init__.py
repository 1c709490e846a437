"""Benchmarks of the sidecar: figures, never pass or fail. Each prints a table, or JSON in one common shape."""
