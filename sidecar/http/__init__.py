"""The HTTP servers: health, metrics and webhooks on one, the console on the other."""
