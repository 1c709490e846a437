"""The compile: turns memories into wiki pages. Independent of gRPC and of the process."""
