"""Runs the service under third-party clients, and builds and runs its image: `make interop`.

Each client (`buf curl` in Go, `@grpc/grpc-js` in Node) gets only the `.proto` files, an address and a token. The expected
answers are in `cases`, once for all clients. Not part of `make test`, because it installs and builds.
"""
