"""Finds the files of a directory tree in a fixed order, without opening them."""

import os
from collections.abc import Iterator
from pathlib import Path

from sidecar.ingest.errors import UnreadablePath

_NOT_DOCUMENTS = frozenset({"CVS", "_darcs", "node_modules", "__pycache__"})


def documents_under(path: Path) -> Iterator[Path]:
    """Yield the regular files under a directory, sorted by path, or the file itself if the path is a file.

    Hidden entries, version control and caches are left out. Links to directories are not followed; links to files are followed
    only inside the tree. `reader` decides which files can be read. Raises UnreadablePath.
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
        if file.is_symlink():  # its target's directory is not accessible
            return False
        raise UnreadablePath(str(file), error.strerror or "it can't be read") from None


def _is_wanted(name: str) -> bool:
    return not name.startswith(".") and name not in _NOT_DOCUMENTS


def _refuse(error: OSError) -> None:
    raise UnreadablePath(str(error.filename), error.strerror or "it can't be read")
