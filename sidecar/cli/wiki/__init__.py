"""`sidecar wiki …`: reading, compiling and maintenance."""
