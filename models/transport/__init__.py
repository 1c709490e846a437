"""The care around a remote call: deadlines, retries, circuit breakers, and how a provider refuses."""
