"""The `sidecar` command. Most commands are plain clients of the API, except serve, worker, migrate, embed, demo and token.

The `drawing` modules draw the terminal output. A command's module, and with it slow imports such as gRPC, Postgres and rich,
is loaded only when the command runs, so that help is fast.
"""
