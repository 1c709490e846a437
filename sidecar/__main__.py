"""`python -m sidecar`, and the `sidecar` command."""

import os
import sys

from sidecar.cli.root import run


def main() -> None:
    """Run the command line and exit with its code."""
    # gRPC reads this when it is imported; else it writes lines of its own between the JSON lines of the log.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
