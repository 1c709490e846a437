"""Many calls, floods, large writes, large databases, long runs and restarts."""
