"""The `sidecar` command. Most commands are plain clients of the API; serve, worker, migrate, embed, demo and token are not.

Terminal output is drawn in the `drawing` modules. A command's module, and with it slow imports such as gRPC, Postgres and rich,
is loaded only when the command runs, so that help is fast.
"""
