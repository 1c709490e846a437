"""The compile: turns new memories into better pages. Knows no gRPC and no process."""
