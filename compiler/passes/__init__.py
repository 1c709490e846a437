"""The passes of a compile: leaf, aggregation, and what a forgotten memory takes with it."""
