"""The process: its composition root, the order in which it starts and stops, warm-up, and cache invalidation by notices."""
