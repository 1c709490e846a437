"""`python -m sidecar`, and the `sidecar` command."""

import sys

from sidecar.cli.root import run


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
