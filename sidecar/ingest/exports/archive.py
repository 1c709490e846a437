"""Reads the files of an export (a zip or a folder) one at a time, without unpacking them to disk."""

import io
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Protocol

from sidecar.ingest.errors import TooLarge, UnreadableExport
from sidecar.ingest.walk import documents_under

_MEMBERS = 500_000
MEMBER_BYTES = 1 << 30


class Archive(Protocol):
    """Files by name. Names use / as separator."""

    name: str

    def names(self) -> Sequence[str]:
        """Return the names of the files, sorted."""

    def read(self, member: str) -> bytes:
        """Return a file's bytes. Raises TooLarge or UnreadableExport."""


class ZipArchive:
    """The files of a zip, each of at most `member_bytes` once unpacked."""

    def __init__(self, name: str, stream: BinaryIO, *, member_bytes: int = MEMBER_BYTES) -> None:
        self.name = name
        self._member_bytes = member_bytes
        try:
            self._zip = zipfile.ZipFile(stream)
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, UnicodeError) as error:
            raise UnreadableExport(name, f"the zip is damaged ({error})") from None
        if len(self._zip.infolist()) > _MEMBERS:
            raise TooLarge(name, f"the zip has more than {_MEMBERS} files")

    def names(self) -> Sequence[str]:
        return sorted({name for name in self._zip.namelist() if not name.endswith("/") and "__MACOSX/" not in name})

    def read(self, member: str) -> bytes:
        try:
            with self._zip.open(member) as file:  # the declared size may be false, so count the bytes read
                data = file.read(self._member_bytes + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
            raise UnreadableExport(f"{self.name}: {member}", f"it can't be unpacked ({error})") from None
        if len(data) > self._member_bytes:
            raise TooLarge(f"{self.name}: {member}", f"it unpacks to more than {self._member_bytes} bytes")
        return data


class FolderArchive:
    """The files under a folder."""

    def __init__(self, folder: Path) -> None:
        self.name = str(folder)
        self._folder = folder

    def names(self) -> Sequence[str]:
        return sorted(path.relative_to(self._folder).as_posix() for path in documents_under(self._folder))

    def read(self, member: str) -> bytes:
        path = self._folder / member
        try:
            if path.stat().st_size > MEMBER_BYTES:
                raise TooLarge(str(path), f"it has more than {MEMBER_BYTES} bytes")
            return path.read_bytes()
        except OSError as error:
            raise UnreadableExport(str(path), f"it can't be read ({error.strerror})") from None


def is_zip(stream: BinaryIO) -> bool:
    """Return whether the stream begins like a zip. The stream is left at its start."""
    start = stream.read(4)
    stream.seek(0)
    return start in {b"PK\x03\x04", b"PK\x05\x06"}


def opened(data: bytes | BinaryIO) -> BinaryIO:
    """Return the bytes as a stream. A stream, which must be seekable, is returned unchanged."""
    return io.BytesIO(data) if isinstance(data, bytes) else data
