"""`python -m bench NAME [--json]`: runs one benchmark, or all of them."""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from bench.figures import Figure, as_json, print_table

BENCHES = ("turn", "fanout", "overload", "history", "wiki")


def main() -> int:
    """Run what the command line names and print it; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=(*BENCHES, "all"))
    parser.add_argument("--json", action="store_true", help="print JSON, one document a benchmark")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size, for a quick look")
    arguments = parser.parse_args()
    for name in BENCHES if arguments.name == "all" else (arguments.name,):
        figures: list[Figure] = importlib.import_module(f"bench.{name}").run(scale=arguments.scale)
        if arguments.json:
            json.dump(as_json(name, figures), sys.stdout)
            sys.stdout.write("\n")
        else:
            print_table(name, figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
