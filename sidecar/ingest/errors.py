"""The errors of imported files. Only errors that reject the whole file are here.

IngestError              a branch of SidecarError
├── UnsupportedFormat    no reader for this kind of file
├── UnreadableDocument   a reader exists but cannot read the content
├── UnreadableExport     not an export, or a damaged one
├── NewerExport          an owner's export by a later release
├── NotMemories          a file of conversations where memories are expected
├── NotConversations     a file of memories where conversations are expected
├── TooLarge             above a limit
├── UnreadablePath       no such file or directory, or no permission to read it
└── InvalidLimits        limits that contradict one another

A broken line or message in an otherwise good file is a `SkippedPiece` (`conversation.py`), not an error.
"""

import inspect

from sidecar.ingest.text import clean
from sidecar.runtime.errors import SidecarError


class IngestError(SidecarError):
    """The file was not imported."""

    def __init__(self, name: str, detail: str) -> None:
        self.name = clean(name)
        self.detail = clean(detail)
        super().__init__(f"{self.name}: {self.detail}. {inspect.cleandoc(type(self).__doc__ or '')}")


class UnsupportedFormat(IngestError):
    """Supported are Markdown (.md), text (.txt), CSV (.csv), HTML (.html) and PDF (.pdf); convert the file to one of them."""


class UnreadableDocument(IngestError):
    """The text can't be read; decrypt, repair or convert the file and ingest it again."""


class UnreadableExport(IngestError):
    """Supported are JSONL, a JSON array, and for conversations the exports of ChatGPT, Claude and Slack; write the file again."""


class NewerExport(IngestError):
    """Nothing was imported. Update this sidecar to the release that made the export, and import it again."""


class NotMemories(IngestError):
    """Import conversations with `sidecar thread import`; a memory has a text and no role."""


class NotConversations(IngestError):
    """Import memories with `sidecar memory import`. A message has a role; of a Slack export, import the whole folder or zip."""


class TooLarge(IngestError):
    """The file is above a limit; split it or raise the limit."""


class UnreadablePath(IngestError):
    """Name a file or a directory that exists and that this user may read."""


class InvalidLimits(IngestError):
    """Limits are whole numbers above zero, with min_tokens <= target_tokens <= max_tokens."""
