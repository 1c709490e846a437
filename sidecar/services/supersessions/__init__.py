"""Use cases: what a memory took the place of, and why it is believed."""
