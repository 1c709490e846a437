"""The HTTP servers: one for health, metrics and webhooks, one for the console."""
