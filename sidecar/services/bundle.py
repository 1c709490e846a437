"""The services of a process, together: what the doors are handed."""

from __future__ import annotations

from dataclasses import dataclass

from sidecar.services.wiki import Wiki


@dataclass(frozen=True, slots=True)
class Services:
    """One service a subject."""

    wiki: Wiki
