"""The passes of a compile: leaf, aggregation, and forgetting."""
