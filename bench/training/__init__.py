"""Fits the numbers that the product ships, other than the ranker's weights: they are in `sidecar/turn` and `models/embedding`."""
