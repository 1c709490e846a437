"""Builds the embedder that a setting names, for the service and `sidecar embed`. No other module chooses one."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

from models.embedding.embedder import Embedder, LocalEmbedder
from models.errors import EmbedderUnusable
from sidecar.runtime.errors import SettingInvalid
from sidecar.runtime.settings import Settings
from store.content import embedders
from store.db.postgres import Pool

log = logging.getLogger(__name__)

NONE = "none"
MAX_DIMENSIONS = 3_900  # a vector and its row fit a page of Postgres

_FIX = "set minilm, multilingual, titan, titan:DIMENSIONS, openai:MODEL:DIMENSIONS or none"


UNSET = "by words alone: no embedder is set up"
UNKEPT = "by words alone: the database keeps no vectors (extension vector)"
BROKEN = "by words alone: the embedder's files are missing or altered"


@dataclass(frozen=True, slots=True)
class Numbered:
    """An embedder, and the number under which its vectors are stored."""

    embedder: Embedder
    embedder_no: int


@dataclass(frozen=True, slots=True)
class Chosen:
    """The embedder in use, or the reason why there is none."""

    numbered: Numbered | None
    why_not: str = ""

    async def close(self) -> None:
        """Close the embedder's threads or connections."""
        if self.numbered is None:
            return
        if isinstance(self.numbered.embedder, LocalEmbedder):
            self.numbered.embedder.close()
        elif (close := getattr(self.numbered.embedder, "close", None)) is not None:
            await close()


async def choose(settings: Settings, pool: Pool) -> Chosen:
    """Load the embedder that the settings name. Raises SettingInvalid, EmbedderUnusable."""
    if settings.embedder == NONE:
        return Chosen(None, UNSET)
    embedder = await _made(settings)
    number = await embedders.number_of(pool, embedder.name, embedder.dimensions)
    return Chosen(None, UNKEPT) if number is None else Chosen(Numbered(embedder, number))


async def choose_or_go_without(settings: Settings, pool: Pool) -> Chosen:
    """Like `choose`, but return no embedder if its files are broken, so that turns search by words. Raises SettingInvalid."""
    try:
        return await choose(settings, pool)
    except EmbedderUnusable as error:
        log.error("embedder_unusable", extra={"why": str(error)})
        return Chosen(None, BROKEN)


async def check(settings: Settings) -> None:
    """Raise SettingInvalid if the settings name no embedder, as `choose` does. Loads no files and calls no service."""
    if settings.embedder not in {NONE, "minilm", "multilingual"}:
        await Chosen(Numbered(await _made(settings), 0)).close()


async def _made(settings: Settings) -> Embedder:
    """Load the embedder. Its libraries are imported here, because they load slowly and other configurations do not need them."""
    match settings.embedder.split(":"):
        case ["minilm"]:
            return await asyncio.to_thread(local)
        case ["multilingual"]:
            return await asyncio.to_thread(multilingual)
        case ["titan", *size] if len(size) <= 1:
            return _titan(settings, *size)
        case ["openai", *model, size] if any(model):
            return _openai(settings, ":".join(model), size)
    raise SettingInvalid("SIDECAR_EMBEDDER", f"{settings.embedder!r} is not an embedder", _FIX)


def _openai(settings: Settings, model: str, size: str) -> Embedder:
    from models.embedding.openai_embedding import EmbeddingModel, openai_embedder
    from sidecar.runtime.openai_server import at

    named = EmbeddingModel(model, _dimensions(size))
    variable = "SIDECAR_EMBEDDER_BASE_URL"
    return at(
        variable, settings.embedder_base_url, settings.embedder_api_key, lambda config: openai_embedder(config, named)
    )


def _titan(settings: Settings, size: str = "") -> Embedder:
    from models.embedding.titan import DIMENSIONS, titan_embedder
    from sidecar.runtime.bedrock import at

    return at(settings, lambda config: titan_embedder(config, dimensions=_dimensions(size) if size else DIMENSIONS))


def local() -> LocalEmbedder:
    """Load the bundled embedder, which takes about 0.4 s. Raises EmbedderUnusable."""
    try:
        from models.embedding.minilm import MiniLM
    except ImportError as error:
        raise EmbedderUnusable(f"{error.name or 'a library'} cannot be loaded: {error}") from error
    return LocalEmbedder(MiniLM())


def multilingual() -> LocalEmbedder:
    """Load the bundled multilingual embedder, which takes about 1 s. Raises EmbedderUnusable."""
    try:
        from models.embedding.multilingual import Multilingual
    except ImportError as error:
        raise EmbedderUnusable(f"{error.name or 'a library'} cannot be loaded: {error}") from error
    return LocalEmbedder(Multilingual())


def _dimensions(text: str) -> int:
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= MAX_DIMENSIONS:
        raise SettingInvalid(
            "SIDECAR_EMBEDDER", f"{text!r} is not a number of dimensions", f"set 1 to {MAX_DIMENSIONS}"
        )
    return int(text)
