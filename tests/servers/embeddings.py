"""An embeddings service for a real Hindsight, the same vector for the same text. Run with a port and an embedder: `words`, by the
hashes of words, or `minilm`, the one of the product.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import struct
import sys
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from models.embedding.minilm import MiniLM

DIMENSIONS = 1536

Embed = Callable[[Sequence[str]], list[list[float]]]
"""Returns a vector for each text."""


def by_words(texts: Sequence[str]) -> list[list[float]]:
    """Return a unit vector of each text's words."""
    return [_hashed(text) for text in texts]


def by_minilm() -> Embed:
    """Load the product's embedder."""
    model = MiniLM()
    return lambda texts: [vector.tolist() for vector in model.encode(texts)]


def _hashed(text: str) -> list[float]:
    values = [0.0] * DIMENSIONS
    for word in text.lower().split():
        digest = hashlib.sha256(word.strip(".,?!").encode(errors="replace")).digest()
        values[int.from_bytes(digest[:4], "big") % DIMENSIONS] += 1.0
    length = math.sqrt(sum(value * value for value in values)) or 1.0
    return [value / length for value in values]


class _Handler(BaseHTTPRequestHandler):
    embed: Embed = staticmethod(by_words)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        data = [
            {"object": "embedding", "index": place, "embedding": self._form(values, asked)}
            for place, values in enumerate(self.embed([str(text) for text in texts]))
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
        return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()


if __name__ == "__main__":
    if sys.argv[2:] == ["minilm"]:
        _Handler.embed = staticmethod(by_minilm())
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), _Handler).serve_forever()
