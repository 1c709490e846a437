"""Finds the files of a directory tree, in an order that never changes. Opens none of them."""

import os
from collections.abc import Iterator
from pathlib import Path

from sidecar.ingest.errors import UnreadablePath

_NOT_DOCUMENTS = frozenset({"CVS", "_darcs", "node_modules", "__pycache__"})


def documents_under(path: Path) -> Iterator[Path]:
    """Yield the regular files under a directory, sorted by path, or the file itself when the path is one.

    Hidden entries, version control and caches are left out. A link to a directory is not followed, a link to a file
    only inside the tree. Which files can be read is `reader`'s to say. Raises UnreadablePath.
    """
    if path.is_file():
        yield path
        return
    if not path.is_dir():
        raise UnreadablePath(str(path), "there is no such file or directory")
    root = path.resolve()
    for folder, folders, files in os.walk(path, onerror=_refuse):
        folders[:] = sorted(name for name in folders if _is_wanted(name))
        for name in sorted(filter(_is_wanted, files)):
            file = Path(folder, name)
            if _is_file_inside(file, root):
                yield file


def _is_file_inside(file: Path, root: Path) -> bool:
    try:
        return file.is_file() and file.resolve().is_relative_to(root)
    except OSError as error:
        if file.is_symlink():  # to where we may not even look
            return False
        raise UnreadablePath(str(file), error.strerror or "it can't be read") from None


def _is_wanted(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_DOCUMENTS


def _refuse(error: OSError) -> None:
    raise UnreadablePath(str(error.filename), error.strerror or "it can't be read")
