"""Lists and reads text files of an S3 bucket below one prefix; each ETag of a file is read once."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

from sidecar.backends.aws import AwsCalls, Clients, Where
from sidecar.backends.backend_caller import BackendCaller, CallLimits
from sidecar.backends.errors import AnswerUnreadable
from sidecar.context.ports import BackendError
from sidecar.turn.files import MAX_DEPTH, MAX_FILE_BYTES, MAX_FILES, TEXT_SUFFIXES, as_text, is_nameable

_CACHED_CHARS = 16_000_000
_MOST_PAGES = 10


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bucket and our prefix in it."""

    name: str
    prefix: str
    where: Where = field(default_factory=Where)


@dataclass(frozen=True, slots=True)
class S3File:
    """A file: its path below the listed location, its key and ETag, and when it was changed."""

    path: str
    key: str
    etag: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class ReadTexts:
    """Texts by their file's key, and why others could not be read, each reason once."""

    by_key: Mapping[str, str]
    failures: tuple[str, ...] = ()


class S3Files:
    """One bucket's files. At most `cached_chars` characters of them are kept."""

    def __init__(
        self, name: str, bucket: Bucket, clients: Clients, bounds: CallLimits, *, cached_chars: int = _CACHED_CHARS
    ) -> None:
        self.name = name
        self.caller = BackendCaller(name, bounds)
        self._bucket = bucket
        self._prefix = bucket.prefix.strip("/") + "/"
        self._threads = AwsCalls(name, bounds.concurrency)
        self._texts = _Texts(cached_chars)
        self._client = clients.client(
            "s3", bucket.where, read_timeout_s=bounds.deadline_s, connections=bounds.concurrency
        )

    async def listed(self, location: str) -> tuple[S3File, ...]:
        """Return the text files below a location, by path, at most 2,000. Raises a BackendError."""
        steps = [step for step in location.split("/") if step not in {"", ".", ".."}]
        folder = self._prefix + "".join(f"{step}/" for step in steps)
        files: list[S3File] = []
        token = ""
        for _ in range(_MOST_PAGES):
            page, token = await self._page(folder, token)
            files += page
            if not token or len(files) >= MAX_FILES:
                break
        return tuple(files[:MAX_FILES])

    async def texts(self, files: Sequence[S3File]) -> ReadTexts:
        """Return the files' texts, read concurrently; files that are not text or are gone are skipped.

        Raises a BackendError if all files fail. One that is archived or may not be read leaves the others.
        """
        # Kept here too: one read may be larger than the cache.
        texts = {file.key: self._texts.get(file) for file in files if file in self._texts}
        missing = [file for file in files if file.key not in texts]
        tasks = [asyncio.create_task(self._read(file)) for file in missing]
        try:
            read = await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        errors = [result for result in read if isinstance(result, BackendError)]
        if errors and len(errors) == len(files):
            raise errors[0]
        texts |= {
            file.key: result for file, result in zip(missing, read, strict=True) if not isinstance(result, BackendError)
        }
        reasons = Counter(map(str, errors))
        return ReadTexts(
            {key: text for key, text in texts.items() if text is not None},
            tuple(f"{reason}, for {count} of {len(files)} files" for reason, count in reasons.items()),
        )

    def close(self) -> None:
        """Stop accepting calls."""
        self._threads.close()

    async def _page(self, folder: str, token: str) -> tuple[list[S3File], str]:
        parameters = {"Bucket": self._bucket.name, "Prefix": folder, **({"ContinuationToken": token} if token else {})}

        async def attempt() -> tuple[list[S3File], str]:
            response = await self._threads.run(lambda: self._client.call("list_objects_v2", **parameters))
            try:
                return _files(folder, response.get("Contents", ())), str(response.get("NextContinuationToken", ""))
            except (KeyError, TypeError, AttributeError) as error:
                raise AnswerUnreadable(self.name, type(error).__name__) from error

        return await self.caller.ask(attempt)

    async def _read(self, file: S3File) -> str | BackendError | None:
        """Read a file into the cache and return its text, None if it has none; or return the error if it cannot be read."""

        async def attempt() -> bytes:
            return await self._threads.run(lambda: self._fetched(file))

        try:
            data = await self.caller.ask(attempt)
        except BackendError as error:
            # The file was changed or removed since it was listed; the next turn lists again.
            return None if error.code in {"NoSuchKey", "PreconditionFailed", "412"} else error
        text = as_text(data)
        self._texts.keep(file, text)
        return text

    def _fetched(self, file: S3File) -> bytes:
        response = self._client.call("get_object", Bucket=self._bucket.name, Key=file.key, IfMatch=file.etag)
        with response["Body"] as body:
            data: bytes = body.read(MAX_FILE_BYTES + 1)
        return data[:MAX_FILE_BYTES]


class _Texts:
    """Caches texts by key and ETag, at most `most_chars` in total; None for a file that is not text."""

    def __init__(self, most_chars: int) -> None:
        self._most_chars = most_chars
        self._kept: OrderedDict[tuple[str, str], str | None] = OrderedDict()
        self._chars = 0

    def __contains__(self, file: S3File) -> bool:
        return (file.key, file.etag) in self._kept

    def get(self, file: S3File) -> str | None:
        """Return the cached text, or None."""
        return self._kept.get((file.key, file.etag))

    def keep(self, file: S3File, text: str | None) -> None:
        """Cache a text, evicting the oldest. Several turns may have read the same file at once."""
        version = (file.key, file.etag)
        self._chars += len(text or "") - len(self._kept.get(version) or "")
        self._kept[version] = text
        while self._chars > self._most_chars:
            self._chars -= len(self._kept.popitem(last=False)[1] or "")


def _files(folder: str, contents: Iterable[Mapping[str, Any]]) -> list[S3File]:
    files = []
    for row in contents:
        path = PurePosixPath(str(row["Key"]).removeprefix(folder))
        name = str(path)
        is_shown = not any(step.startswith(".") for step in path.parts) and len(path.parts) <= MAX_DEPTH
        # A key without the requested prefix may belong to another tenant, even if the service returns it.
        is_ours = str(row["Key"]).startswith(folder) and ".." not in path.parts and is_nameable(name)
        if is_shown and is_ours and path.suffix.lower() in TEXT_SUFFIXES and 0 < row["Size"] <= MAX_FILE_BYTES:
            files.append(S3File(name, row["Key"], str(row.get("ETag", "")), row["LastModified"]))
    return files
