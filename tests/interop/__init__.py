"""The service under clients that nobody here wrote, and its image built and run: `make interop`.

Each client (`buf curl` in Go, `@grpc/grpc-js` in Node) is given the `.proto` files, an address and a token, nothing of
ours; what must come back stands in `cases`, once for all of them. Not part of `make test`: it installs and builds.
"""
