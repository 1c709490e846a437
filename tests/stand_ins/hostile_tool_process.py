"""An MCP server over standard input and output, hostile to calls of its one tool: `python -m tests.stand_ins.hostile_tool_process
large|endless|garbage|dies|odd|twice|…`. `garbage`, `odd` and the keys of `RESULTS` answer a call; `odd` declares another tool,
with an odd schema, `malformed` several that are none, `twice` two of one name, and `named` one with a name of several words.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from tests.stand_ins.hostile_tool_server import ABOUT, CUT, NOTICE, TOOL

_WHOLE = 1 << 30
_AMOUNT = 10**24
_ODD = TOOL | {
    "name": "odd",
    "inputSchema": {"type": "object", "required": None, "properties": {"n": {"maximum": _AMOUNT}}},
}
_TEXT = {"type": "text", "text": "here"}
_IMAGE = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
_RESOURCE = {"type": "resource", "resource": {"uri": "file:///berths", "mimeType": "text/plain", "text": "Berth 12"}}
_ENDLESS = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
RESULTS: dict[str, dict[str, Any]] = {
    "no content": {},
    "no structure": {"content": [_TEXT]},
    "endless schema": {"content": [_TEXT], "structuredContent": {"a": "a" * 60 + "!"}},
    "structure": {"content": [], "structuredContent": {"berth": 12, "key": os.environ.get("HARBOUR_KEY", "")}},
    "blank text": {"content": [{"type": "text", "text": " \n"}], "structuredContent": {"berth": 12}},
    "resource": {"content": [_RESOURCE, _IMAGE]},
    "cut": {"content": [{"type": "text", "text": CUT}]},
}
_ANSWERS: dict[str, Any] = {"initialize": ABOUT, "tools/list": {"tools": [TOOL]}}


def main() -> None:
    """Answer each line of standard input."""
    does = sys.argv[1]
    if does == "odd":
        _ANSWERS["tools/list"] = {"tools": [_ODD, TOOL]}
    if does == "malformed":
        _ANSWERS["tools/list"] = {"tools": [{"name": "odd"}, TOOL | {"name": 7}, "odd", None, TOOL]}
    if does == "twice":
        _ANSWERS["tools/list"] = {"tools": [TOOL | {"description": os.environ["HARBOUR_KEY"]}, TOOL]}
    if does == "named":
        _ANSWERS["tools/list"] = {"tools": [TOOL | {"name": "boats/find a berth"}]}
    if does in {"no structure", "endless schema"}:
        _ANSWERS["tools/list"] = {"tools": [TOOL | {"outputSchema": _ENDLESS}]}
    for line in sys.stdin:
        message = json.loads(line)
        found = _ANSWERS.get(message["method"])
        if message["method"] == "tools/call":
            _be_hostile(does)
            structured = {"structuredContent": {"result": [{"wei": _AMOUNT}]}} if does == "odd" else {}
            _write({"id": message["id"], "result": RESULTS.get(does, {"content": [_TEXT], **structured})})
        elif found is not None:
            _write({"id": message["id"], "result": found})
        elif "id" in message:
            _write({"id": message["id"], "error": {"code": -32601, "message": "no"}})


def _be_hostile(does: str) -> None:
    if does == "large":
        sys.stdout.write('{"jsonrpc": "2.0", "result": "')
        for _ in range(_WHOLE >> 16):
            sys.stdout.write("x" * (1 << 16))
    while does == "endless":
        _write({**NOTICE, "params": {"level": "info", "data": "x" * (1 << 16)}})
    if does == "garbage":
        sys.stdout.write("Loading…\n\n{}\n[1, 2\n\x00\n")
        sys.stdout.flush()
        os.write(1, b"\xff\xfe\n")
    if does == "dies":
        sys.stdout.write('{"jsonrpc": "2.0", "result": {"content": [{"type": "te')
        sys.stdout.flush()
        os._exit(1)


def _write(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
