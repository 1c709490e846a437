"""Measures the sidecar: figures, never pass or fail. Each benchmark prints a table, or JSON in one shape for all."""
