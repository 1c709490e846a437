"""A stand-in's server: it listens on a port of its own for as long as a test wants, a thread to each connection."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def listening(handler: type[BaseHTTPRequestHandler], stand_in: object) -> Iterator[str]:
    """Yield the address at which the handler answers; it finds what it stands for as its `stand_in`."""
    server = _Server(("127.0.0.1", 0), type(handler.__name__, (handler,), {"stand_in": stand_in}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128  # a burst of connections must not be put off
