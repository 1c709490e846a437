"""One turn: its ports, its fan-out to the sources, and the caches, counts and receipts around the fitting."""
