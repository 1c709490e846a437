"""Workspace source on disk: files of the agent's, its template's and the tenant's trees; for the same path, the first of these
wins.

Files are read in separate threads, so that a hanging disk blocks only this source.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from threading import Lock

from sidecar.context.ports import SourceAnswer, SourceLimits, SourceQuery, SourceSkipped
from sidecar.turn.candidates import CandidateKind, Candidates
from sidecar.turn.evidence import of_shares
from sidecar.turn.files import (
    MAX_DEPTH,
    MAX_ENTRIES,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_FOLDER_ENTRIES,
    TEXT_SUFFIXES,
    WorkspaceFile,
    as_text,
    is_nameable,
    item_of,
    words_of,
)
from store.db.postgres import Pool, tenant_scoped
from store.scope import Scope
from store.tenancy import tenants
from store.tenancy.tenants import Workspace
from store.text.texts import fold

_THREADS = 2
_CACHED_WORDS = 2_000_000
_WORDS_OF_AN_ENTRY = 8  # the memory of an entry without words, in words
_SUFFIXES = tuple(TEXT_SUFFIXES)
_CUT = "it has too many files or folders, and not all were searched"


@dataclass(frozen=True, slots=True)
class _Found:
    """A file from the nearest workspace that has its path. `coverage` is the share of the question's words that it holds."""

    path: str
    level: str
    place: _Place
    coverage: float


@dataclass(frozen=True, slots=True)
class _Place:
    """The location of a file or folder: a root folder, and the path segments below it."""

    root: Path
    steps: tuple[str, ...]

    @property
    def path(self) -> Path:
        """The location as a path. Any segment may become a link before the path is used."""
        return self.root.joinpath(*self.steps)

    def below(self, steps: Iterable[str]) -> _Place:
        """Return the location with these segments appended."""
        return _Place(self.root, (*self.steps, *steps))

    def open(self) -> int:
        """Return a descriptor of the file, opened without following any link. Raises OSError."""
        folder = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for step in self.steps[:-1]:
                inner = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
                os.close(folder)
                folder = inner
            return os.open(self.steps[-1], os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        finally:
            os.close(folder)


class WorkspaceSource:
    """Searches directory trees below `root`/<tenant id>. Links are not followed, so no path leaves a tenant's folder."""

    def __init__(self, pool: Pool, root: Path) -> None:
        self._pool = pool
        self._root = root
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="workspace")
        self._words = WordCache()

    async def find(self, query: SourceQuery, scope: Scope, limits: SourceLimits) -> SourceAnswer:
        """Return up to `top_k` files that hold words of the question in their path or text, best first.

        If no workspace has a folder, the answer says so. Raises SourceSkipped without a workspace.
        """
        async with tenant_scoped(self._pool, scope.tenant_id, read_only=True) as connection:
            limits.begin()
            spaces = await tenants.workspaces(
                connection, scope.tenant_id, template_id=query.template_id, agent_id=query.agent_id
            )
        if not spaces:
            raise SourceSkipped("no workspace is set up for this agent, template or tenant")
        wanted = {fold(word) for word in query.words}
        if not wanted:
            return SourceAnswer()
        loop = asyncio.get_running_loop()
        folder = _Place(self._root, (str(scope.tenant_id),))
        files, notes = await loop.run_in_executor(self._threads, self._best, folder, spaces, wanted, limits.top_k)
        if not files and not await loop.run_in_executor(self._threads, _has_folder, folder, spaces):
            return SourceAnswer(notes=("the workspace's folder is missing below SIDECAR_WORKSPACE_ROOT",))
        items = tuple(item_of(file, coverage, rank, scope.tenant_id) for rank, (file, coverage) in enumerate(files))
        evidence = of_shares([coverage for _, coverage in files], parts=len(query.parts))
        ids, texts = [item.id for item in items], [item.text for item in items]
        candidates = Candidates(CandidateKind.PASSAGE, ids, texts, evidence)
        return SourceAnswer(items, notes=notes, candidates=candidates).first(limits.top_k)

    def _best(
        self, folder: _Place, spaces: Iterable[Workspace], wanted: set[str], top_k: int
    ) -> tuple[list[tuple[WorkspaceFile, float]], tuple[str, ...]]:
        """Return the files that hold the most words, with their coverage, and notes. Unreadable files are skipped."""
        walks = [(space, _Walk(start)) for space in spaces if (start := _starts(folder, space.location)) is not None]
        matches = [file for file in self._visible(walks, wanted) if file.coverage > 0]
        best: list[tuple[WorkspaceFile, float]] = []
        for file in sorted(matches, key=lambda file: (-file.coverage, file.path)):
            if len(best) == top_k:
                break
            if (read := _read(file.place)) is not None:
                text, status = read
                best.append((WorkspaceFile(file.path, file.level, text, _when(status.st_mtime)), file.coverage))
        return best, tuple(f"{space.level} workspace: {_CUT}" for space, walk in walks if walk.is_cut)

    def _visible(self, walks: Iterable[tuple[Workspace, _Walk]], wanted: set[str]) -> Iterator[_Found]:
        """Yield each path once, from the nearest workspace that has it; a path that is unreadable there is skipped."""
        seen: set[str] = set()
        for space, walk in walks:
            for path, place in walk.files():
                if path in seen:
                    continue
                seen.add(path)
                if (words := self._words_of(place)) is None:
                    continue
                present = words | words_of(path)
                yield _Found(path, space.level, place, len(wanted & present) / len(wanted))

    def _words_of(self, place: _Place) -> frozenset[str] | None:
        """Return the file's folded words, or None if it is not a readable text."""
        try:
            known = self._words.get(_version(place.path.lstat()))
        except OSError:
            return None
        if known is not None:
            return known
        if (read := _read(place)) is None:
            return None
        text, status = read
        words = words_of(text)
        self._words.put(_version(status), words)
        return words


class WordCache:
    """Caches the words of versions of files, at most `most_words` in total; the one read longest ago is dropped first.

    Each version counts as a few words more than it has, so that files without words are bounded too.
    """

    def __init__(self, most_words: int = _CACHED_WORDS) -> None:
        self._most = most_words
        self._known: OrderedDict[tuple[int, ...], frozenset[str]] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, version: tuple[int, ...]) -> frozenset[str] | None:
        """Return the words of a version; None if they are not cached."""
        with self._lock:
            if version in self._known:
                self._known.move_to_end(version)
            return self._known.get(version)

    def put(self, version: tuple[int, ...], words: frozenset[str]) -> None:
        """Keep the words of a version."""
        with self._lock:
            if (before := self._known.pop(version, None)) is not None:
                self._size -= _weight(before)
            self._known[version] = words
            self._size += _weight(words)
            while self._size > self._most:
                self._size -= _weight(self._known.popitem(last=False)[1])


def _weight(words: frozenset[str]) -> int:
    return len(words) + _WORDS_OF_AN_ENTRY


def _version(status: os.stat_result) -> tuple[int, ...]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)


def _starts(folder: _Place, location: str) -> _Place | None:
    """Return the place of a location; None if it is behind a link or cannot be looked at."""
    start = folder.below(_parts(location))
    top = start.path
    try:
        is_linked = any(step.is_symlink() for step in (top, *top.parents) if step.is_relative_to(folder.path))
    except OSError:  # a name that is too long, or a folder without access
        return None
    return None if is_linked else start


class _Walk:
    """Lists the text files below a place, those of upper folders first: at most `MAX_FILES`.

    At most `most_entries` entries of any kind are looked at, `MAX_FOLDER_ENTRIES` of one folder; `is_cut` says that there are
    more.
    """

    def __init__(self, start: _Place, most_entries: int = MAX_ENTRIES) -> None:
        self.is_cut = False
        self._start = start
        self._left = most_entries

    def files(self) -> Iterator[tuple[str, _Place]]:
        """Yield the files with their paths relative to the place."""
        folders: deque[tuple[str, ...]] = deque([()])
        count = 0
        while folders and self._left:
            steps = folders.popleft()
            for entry in self._entries(self._start.below(steps).path):
                inner = (*steps, entry.name)
                if _is_folder(entry):
                    folders.extend([inner] if len(inner) <= MAX_DEPTH else ())
                elif entry.name.lower().endswith(_SUFFIXES) and is_nameable(path := "/".join(inner)):
                    count += 1
                    if count > MAX_FILES:
                        self.is_cut = True
                        return
                    yield path, self._start.below(inner)
        self.is_cut = self.is_cut or bool(folders)

    def _entries(self, folder: Path) -> list[os.DirEntry[str]]:
        """Return a folder's entries that are not hidden, by name; none of one that cannot be read."""
        most = min(self._left, MAX_FOLDER_ENTRIES)
        found: list[os.DirEntry[str]] = []
        with suppress(OSError), os.scandir(folder) as entries:
            found.extend(islice(entries, most + 1))
        self.is_cut = self.is_cut or len(found) > most
        self._left -= min(len(found), most)
        return sorted((one for one in found[:most] if not one.name.startswith(".")), key=lambda one: one.name)


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _has_folder(folder: _Place, spaces: Iterable[Workspace]) -> bool:
    """Return whether the folder of any workspace exists."""
    for space in spaces:
        with suppress(OSError):  # a name that is too long
            if folder.below(_parts(space.location)).path.is_dir():
                return True
    return False


def _parts(location: str) -> tuple[str, ...]:
    # Path.parts would turn "//" into "//", which is the root.
    return tuple(part for part in location.split("/") if part not in {"", ".", ".."})


def _read(place: _Place) -> tuple[str, os.stat_result] | None:
    """Return a file's text and stat; None for a large, binary, blank or non-regular file, and one that cannot be read."""
    try:
        # A descriptor, not a file object: that one refuses a folder with an error, and leaves it open.
        with _opened(place) as handle:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_FILE_BYTES:
                return None
            with os.fdopen(handle, "rb", closefd=False) as file:
                data = file.read(MAX_FILE_BYTES)
    except OSError:
        return None
    text = as_text(data)
    return None if text is None else (text, status)


@contextmanager
def _opened(place: _Place) -> Iterator[int]:
    handle = place.open()
    try:
        yield handle
    finally:
        os.close(handle)


def _when(seconds: float) -> datetime | None:
    """Return the instant, or None for one before year 1 or after year 9999, which a file may have."""
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None
