"""The doors that are not gRPC: health, metrics, webhooks that others bring, and the console."""
