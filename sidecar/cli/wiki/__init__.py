"""`sidecar wiki …`: reading, compiling and upkeep."""
