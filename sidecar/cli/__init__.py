"""The `sidecar` command. Every command but serve, migrate, demo and token is a client of the API, as any caller is.

Commands say what they do and what they take; what is shown on a terminal is drawn in `drawing`. Whatever is slow to
load (gRPC, Postgres, rich) is loaded inside the command that needs it, so that help is there at once.
"""
