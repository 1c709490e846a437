"""`python -m sidecar`, and the `sidecar` command."""

import os
import sys

from sidecar.cli.root import run


def main() -> None:
    """Run the command line and exit with its code."""
    prepare_grpc()
    sys.exit(run(sys.argv[1:]))


def prepare_grpc() -> None:
    """Set what gRPC reads when it is imported."""
    # Else it writes lines of its own between the JSON lines of the log.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    # Else its handlers run in every forked process before the program starts, and crash one in ten while calls are running.
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")


if __name__ == "__main__":
    main()
