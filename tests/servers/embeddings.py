"""An embeddings service for a real Hindsight: vectors by the hashes of words, the same for the same text. Run with a port."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIMENSIONS = 1536


def vector(text: str) -> list[float]:
    """Return a unit vector of the text's words."""
    values = [0.0] * DIMENSIONS
    for word in text.lower().split():
        digest = hashlib.sha256(word.strip(".,?!").encode(errors="replace")).digest()
        values[int.from_bytes(digest[:4], "big") % DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [
            {"object": "embedding", "index": place, "embedding": self._form(vector(str(text)), asked)}
            for place, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        body = json.dumps({"object": "list", "data": data, "model": asked.get("model", ""), "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the base class names it so
        """Say nothing."""

    @staticmethod
    def _form(values: list[float], asked: dict[str, object]) -> object:
        if asked.get("encoding_format") != "base64":
            return values
        return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *values)).decode()


if __name__ == "__main__":
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
