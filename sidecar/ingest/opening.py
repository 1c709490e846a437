"""Opens a path from the command line: a file, or a pipe, which is copied so that it is seekable."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from sidecar.ingest.errors import UnreadablePath

_IN_MEMORY_BYTES = 16 << 20


@contextmanager
def opened_at(path: Path) -> Iterator[BinaryIO]:
    """Yield a seekable stream of the file's bytes. Raises UnreadablePath, also for errors while reading."""
    try:
        with path.open("rb") as stream:
            if stream.seekable():
                yield stream
            else:
                with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES) as copy:
                    shutil.copyfileobj(stream, copy)
                    copy.seek(0)
                    yield cast("BinaryIO", copy)
    except OSError as error:
        raise UnreadablePath(str(path), error.strerror or "it can't be read") from None
