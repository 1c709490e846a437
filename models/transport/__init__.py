"""Resilient remote calls: deadlines, retries, circuit breakers, and the mapping of provider errors."""
