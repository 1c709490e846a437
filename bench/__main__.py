"""`python -m bench NAME [--json]`: runs one benchmark, or all that need no data."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from pathlib import Path

from bench.figures import Figure, as_json, print_table

# The module of each name, in its room.
BENCHES = {
    "turn": "speed.turn",
    "turn-parts": "speed.turn_parts",
    "fanout": "speed.fanout",
    "overload": "load.overload",
    "history": "speed.history",
    "wiki": "wiki.wiki",
    "backends": "remote.backends",
    "transports": "remote.transports",
    "recall-speed": "speed.recall_speed",
    "wiki-search": "wiki.wiki_search",
    "compile": "wiki.compile",
    "graph": "graph",
    "notes": "spend.notes",
    "privacy": "spend.privacy",
    "processes": "load.processes",
    "prompt": "wiki.prompt",
    "purge": "load.purge",
    "crash": "wiki.crash",
    "recovery": "load.recovery",
    "scale": "load.scale",
    "sensitivity": "training.sensitivity",
    "start": "speed.start",
    "tracing": "speed.tracing",
    "views": "load.views",
    "writes": "load.writes",
}
NEEDING_DATA = {
    "answers": "training.answers",
    "breadth": "training.breadth",
    "bursts": "load.bursts",
    "cache": "spend.cache",
    "calibrate": "training.calibrate",
    "decay": "spend.decay",
    "growth": "load.growth",
    "hindsight": "remote.hindsight",
    "leaning": "training.leaning",
    "names": "wiki.names",
    "pages": "wiki.pages",
    "recall": "recall",
    "spend": "spend.spend",
    "synthesis": "wiki.synthesis",
    "whole-turn": "speed.whole_turn",
}
SEPARATE = {
    "contexts": "spend.contexts",
    "soak": "load.soak",
}  # "all" leaves out what writes docs/contexts.md or takes an hour
_MODULES = BENCHES | NEEDING_DATA | SEPARATE
RECALL_SETS = ("locomo", "realtalk", "followups")
SPENDS = ("frugal", "balanced", "full")


def main() -> int:
    """Run the benchmarks named on the command line and print their figures; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("name", choices=(*_MODULES, "all"))
    parser.add_argument("--json", action="store_true", help="print JSON, one document per benchmark")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the full size, for a quick run")
    parser.add_argument("--data", type=Path, help="the folder of the data that some benchmarks need")
    parser.add_argument("--set", default=RECALL_SETS[0], choices=RECALL_SETS, help="recall: the set of questions")
    parser.add_argument(
        "--split",
        type=int,
        default=5,
        help="recall: folds for training and testing on different data; 0: the shipped weights",
    )
    parser.add_argument(
        "--write-weights",
        action="store_true",
        help="recall, answers, breadth, calibrate, graph, leaning, sensitivity: write the weights fitted on all data",
    )
    parser.add_argument(
        "--with-wiki", action="store_true", help="recall: ask also with pages compiled from the observations"
    )
    parser.add_argument(
        "--keep", type=Path, help="recall, calibrate: the folder of recordings; a later run continues from them"
    )
    parser.add_argument(
        "--only", type=int, metavar="N", help="recall, calibrate, spend: only the first N conversations of each set"
    )
    parser.add_argument(
        "--personal", action="store_true", help="calibrate: only the model of questions about one's own life"
    )
    parser.add_argument(
        "--spend", default="", choices=SPENDS, help="recall, spend, synthesis: the knob `spend` of every turn"
    )
    parser.add_argument("--remote", action="store_true", help="spend: with a remote memory service as well")
    parser.add_argument("--budgets", type=_budgets, help="recall: the budgets in tokens, such as 1000,2000")
    parser.add_argument("--sample", type=int, default=0, metavar="N", help="pages: print N random pages")
    parser.add_argument("--seed", type=int, default=1, help="pages: the seed of the sample")
    parser.add_argument("--owner", default="", help="pages, synthesis: only owners whose name contains this text")
    parser.add_argument("--once", action="store_true", help="pages: compile once, instead of in several batchings")
    arguments = parser.parse_args()
    if arguments.name in NEEDING_DATA and arguments.data is None:
        parser.error(f"{arguments.name} needs --data DIR")
    options: dict[str, object] = {"data": arguments.data} if arguments.name in NEEDING_DATA else {}
    if arguments.name == "recall":
        options |= {
            "name": arguments.set,
            "folds": arguments.split,
            "write_weights": arguments.write_weights,
            "with_wiki": arguments.with_wiki,
            "keep": arguments.keep,
            "only": arguments.only,
            "spend": arguments.spend or "full",
        }
        options |= {"budgets": arguments.budgets} if arguments.budgets else {}
    if arguments.name in {"answers", "breadth", "calibrate", "graph", "leaning", "sensitivity"}:
        options |= {"write_weights": arguments.write_weights}
    own_options: dict[str, dict[str, object]] = {
        "calibrate": {"only": arguments.only, "keep": arguments.keep, "personal": arguments.personal},
        "pages": {
            "sample": arguments.sample,
            "seed": arguments.seed,
            "only": arguments.owner,
            "batchings": not arguments.once,
        },
        "spend": {"only": arguments.only, "spend": arguments.spend or "balanced", "remote": arguments.remote},
        "synthesis": {"only": arguments.owner, "spend": arguments.spend or "full"},
    }
    options |= own_options.get(arguments.name, {})
    for name in BENCHES if arguments.name == "all" else (arguments.name,):
        figures: list[Figure] = importlib.import_module(f"bench.{_MODULES[name]}").run(scale=arguments.scale, **options)
        if arguments.json:
            json.dump(as_json(name, figures), sys.stdout)
            sys.stdout.write("\n")
        else:
            print_table(name, figures)
    return 0


def _budgets(text: str) -> tuple[int, ...]:
    return tuple(int(tokens) for tokens in text.split(","))


if __name__ == "__main__":
    sys.exit(main())
